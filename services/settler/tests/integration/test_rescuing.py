"""Tokens outside the catalogue: how they are shown to operators, and returned."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

import aiohttp
import pytest

from services.settler.tests.admin_port import a_dollar_each, as_operator, weighing
from services.settler.tests.integration.lane_fixtures import opened_world
from services.settler.tests.lane_harness import (
    DEPOSITORY,
    FACTORY,
    SOURCE,
    TREASURY,
    World,
    a_deposit,
    a_recipient,
    address_of,
)
from swap_chains.evm.codec import (
    checksum_address,
    depository_id,
    encode_deposit_erc20,
    encode_withdraw,
)
from swap_chains.evm.deposit_addresses import Sweep, encode_sweep
from swap_chains.evm.memos import encode_transfer_with_memo
from swap_chains.fake import FakeChain, FakeReader, FakeSender
from swap_chains.ports import Call, Fees, ReportedTransfers
from swap_domain.catalogue import NATIVE
from swap_runtime.errors import RequestRefused
from swap_runtime.operators.admin_routes import AdminRoute, OrderRoute
from swap_runtime.operators.identities import Operator, Role
from swap_settler.operator.http.rescues import RescueAdmin
from swap_settler.operator.http.second_operator import SecondOperator
from swap_settler.operator.store.rescues import PostgresRescues
from swap_settler.operator.usecases.rescue_tokens import RETURNED_MAX, RescueTokens, Return
from tests.plugins.internal_port import internal_port
from tests.support.serving import client_of, get, post

pytestmark = pytest.mark.connected
OPERATORS = {f"token of {name}": Operator(name, Role.OPERATOR) for name in ("ann", "ben")}
STRANGE = checksum_address("0x" + "57" * 20)
USER, OWNER = a_recipient(8), a_recipient(9)
UNITS = 5_000_000
BACK = Return(USER, by="ann", reason="he signed a message for us")


@dataclass
class Place:
    """A network with a token that is in no catalogue, and the operators' queries about it."""

    world: World
    chain: FakeChain
    sent: int = 0

    @property
    def admin(self) -> RescueAdmin:
        return RescueAdmin(self.rescue)

    @property
    def rescue(self) -> RescueTokens:
        chains = {SOURCE: FakeReader(self.chain)}
        rescues = PostgresRescues(self.world.engine)
        return RescueTokens(rescues, catalogue=self.world.catalogue, chains=chains)

    async def sends(self, call: Call, *, sender: str = USER, blocks: int = 4) -> str:
        fees = Fees(10**12, 10**10)
        nonce = self.chain.world.nonces.get(sender, 0)
        fake_sender = FakeSender(self.chain, sender)
        signed = await fake_sender.sign(call, nonce=nonce, fees=fees)
        await fake_sender.broadcast([signed])
        self.chain.mine(blocks)
        return signed.transaction_hash

    async def transfers(self, to: str, *, blocks: int = 4) -> str:
        data = encode_transfer_with_memo(to, UNITS, b"")
        return await self.sends(Call(STRANGE, 0, data, 100_000), blocks=blocks)

    async def shown(self, transaction_hash: str, *, back: Return | None = None) -> dict[str, Any]:
        [one] = await self.rescue(SOURCE, transaction_hash, back=back)
        return dict(one)


@pytest.fixture
async def place(migrate_schema: Callable[[str], str]) -> AsyncIterator[Place]:
    async with opened_world(migrate_schema("settler"), SOURCE) as world:
        chain = FakeChain(
            SOURCE,
            depository=DEPOSITORY,
            treasury=TREASURY,
            decimals={NATIVE: 18, STRANGE: 6},
            factory=FACTORY,
        )
        chain.give(USER, STRANGE, 10**12)
        chain.own(OWNER)
        yield Place(world, chain)


async def test_transfer_to_the_treasury_is_shown_and_returned_by_the_owner(place: Place) -> None:
    came = await place.transfers(TREASURY)

    looked = await place.shown(came)
    assert (looked["token"], looked["symbol"], looked["base_units"]) == (STRANGE, None, str(UNITS))
    assert (looked["from"], looked["to"], looked["held_there"]) == (USER, TREASURY, str(UNITS))
    assert (looked["ordered"], looked["calls"]) == ([], [])
    assert "--to" in looked["act"]
    answer_document = await place.shown(came, back=BACK)

    assert "owner of the Treasury" in answer_document["act"]
    assert [(o["to"], o["by"], o["reason"]) for o in answer_document["ordered"]] == [
        (USER, BACK.by, BACK.reason)
    ]
    [call] = answer_document["calls"]
    assert call == {"to": TREASURY, "data": f"0x{encode_withdraw(STRANGE, USER, UNITS).hex()}"}
    await place.sends(Call(call["to"], 0, bytes.fromhex(call["data"][2:]), 10**6), sender=OWNER)
    assert place.chain.world.balances[USER, STRANGE] == 10**12
    again = await place.shown(came)
    assert (again["held_there"], len(again["ordered"])) == ("0", 1)


async def test_transfer_to_a_deposit_address_is_swept_before_its_return(place: Place) -> None:
    await place.world.request_with_addresses(1)
    came = await place.transfers(address_of(1))

    answer_document = await place.shown(came, back=BACK)

    sweep, withdraw = answer_document["calls"]
    assert (sweep["to"], withdraw["to"]) == (FACTORY, TREASURY)
    assert sweep["data"] == f"0x{encode_sweep([Sweep(1, STRANGE)]).hex()}"
    for sender, call in ((USER, sweep), (OWNER, withdraw)):
        data = bytes.fromhex(call["data"][2:])
        await place.sends(Call(call["to"], 0, data, 10**6), sender=sender)
    assert place.chain.world.balances[USER, STRANGE] == 10**12


@pytest.mark.fault("W22")
async def test_w22_foreign_deposit_by_the_depository_is_recorded_and_not_booked(
    place: Place,
) -> None:
    await place.world.request_swap(1)
    data = encode_deposit_erc20(depository_id(1), STRANGE, TREASURY, UNITS)
    came = await place.sends(Call(DEPOSITORY, 0, data, 10**6))
    quarantined = {"token": STRANGE, "base_units": str(UNITS), "transaction_hash": came}
    await place.world.settle(a_deposit(1, **quarantined, quarantine_reason="unknown_token"))

    looked = await place.shown(came)

    assert looked["recorded"] == "unknown_token"
    [deposit] = await place.world.rows("SELECT state, swap_id, is_booked FROM deposit")
    assert (deposit.state, deposit.swap_id, deposit.is_booked) == ("quarantined", None, False)
    assert await place.world.rows("SELECT 1 FROM account") == []
    [swap] = await place.world.rows("SELECT status FROM swap")
    assert swap.status == "user_transfer_pending"


async def test_return_of_a_transfer_that_is_not_final_is_refused(place: Place) -> None:
    came = await place.transfers(TREASURY, blocks=1)

    assert (await place.shown(came))["is_final"] is False
    with pytest.raises(RequestRefused, match="not final"):
        await place.shown(came, back=BACK)

    assert await place.world.rows("SELECT 1 FROM rescued_token") == []


async def test_transaction_without_a_transfer_to_us_is_refused(place: Place) -> None:
    elsewhere = await place.transfers(OWNER)
    too_much = encode_transfer_with_memo(TREASURY, 10**15, b"")
    failed = await place.sends(Call(STRANGE, 0, too_much, 100_000))

    for transaction_hash, why in (
        (elsewhere, "transfers no token"),
        (failed, "failed"),
        (f"0x{1:064x}", "in no block"),
    ):
        with pytest.raises(RequestRefused, match=why):
            await place.shown(transaction_hash)
    with pytest.raises(RequestRefused, match="not a network"):
        await place.rescue("NOWHERE", elsewhere)
    came = await place.transfers(TREASURY)
    with pytest.raises(RequestRefused, match="not an address"):
        await place.shown(came, back=Return("0x1", by="ann", reason="no"))


async def test_return_to_an_unusable_address_is_refused(place: Place) -> None:
    came = await place.transfers(TREASURY)
    mixed = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"

    for to, why in (
        (mixed.replace("aA", "Aa"), "misspelt"),
        (NATIVE, "would keep it"),
        (TREASURY, "would keep it"),
        (DEPOSITORY, "would keep it"),
        (FACTORY, "would keep it"),
        (STRANGE, "would keep it"),
    ):
        with pytest.raises(RequestRefused, match=why):
            await place.shown(came, back=replace(BACK, to_address=to))

    assert await place.world.rows("SELECT 1 FROM rescued_token") == []


async def test_transfers_of_two_owners_in_one_transaction_are_returned_separately(
    place: Place,
) -> None:
    """Both transfers have the same token and amount, in one transaction."""
    came, reader = await place.transfers(TREASURY), FakeReader(place.chain)
    answer_document = await reader.reported_transfers(came)
    assert answer_document is not None
    other = replace(answer_document.transfers[0], from_address=OWNER)
    both = replace(answer_document, transfers=(*answer_document.transfers, other))
    reader.reported_transfers = lambda _: answered(both)  # type: ignore[method-assign]
    rescues = PostgresRescues(place.world.engine)
    rescue = RescueTokens(rescues, catalogue=place.world.catalogue, chains={SOURCE: reader})

    with pytest.raises(RequestRefused, match=f"{STRANGE} from {OWNER}"):
        await rescue(SOURCE, came, back=BACK)
    with pytest.raises(RequestRefused, match="say which"):
        await rescue(SOURCE, came, back=replace(BACK, token=STRANGE))
    with pytest.raises(RequestRefused, match="say which"):
        await rescue(SOURCE, came, back=replace(BACK, from_address=STRANGE))
    shown = await rescue(SOURCE, came, back=replace(BACK, from_address=USER.lower()))

    assert [(one["from"], len(list(one["calls"]))) for one in shown] == [(USER, 1), (OWNER, 0)]


async def test_more_transfers_than_an_order_can_name_are_refused(place: Place) -> None:
    """A stored order is bound to its transfers: one with more could never be approved."""
    came, reader = await place.transfers(TREASURY), FakeReader(place.chain)
    reported = await reader.reported_transfers(came)
    assert reported is not None
    many = replace(reported, transfers=reported.transfers * (RETURNED_MAX + 1))
    reader.reported_transfers = lambda _: answered(many)  # type: ignore[method-assign]
    rescues = PostgresRescues(place.world.engine)
    rescue = RescueTokens(rescues, catalogue=place.world.catalogue, chains={SOURCE: reader})

    with pytest.raises(RequestRefused, match=f"an order returns {RETURNED_MAX} at most"):
        await rescue.find_returned(SOURCE, came, BACK)

    assert await place.world.rows("SELECT 1 FROM rescued_token") == []


async def answered(answer_document: ReportedTransfers) -> ReportedTransfers:
    return answer_document


async def test_rescue_is_ordered_on_the_internal_port(place: Place) -> None:
    came = await place.transfers(TREASURY)
    admin, path = place.admin, "/{network}/{hash}"

    async with client_of(get(path, admin.show), post(path, as_operator(admin.order))) as http:
        where = f"/{SOURCE}/{came}"
        wrong = await http.get(f"/{SOURCE}/0x1")
        without_reason = await http.post(
            where, json={"to_address": USER, "by": "ann", "reason": " "}
        )
        looked = await (await http.get(where)).json()
        order = {"to_address": USER.lower(), "by": "ann", "reason": "he signed"}
        ordered = await (await http.post(where, json=order)).json()

    assert (wrong.status, without_reason.status) == (400, 400)
    assert [one["ordered"] for one in looked["came"]] == [[]]
    assert ordered["came"][0]["ordered"][0]["to"] == USER


class OperatorPort:
    """The internal port with the orders about such tokens, and two operators."""

    def __init__(self, url: str) -> None:
        self._url = url

    async def ask(
        self, name: str, path: str, *, method: str = "POST", **body: Any
    ) -> tuple[int, Any]:
        headers = {"Authorization": f"Bearer token of {name}"}
        async with (
            aiohttp.ClientSession(headers=headers) as http,
            http.request(method, f"{self._url}{path}", json={"reason": "so", **body}) as answer,
        ):
            return answer.status, await answer.json()

    async def approve(self, proposed: Any, *, by: str = "ben") -> tuple[int, Any]:
        return await self.ask(by, f"/approvals/{proposed['proposal']['id']}/approve")


@asynccontextmanager
async def serving(place: Place) -> AsyncIterator[OperatorPort]:
    engine, catalogue, admin = place.world.engine, place.world.catalogue, place.admin
    second = SecondOperator(weighing(engine, catalogue, prices=a_dollar_each(catalogue)))
    internal = internal_port(
        engine,
        OPERATORS,
        reads=[AdminRoute("GET", "/rescues", admin.list_all)],
        orders=[
            OrderRoute(
                "/rescues/{network}/{hash}",
                admin.order,
                second.returns_tokens,
                admin.add_transfers,
            )
        ],
    )
    number = await internal.start("127.0.0.1", 0)
    try:
        yield OperatorPort(f"http://127.0.0.1:{number}/admin")
    finally:
        await internal.stop()


async def test_two_operators_choose_the_recipient_of_a_token(place: Place) -> None:
    came = await place.transfers(TREASURY)
    path = f"/rescues/{SOURCE}/{came}"

    async with serving(place) as operator_port:
        status, proposed = await operator_port.ask("ann", path, to_address=USER)
        assert (status, await place.world.rows("SELECT 1 FROM rescued_token")) == (202, [])
        [bound] = proposed["proposal"]["order"]["transfers"]
        assert (bound["from_address"], bound["base_units"]) == (USER, str(UNITS))
        assert (await operator_port.approve(proposed, by="ann"))[0] == 409
        status, answer = await operator_port.approve(proposed)

        assert (status, len(answer["came"][0]["calls"])) == (200, 1)
        [row] = await place.world.rows("SELECT returned_to, ordered_by FROM rescued_token")
        assert (row.returned_to, row.ordered_by) == (USER, "ann, approved by ben")


async def test_an_order_is_bound_to_the_transfer_and_the_previous_order(place: Place) -> None:
    came = await place.transfers(TREASURY)
    path = f"/rescues/{SOURCE}/{came}"

    async with serving(place) as operator_port:
        _, first = await operator_port.ask("ann", path, to_address=USER)
        _, second = await operator_port.ask("ann", path, to_address=OWNER)
        bound = first["proposal"]["order"]["transfers"]
        await operator_port.approve(second)

        stale, words = await operator_port.approve(first)
        again, _ = await operator_port.ask("ann", path, to_address=USER, transfers=bound)

        assert (stale, again) == (409, 409)
        assert "order it again" in words["error"]
        rows = await place.world.rows("SELECT returned_to FROM rescued_token")
        assert [row.returned_to for row in rows] == [OWNER]


async def test_impossible_return_is_refused_without_a_proposal(place: Place) -> None:
    came = await place.transfers(TREASURY)
    proposals = "SELECT count(*) AS number FROM operator_proposal"
    before = await place.world.rows(proposals)

    async with serving(place) as operator_port:
        for path, body, refused in (
            (f"/rescues/{SOURCE}/0x1", {"to_address": USER}, 400),
            (f"/rescues/{SOURCE}/{came}", {"to_address": " "}, 400),
            (f"/rescues/{SOURCE}/{came}", {"to_address": TREASURY}, 409),
            (f"/rescues/{SOURCE}/{came}", {"to_address": USER, "token": OWNER}, 409),
            (f"/rescues/NOWHERE/{came}", {"to_address": USER}, 409),
        ):
            status, _ = await operator_port.ask("ann", path, **body)
            assert status == refused, (path, body)
        assert await place.world.rows(proposals) == before


async def test_ordered_rescues_are_listed_in_pages(place: Place) -> None:
    hashes = [await place.transfers(TREASURY) for _ in range(3)]
    for one in hashes:
        await place.shown(one, back=BACK)

    async with serving(place) as operator_port:
        _, page = await operator_port.ask("ann", "/rescues?limit=2", method="GET")
        last = page["rescues"][-1]["id"]
        _, rest = await operator_port.ask("ann", f"/rescues?limit=2&before={last}", method="GET")

    listed = [one["transaction_hash"] for one in (*page["rescues"], *rest["rescues"])]
    assert listed == hashes[::-1]
    assert page["rescues"][0]["reason"] == BACK.reason
