"""Deposits that users sign for, through the sender lane on a real Postgres and a chain in memory.

One signature, one relay, despite crashes and other actions of the signer. G5, G6, G7 and G8
are decided by the token (libs/chains/tests/contract/test_gasless.py) and at the api.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from datetime import timedelta
from typing import Any, Literal
from uuid import uuid5

import pytest

from services.settler.tests.integration.lane_fixtures import opened_world
from services.settler.tests.lane_harness import (
    DEPOSITORY,
    DESTINATION,
    FUNDER,
    IDS,
    NOW,
    QUOTE,
    SIGNER,
    SOURCE,
    TREASURY,
    World,
    a_deposit,
    a_recipient,
    a_request,
    expect_wrong_nonces,
)
from swap_chains.evm.codec import depository_id
from swap_chains.evm.gasless import RelayedDeposit, authorization_nonce
from swap_chains.fake import FakeChain
from swap_contracts.envelope import Envelope
from swap_contracts.quoting import AssetRef
from swap_contracts.swaps import AuthorizationSubmitted
from swap_contracts.topics import SWAP_REQUESTS
from swap_domain.catalogue import NATIVE
from swap_domain.gasless import GaslessStandard, TokenDomain
from swap_runtime.errors import Unprocessable
from swap_settler.gasless.usecases.expire_authorizations import ExpireAuthorizations
from swap_settler.model.store.unit_of_work import PostgresUnitOfWork
from swap_settler.paying.usecases import send_payouts
from tests.support.crashes import ProcessKilled, killed_at

pytestmark = pytest.mark.connected

USDC = "0x0000000000000000000000000000000000000005"
PAYMASTER = "0x0000000000000000000000000000000000000006"
USER = a_recipient(77)
AMOUNT = 25_500_000
IN_TIME = 2**33
PLENTY = 10**9


@pytest.fixture
async def world(migrate_schema: Callable[[str], str]) -> AsyncIterator[World]:
    async with opened_world(migrate_schema("settler"), SOURCE) as world:
        world.chain = FakeChain(
            SOURCE,
            depository=DEPOSITORY,
            treasury=TREASURY,
            decimals={NATIVE: 18, USDC: 6},
            paymaster=PAYMASTER,
        )
        world.chain.authorize(SIGNER)
        world.chain.give(USER, USDC, PLENTY)
        world.__post_init__()
        yield world


def a_relayed(number: int = 1, *, valid_before: int = IN_TIME) -> RelayedDeposit:
    key = depository_id(number)
    nonce = authorization_nonce(
        chain_id=31337, paymaster=PAYMASTER, key=key, receiver=TREASURY, token=USDC
    )
    return RelayedDeposit(
        standard=GaslessStandard.EIP3009,
        domain=TokenDomain("USD Coin", "2"),
        chain_id=31337,
        token=USDC,
        paymaster=PAYMASTER,
        receiver=TREASURY,
        key=key,
        signer=USER,
        base_units=AMOUNT,
        nonce=nonce,
        valid_after=0,
        valid_before=valid_before,
    )


def a_gasless_request(number: int = 1) -> Envelope[Any]:
    quote = QUOTE.model_copy(
        update={
            "source": AssetRef(network=SOURCE, token=USDC, decimals=6),
            "destination": AssetRef(network=DESTINATION, token=USDC, decimals=6),
            "requested_base_units": str(AMOUNT),
            "receive_base_units": str(AMOUNT - 500),
            "min_receive_base_units": str(AMOUNT - 500),
            "service_fee_base_units": "500",
            "total_fee_base_units": "500",
        }
    )
    request = a_request(number)
    update = {
        "method": "gasless",
        "quote": quote,
        "source": quote.source,
        "destination": quote.destination,
    }
    return request.model_copy(update={"body": request.body.model_copy(update=update)})


def a_signature(
    number: int = 1, *, submission: int = 1, relayed: RelayedDeposit | None = None
) -> Envelope[Any]:
    body = AuthorizationSubmitted(
        swap_id=uuid5(IDS, f"swap/{number}"),
        typed_data=json.dumps((relayed or a_relayed(number)).typed_data()),
        signature="0x" + "11" * 32 + "22" * 32 + "1b",
        signer=USER,
        submission=submission,
    )
    version = f"authorized/{submission}/{(relayed or a_relayed(number)).valid_before}"
    return SWAP_REQUESTS.seal(body, version=version, occurred_at=NOW, trace_id="t")


async def submit(world: World, *more: Envelope[Any]) -> None:
    await world.requesting()([a_gasless_request(), *more])


async def authorizations(world: World) -> list[tuple[int, str]]:
    rows = await world.rows(
        "SELECT submission, status FROM gasless_authorization ORDER BY submission"
    )
    return [(row.submission, row.status) for row in rows]


async def deposit(world: World, state: str, *, version: int, **more: Any) -> None:
    """Publish the watcher's facts about the relayed deposit."""
    [attempt] = await world.rows("SELECT transaction_hash FROM attempt")
    await world.settle(
        a_deposit(
            1,
            state=state,
            version=version,
            transaction_hash=attempt.transaction_hash,
            from_address=SIGNER,
            token=USDC,
            base_units=str(AMOUNT),
            **more,
        )
    )


async def fund_destination(world: World) -> None:
    await world.settle(
        a_deposit(
            99,
            kind="token_transfer",
            network=DESTINATION,
            token=USDC,
            from_address=FUNDER,
            base_units=str(PLENTY),
            sequence_number=None,
        )
    )


async def the_swap(world: World) -> Any:
    [row] = await world.rows("SELECT status, refund_address FROM swap")
    return row


class TestARelay:
    async def test_deposits_once_and_reports_its_progress(self, world: World) -> None:
        await fund_destination(world)
        await submit(world, a_signature())
        assert await authorizations(world) == [(1, "Initiated")]

        await world.send_everything()
        assert await authorizations(world) == [(1, "Published")]

        world.chain.mine()
        assert world.chain.world.balances[TREASURY, USDC] == AMOUNT
        await deposit(world, "seen", version=1)
        assert await authorizations(world) == [(1, "Published")]

        await deposit(world, "confirmed", version=2)
        assert await authorizations(world) == [(1, "Completed")]
        assert (await the_swap(world)).status == "ls_transfer_pending"

        world.chain.mine(3)
        await world.close_slots()
        [relay] = await world.rows("SELECT state FROM intent WHERE kind = 'gasless'")
        assert relay.state == "confirmed"

    async def test_is_refunded_to_who_signed(self, world: World) -> None:
        """No inventory is left for the payout, so the money is refunded to its sender."""
        await submit(world, a_signature())
        await world.send_everything()
        world.chain.mine()

        await deposit(world, "confirmed", version=1)

        swap = await the_swap(world)
        assert (swap.status, swap.refund_address) == ("pending_refund", USER)

    async def test_costs_us_the_gas_and_not_the_ledgers_balance(self, world: World) -> None:
        await submit(world, a_signature())
        await world.send_everything()
        world.chain.give(SIGNER, NATIVE, 10**20)
        world.chain.mine(3)

        await world.close_slots()

        [gas] = await world.rows("SELECT balance FROM account WHERE kind = 'gas_expense'")
        assert gas.balance > 0

    @pytest.mark.parametrize(
        "point",
        [
            pytest.param("settler.after_slot", id="S2"),
            pytest.param("settler.after_sign", id="S3"),
            pytest.param("settler.before_send", id="S4"),
            pytest.param("settler.after_send", id="S5"),
        ],
    )
    @pytest.mark.fault("S2", "S3", "S4", "S5")
    async def test_a_crash_ends_in_one_deposit_on_one_slot(
        self, world: World, monkeypatch: pytest.MonkeyPatch, point: str
    ) -> None:
        await submit(world, a_signature())
        killed_at(monkeypatch, point, send_payouts)
        if point == "settler.after_slot":
            expect_wrong_nonces(monkeypatch)
        with pytest.raises(ProcessKilled):
            await world.send_everything()

        await world.send_everything()
        await world.rebroadcast()
        world.chain.mine()

        assert world.chain.world.balances[TREASURY, USDC] == AMOUNT
        assert len(await world.rows("SELECT 1 FROM attempt")) == 1
        assert await authorizations(world) == [(1, "Published")]

    async def test_is_sent_in_its_own_transaction(self, world: World) -> None:
        await world.requesting()([a_gasless_request(1), a_gasless_request(2)])
        await world.requesting()([a_signature(1), a_signature(2)])

        await world.send_everything()

        slots = await world.rows("SELECT nonce, count(*) AS carried FROM slot_intent GROUP BY 1")
        assert sorted((row.nonce, row.carried) for row in slots) == [(0, 1), (1, 1)]


class TestWhatIsRefused:
    @pytest.mark.fault("G11")
    async def test_g11_a_signature_that_the_token_refuses_is_never_sent(self, world: World) -> None:
        await submit(world, a_signature())
        world.chain.invalidate_signatures(USER)

        await world.send_everything()

        assert await authorizations(world) == [(1, "Rejected")]
        assert await world.rows("SELECT 1 FROM nonce_slot") == []
        assert await world.intent_states() == ["dead"]

    async def test_a_permit_with_a_used_nonce_expires_and_can_be_replaced(
        self, world: World
    ) -> None:
        """Another swap's permit of the same signer was used first."""
        await submit(world, a_signature())
        world.chain.world.outdated.add(USER)
        await world.send_everything()
        assert await authorizations(world) == [(1, "Expired")]

        world.chain.world.outdated.clear()
        await world.requesting()([a_signature(submission=2)])
        await world.send_everything()

        assert await authorizations(world) == [(1, "Expired"), (2, "Published")]

    async def test_a_signature_without_the_balance_is_not_sent(self, world: World) -> None:
        await submit(world, a_signature())
        world.chain.give(USER, USDC, -PLENTY)

        await world.send_everything()

        assert await authorizations(world) == [(1, "Insufficient")]
        assert await world.rows("SELECT 1 FROM nonce_slot") == []

    async def test_after_insufficient_the_same_signature_can_be_submitted_again(
        self, world: World
    ) -> None:
        await submit(world, a_signature())
        world.chain.give(USER, USDC, -PLENTY)
        await world.send_everything()

        world.chain.give(USER, USDC, PLENTY)
        await world.requesting()([a_signature(submission=2)])
        await world.send_everything()
        world.chain.mine()

        assert await authorizations(world) == [(1, "Insufficient"), (2, "Published")]
        assert world.chain.world.balances[TREASURY, USDC] == AMOUNT

    @pytest.mark.fault("G10")
    async def test_g10_a_signer_who_moves_the_money_after_the_check_costs_gas_once(
        self, world: World
    ) -> None:
        world.chain.give(SIGNER, NATIVE, 10**20)
        await submit(world, a_signature())
        await world.send_everything()
        world.chain.give(USER, USDC, -PLENTY)
        world.chain.mine(3)

        await world.close_slots()
        await world.send_everything()

        assert await authorizations(world) == [(1, "Insufficient")]
        assert await world.intent_states() == ["dead"]
        assert len(await world.rows("SELECT 1 FROM attempt")) == 1
        [gas] = await world.rows("SELECT balance FROM account WHERE kind = 'gas_expense'")
        assert gas.balance > 0

    @pytest.mark.fault("G10")
    async def test_g10_a_signer_who_does_so_again_and_again_is_refused(self, world: World) -> None:
        world.chain.give(SIGNER, NATIVE, 10**20)
        for number in (1, 2, 3):
            await world.requesting()([a_gasless_request(number), a_signature(number)])
            await world.send_everything()
            world.chain.give(USER, USDC, -PLENTY)
            world.chain.mine(3)
            await world.close_slots()
            world.chain.give(USER, USDC, PLENTY)

        await world.requesting()([a_gasless_request(4), a_signature(4)])

        [last] = await world.rows(
            "SELECT status, detail FROM gasless_authorization WHERE intent_id IS NULL"
        )
        assert last.status == "Rejected"
        assert "3 deposits" in last.detail

    @pytest.mark.fault("G18")
    async def test_g18_it_waits_while_the_depository_is_paused(self, world: World) -> None:
        await submit(world, a_signature())
        world.chain.pause()

        await world.send_everything()

        assert await authorizations(world) == [(1, "Initiated")]
        assert await world.intent_states() == ["reserved"]

    async def test_signature_for_another_deposit_is_parked(self, world: World) -> None:
        theirs = RelayedDeposit(
            **{n: getattr(a_relayed(), n) for n in RelayedDeposit.__slots__} | {"nonce": 5}
        )

        with pytest.raises(Unprocessable, match="does not ask"):
            await submit(world, a_signature(relayed=theirs))

        assert await authorizations(world) == []


class TestItsWindow:
    SHORTLY = int((NOW + timedelta(minutes=30)).timestamp())  # long past on the database's clock

    @pytest.mark.fault("G12")
    async def test_g12_signature_after_it_is_not_relayed_and_expires(self, world: World) -> None:
        await submit(world, a_signature(relayed=a_relayed(valid_before=self.SHORTLY)))

        await world.send_everything()
        assert await world.rows("SELECT 1 FROM nonce_slot") == []

        await self.expire(world)
        assert await authorizations(world) == [(1, "Expired")]
        assert await world.intent_states() == ["dead"]

    async def left_without_bytes(self, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
        """Kill a lane between nonce and signature, and let the signature's deadline pass."""
        await submit(world, a_signature())

        killed_at(monkeypatch, "settler.after_slot", send_payouts)
        expect_wrong_nonces(monkeypatch)
        with pytest.raises(ProcessKilled):
            await world.send_everything()
        await world.rows("UPDATE intent SET not_after = now() - interval '1 minute' RETURNING id")

    @pytest.mark.fault("G12")
    async def test_g12_a_slot_that_waited_too_long_for_its_signature_is_filled_with_a_no_op(
        self, world: World, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        await self.left_without_bytes(world, monkeypatch)

        await world.send_everything()
        assert await world.rows("SELECT 1 FROM attempt") == []
        await self.expire(world)
        await world.send_everything()

        [attempt] = await world.rows("SELECT is_cancel FROM attempt")
        assert attempt.is_cancel
        assert await authorizations(world) == [(1, "Expired")]

    @pytest.mark.fault("G12")
    async def test_g12_a_slot_of_a_late_signature_is_filled_though_others_leave_meanwhile(
        self, world: World, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        await self.left_without_bytes(world, monkeypatch)
        await world.requesting()([a_gasless_request(2)])
        await world.requesting()([a_signature(2)])
        send = world.new_process()

        assert await send(epoch=world.epoch) == 1
        await self.expire(world)
        await send(epoch=world.epoch)

        attempts = "SELECT nonce, is_cancel FROM attempt ORDER BY nonce"
        assert await world.rows(attempts) == [(0, True), (1, False)]

    @pytest.mark.fault("G12")
    async def test_g12_what_no_block_takes_until_then_is_cancelled_in_its_slot(
        self, world: World
    ) -> None:
        world.chain.give(SIGNER, NATIVE, 10**20)
        await submit(world, a_signature())
        await world.send_everything()
        await world.rows("UPDATE intent SET not_after = now() - interval '1 second' RETURNING id")
        await world.rows("UPDATE gasless_authorization SET valid_before = 1 RETURNING submission")

        assert await world.replacing()(epoch=world.epoch) == 1
        world.chain.mine(3)
        await world.close_slots()

        assert await authorizations(world) == [(1, "Expired")]
        assert await world.intent_states() == ["dead"]
        assert (TREASURY, USDC) not in world.chain.world.balances

    async def test_after_it_another_signature_is_relayed(self, world: World) -> None:
        await submit(world, a_signature(relayed=a_relayed(valid_before=self.SHORTLY)))
        await self.expire(world)

        await world.requesting()([a_signature(submission=2)])
        await world.send_everything()
        world.chain.mine()

        assert await authorizations(world) == [(1, "Expired"), (2, "Published")]
        assert world.chain.world.balances[TREASURY, USDC] == AMOUNT

    async def expire(self, world: World) -> None:
        later = NOW + timedelta(days=365 * 5)
        await ExpireAuthorizations(
            PostgresUnitOfWork(world.engine, consumer="settler"),
            clock=lambda: later,
            swap_messages=world.swap_messages,
        )()


class TestOneOfASwap:
    @pytest.mark.fault("G13")
    async def test_g13_a_second_signature_has_no_effect(self, world: World) -> None:
        await submit(world, a_signature(), a_signature(submission=2))
        await world.requesting()([a_signature(submission=3)])

        await world.send_everything()
        world.chain.mine()

        assert await authorizations(world) == [(1, "Published")]
        assert world.chain.world.balances[TREASURY, USDC] == AMOUNT

    async def test_each_of_a_batch_is_stored_with_its_own_end(self, world: World) -> None:
        too_late = a_signature(relayed=a_relayed(valid_before=1))
        await submit(world, too_late, a_signature(submission=2))

        assert await authorizations(world) == [(1, "Expired"), (2, "Initiated")]

    @pytest.mark.fault("G13")
    async def test_g13_signature_for_a_funded_swap_is_rejected(self, world: World) -> None:
        await submit(world)
        await world.settle(
            a_deposit(1, state="seen", version=1, token=USDC, base_units=str(AMOUNT))
        )

        await world.requesting()([a_signature()])

        assert await authorizations(world) == [(1, "Rejected")]
        assert await world.intent_states() == []


class TestASwapThatIsFundedInAnotherWay:
    """Its signature waits for the lane, and would take the money a second time."""

    @pytest.mark.parametrize("state", ["seen", "confirmed"])
    async def test_is_not_deposited_for_again(
        self, world: World, state: Literal["seen", "confirmed"]
    ) -> None:
        await fund_destination(world)
        await submit(world, a_signature())

        await world.settle(a_deposit(1, state=state, token=USDC, base_units=str(AMOUNT)))
        await world.send_everything()
        world.chain.mine()

        assert await world.rows("SELECT 1 FROM attempt") == []
        assert await authorizations(world) == [(1, "Rejected")]
        [relay] = await world.rows("SELECT state FROM intent WHERE kind = 'gasless'")
        assert relay.state == "dead"
        assert world.chain.world.balances[USER, USDC] == PLENTY

    async def test_in_part_still_accepts_the_signed_deposit(self, world: World) -> None:
        await submit(world, a_signature())

        await world.settle(a_deposit(1, token=USDC, base_units="1"))
        await world.send_everything()
        world.chain.mine()

        assert await authorizations(world) == [(1, "Published")]
        assert world.chain.world.balances[TREASURY, USDC] == AMOUNT

    async def test_after_it_was_sent_has_two_and_gives_one_back(self, world: World) -> None:
        await fund_destination(world)
        await submit(world, a_signature())
        await world.send_everything()
        world.chain.mine()

        await world.settle(a_deposit(1, token=USDC, base_units=str(AMOUNT)))

        assert await authorizations(world) == [(1, "Published")]
        assert len(await world.rows("SELECT 1 FROM attempt")) == 1
        assert len(await world.rows("SELECT 1 FROM intent WHERE kind = 'output'")) == 1


class TestAReorg:
    @pytest.mark.fault("G14")
    async def test_g14_the_same_bytes_are_sent_again(self, world: World) -> None:
        await fund_destination(world)
        await submit(world, a_signature())
        await world.send_everything()
        [before] = await world.rows("SELECT transaction_hash FROM attempt")
        await deposit(world, "seen", version=1)

        await deposit(world, "reverted", version=2)
        assert await authorizations(world) == [(1, "Published")]
        assert (await the_swap(world)).status == "user_transfer_pending"

        assert await world.rebroadcast() == 1
        [after] = await world.rows("SELECT transaction_hash FROM attempt")
        assert after == before
        await deposit(world, "confirmed", version=3)
        assert await authorizations(world) == [(1, "Completed")]

    @pytest.mark.fault("G14")
    async def test_g14_a_deposit_that_was_called_final_is_published_again(
        self, world: World
    ) -> None:
        await fund_destination(world)
        await submit(world, a_signature())
        await world.send_everything()
        await deposit(world, "confirmed", version=1)

        await deposit(world, "reverted", version=2)

        assert await authorizations(world) == [(1, "Published")]
        assert (await the_swap(world)).status == "user_transfer_pending"
