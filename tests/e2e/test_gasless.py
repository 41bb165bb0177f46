"""Swaps that are funded by a signature: the user sends no transaction and pays no gas."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from eth_account import Account

from tests.e2e import gasless, viem
from tests.e2e.chains import Chain
from tests.e2e.claims import claims_of
from tests.e2e.gasless import authorize, gasless_swap, sign, sign_step, status
from tests.e2e.idle_stack import wait_until_idle
from tests.e2e.journey import STATUSES, CompletedJourney
from tests.e2e.outside import FinishedSwap, Outside, Route, User, new_address
from tests.e2e.test_recipient_that_refuses import contract_that_refuses
from tests.e2e.wallets import a_wallet_that_signs, fill
from tests.e2e.webhooks import deliveries_upto
from tests.plugins.stack import Stack
from tests.support.waiting import until

USDC = Route("BASE_DEVNET", "USDC", "ETHEREUM_DEVNET", "USDC", "120.5")
DAI = Route("ETHEREUM_DEVNET", "DAI", "BASE_DEVNET", "USDC", "80.25")
STANDARDS = {"eip3009": USDC, "eip2612": DAI}
PRIMARY = {"eip3009": "ReceiveWithAuthorization", "eip2612": "Permit"}


@pytest.fixture(scope="class")
def done(stack: Stack, request: pytest.FixtureRequest) -> FinishedSwap:
    route: Route = request.cls.route

    async def there() -> FinishedSwap:
        async with Outside(stack.description) as outside:
            done = await gasless_swap(outside, route)
            await deliveries_upto(stack.received_file(), done.id, STATUSES)
            return done

    return asyncio.run(there())


@pytest.mark.each_broker
class TestAuthorization(CompletedJourney):
    route = USDC

    async def test_reports_that_it_is_completed(self, done: FinishedSwap, outside: Outside) -> None:
        authorization = await status(outside, done.id)

        assert authorization["status"] == "Completed"
        assert authorization["transaction"]["status"] == "completed"
        assert (
            authorization["transaction"]["confirmations"]
            == authorization["transaction"]["max_confirmations"]
        )

    async def test_shows_the_signer_as_who_paid(self, done: FinishedSwap, outside: Outside) -> None:
        assert done.transaction("input")["from"] == outside.user(USDC.source_network).address

    async def test_costs_the_user_more_than_an_own_deposit(
        self, done: FinishedSwap, outside: Outside
    ) -> None:
        query = {
            "source_network": USDC.source_network,
            "source_token": USDC.source_token,
            "destination_network": USDC.destination_network,
            "destination_token": USDC.destination_token,
            "amount": USDC.amount,
        }
        plain = await outside.partner().get("/quote", **query)
        signed = await outside.partner().get("/quote", **query, use_gasless="true")

        assert signed["quote"]["blockchain_fee"] > plain["quote"]["blockchain_fee"]


class TestPermit(CompletedJourney):
    route = DAI

    async def test_reports_that_it_is_completed(self, done: FinishedSwap, outside: Outside) -> None:
        assert (await status(outside, done.id))["status"] == "Completed"


@pytest.mark.parametrize("standard", STANDARDS)
class TestEachStandard:
    async def test_asks_for_the_same_bytes_until_they_are_signed(
        self, outside: Outside, standard: str
    ) -> None:
        swap_id, user = await a_swap(outside, STANDARDS[standard], user=1)

        first, second = [await sign_step(outside, swap_id, user.address) for _ in "12"]

        assert first == second
        assert first["signing_standard"] == standard
        assert first["typed_data"]["primaryType"] == PRIMARY[standard]

    async def test_is_refunded_to_who_signed(
        self, stack: Stack, outside: Outside, standard: str
    ) -> None:
        """The recipient refuses coins, and no refund address was given."""
        route = replace(
            STANDARDS[standard], destination_network="POLYGON_DEVNET", destination_token="POL"
        )
        recipient = await contract_that_refuses(outside, "POLYGON_DEVNET")
        user = outside.user(route.source_network, 2)
        before = await outside.balance(route.source_network, route.source_token, user.address)

        done = await gasless_swap(outside, route, user=2, recipient=recipient)

        assert (done.status, done.last["swap"]["fail_reason"]) == (
            "refunded",
            "destination_unavailable",
        )
        assert done.transaction("refund")["to"] == user.address
        assert await claims_of(stack, done.id) == []
        after = await outside.balance(route.source_network, route.source_token, user.address)
        decimals = outside.token(route.source_network, route.source_token)["decimals"]
        assert 0 < before - after < 10 * 10**decimals

    @pytest.mark.fault("G13")
    async def test_g13_one_of_many_submissions_is_accepted(
        self, outside: Outside, standard: str
    ) -> None:
        route = STANDARDS[standard]
        swap_id, user = await a_swap(outside, route, user=3)
        before = await outside.balance(route.source_network, route.source_token, user.address)
        signature = sign(user, (await sign_step(outside, swap_id, user.address))["typed_data"])

        answers = await asyncio.gather(
            *(authorize(outside, swap_id, user, signature) for _ in range(5))
        )
        seen = await outside.follow(swap_id)

        assert [a["error"] for a in answers].count(None) == 1
        refused = [a["error"] for a in answers if a["error"] is not None]
        assert {error["code"] for error in refused} == {"AUTHORIZATION_ALREADY_SUBMITTED"}
        assert seen[-1]["swap"]["status"] == "completed"
        after = await outside.balance(route.source_network, route.source_token, user.address)
        assert before - after == units(outside, route)


async def test_two_permits_of_one_wallet_go_one_after_another(outside: Outside) -> None:
    """Both have the same nonce; the second user signs again, and no gas is lost."""
    swaps = [await a_swap(outside, DAI, user=0) for _ in "12"]
    steps = [await sign_step(outside, swap_id, user.address) for swap_id, user in swaps]
    assert steps[0]["nonce"] == steps[1]["nonce"]

    for (swap_id, user), step in zip(swaps, steps, strict=True):
        answer = await authorize(outside, swap_id, user, sign(user, step["typed_data"]))
        assert answer["error"] is None or answer["error"]["code"] == "SIGNATURE_INVALID"

    async def has_overtaken() -> str | None:
        for swap_id, _ in swaps:
            if (await outside.partner().read(swap_id))["swap"]["status"] == "completed":
                return swap_id
        return None

    # The order in which the signatures are handled is not defined.
    first = await until(has_overtaken, what="one of them is completed", within=60)
    [(second, user)] = [one for one in swaps if one[0] != first]

    async def is_asked_anew() -> bool:
        step = await sign_step(outside, second, user.address)
        return str(step["status"]) == "action_required"

    await until(is_asked_anew, what="the second is asked anew")
    await gasless.submit(outside, second, user)
    assert (await outside.follow(second))[-1]["swap"]["status"] == "completed"


@pytest.mark.parametrize("standard", STANDARDS)
async def test_viem_signs_what_is_returned_as_it_is(outside: Outside, standard: str) -> None:
    swap_id, user = await a_swap(outside, STANDARDS[standard], user=2)
    typed_data = (await sign_step(outside, swap_id, user.address))["typed_data"]

    signature = await viem.sign(user.private_key, typed_data)

    assert signature == sign(user, typed_data)
    assert (await authorize(outside, swap_id, user, signature))["error"] is None
    assert (await outside.follow(swap_id))[-1]["swap"]["status"] == "completed"


async def test_a_wallet_with_code_signs_as_its_key_does(outside: Outside) -> None:
    """Circle's token calls the wallet (EIP-1271); a signature by another key is refused."""
    swap_id, user = await a_swap(outside, USDC)
    token = outside.token(USDC.source_network, USDC.source_token)["contract"]
    wallet = replace(user, address=await a_wallet_that_signs(user))
    await fill(user, wallet.address, token, units(outside, USDC))
    typed_data = (await sign_step(outside, swap_id, wallet.address))["typed_data"]

    refused = await authorize(outside, swap_id, wallet, sign(replace_key(user), typed_data))
    accepted = await authorize(outside, swap_id, wallet, sign(wallet, typed_data))
    seen = await outside.follow(swap_id)

    assert refused["error"]["code"] == "SIGNATURE_INVALID"
    assert accepted["error"] is None, accepted
    swap = seen[-1]["swap"]
    [deposit] = [t for t in swap["transactions"] if t["type"] == "input"]
    assert (swap["status"], deposit["from"]) == ("completed", wallet.address)
    assert await outside.balance(USDC.source_network, USDC.source_token, wallet.address) == 0


async def test_a_signer_who_has_moved_the_money_is_refused_before_anything_is_sent(
    outside: Outside,
) -> None:
    swap_id, _ = await a_swap(outside, USDC)
    poor = outside.user(USDC.source_network, 4)
    other_key = replace_key(poor)
    signature = sign(
        other_key, (await sign_step(outside, swap_id, other_key.address))["typed_data"]
    )

    answer = await authorize(outside, swap_id, other_key, signature)

    assert answer["error"]["code"] == "INSUFFICIENT_SIGNER_BALANCE"


@pytest.mark.fault("G14")
async def test_g14_a_reorg_of_the_deposit_ends_in_one_deposit(
    stack: Stack, outside: Outside
) -> None:
    route = replace(DAI, source_network="BASE_DEVNET", destination_network="ETHEREUM_DEVNET")
    chain = Chain.of(stack.description, route.source_network)
    swap_id, user = await a_swap(outside, route, user=1)
    before = await outside.balance(route.source_network, route.source_token, user.address)
    signature = sign(user, (await sign_step(outside, swap_id, user.address))["typed_data"])

    async def is_mined() -> int | None:
        transaction = (await status(outside, swap_id))["transaction"]
        if transaction is None:
            return None
        await chain.mine()
        return await chain.block_of(transaction["transaction_hash"])

    async def is_seen() -> bool:
        swap = (await outside.partner().read(swap_id))["swap"]
        return any(t["type"] == "input" for t in swap["transactions"])

    # Automatic blocks are off, so the deposit's block is the last one and not final.
    async with chain.stop_mining():
        assert (await authorize(outside, swap_id, user, signature))["error"] is None
        block = await until(is_mined, what="the deposit is mined")
        await until(is_seen, what="the deposit is seen")
        assert block == await chain.head()
        await chain.reorg(1)
    seen = await outside.follow(swap_id)
    await wait_until_idle(stack.description)

    assert seen[-1]["swap"]["status"] == "completed"
    assert (await status(outside, swap_id))["status"] == "Completed"
    after = await outside.balance(route.source_network, route.source_token, user.address)
    assert before - after == units(outside, route)


async def a_swap(outside: Outside, route: Route, *, user: int = 0) -> tuple[str, User]:
    """Create a gasless swap; return its id and its signer."""
    await gasless.offered_token(outside, route.source_network, route.source_token)
    prepared = await outside.partner().create(
        route, new_address(), use_depository=False, use_gasless=True
    )
    return prepared["swap"]["id"], outside.user(route.source_network, user)


def units(outside: Outside, route: Route) -> int:
    whole, _, decimals = route.amount.partition(".")
    places: int = outside.token(route.source_network, route.source_token)["decimals"]
    return int(whole + decimals.ljust(places, "0"))


def replace_key(user: User) -> User:
    """Return an account without funds."""
    made: Any = Account.create()
    return replace(user, address=made.address, private_key=made.key.to_0x_hex())
