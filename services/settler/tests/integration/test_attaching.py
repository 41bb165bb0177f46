"""Deposits that name no swap, on Postgres: attached once, to the swap that their sender signs."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any, Literal
from uuid import UUID

import pytest

from services.settler.tests.admin_port import as_operator
from services.settler.tests.factories import (
    ETHEREUM,
    LATER,
    MINUTE,
    NOON,
    PAYOUT,
    RECIPIENT,
    REQUESTED,
    USER,
    a_catalogue,
    a_deposit_message,
    a_refund_address,
    a_request,
    a_text,
    an_attachment,
    funding,
    swap_id,
)
from services.settler.tests.fakes import FixedPrices
from services.settler.tests.integration.postgres_books import PostgresBooks
from services.settler.tests.settler_harness import Settler
from swap_contracts.deposits import DepositChanged
from swap_contracts.envelope import Envelope
from swap_contracts.swaps import DepositAttached
from swap_domain.catalogue import NATIVE
from swap_runtime.errors import RequestRefused
from swap_runtime.postgres.database import Engine
from swap_runtime.postgres.sql import sql
from swap_settler.model.store.unit_of_work import PostgresUnitOfWork
from swap_settler.operator.http.claims import ClaimAdmin
from swap_settler.operator.store.claims import PostgresClaimUnitOfWork
from swap_settler.operator.usecases.attach_claimable import AttachClaimable, AttachOrder
from swap_settler.operator.usecases.pay_claimable import PayClaimable, PaymentOrder
from swap_settler.settling.store.due_requotes import PostgresDueRequotes
from tests.support.serving import client_of, post

pytestmark = pytest.mark.connected

WALLET = "0x" + "f5" * 20
STANDALONE: dict[str, Any] = {"kind": "token_transfer", "number": None}
FREE = "SELECT deposit_id, swap_id, is_free FROM lone_transfer"
OWED = """
SELECT kind, -balance AS units FROM account WHERE balance <> 0
    AND kind IN ('suspense', 'claimable', 'swap_liability', 'in_flight') AND network = :network
ORDER BY kind
"""


def a_transfer(state: str = "confirmed", **more: Any) -> Envelope[DepositChanged]:
    """A transfer of a token to the Treasury that names no swap."""
    return a_deposit_message(state, **{**STANDALONE, **more})


STANDALONE_ID: UUID = a_transfer().body.deposit_id


@pytest.fixture
async def run(engine: Engine) -> Settler:
    run = Settler(
        PostgresUnitOfWork(engine, consumer="settler"),
        requotes=PostgresDueRequotes(engine, consumer="settler"),
    )
    await run.deposits(funding())
    await run.requests(a_request(7), a_request(8))
    return run


async def rows(engine: Engine, statement: str, **values: object) -> list[tuple[Any, ...]]:
    async with engine.connect() as connection:
        return [tuple(row) for row in await connection.execute(sql(statement), values)]


async def status(engine: Engine, number: int = 7) -> str:
    [[results]] = await rows(engine, "SELECT status FROM swap WHERE id = :id", id=swap_id(number))
    return str(results)


async def owed(engine: Engine) -> dict[str, int]:
    return {kind: int(units) for kind, units in await rows(engine, OWED, network=ETHEREUM)}


async def payouts(engine: Engine) -> list[int]:
    results = await rows(engine, "SELECT base_units FROM intent WHERE kind = 'output'")
    return [int(units) for (units,) in results]


async def only_balance(engine: Engine) -> int:
    query = "SELECT id FROM account WHERE kind = 'suspense' AND balance <> 0"
    [[id]] = await rows(engine, query)
    return int(id)


def attaching(run: Settler, engine: Engine) -> AttachClaimable:
    return AttachClaimable(
        PostgresClaimUnitOfWork(engine, consumer="settler"),
        clock=lambda: run.now,
        swap_messages=run.swap_messages,
    )


def paying(run: Settler, engine: Engine) -> PayClaimable:
    return PayClaimable(
        PostgresClaimUnitOfWork(engine, consumer="settler"),
        catalogue=a_catalogue(),
        clock=lambda: run.now,
        swap_messages=run.swap_messages,
        prices=FixedPrices(),
    )


async def attached_by_operator(run: Settler, engine: Engine, id: int, number: int = 7) -> None:
    order = AttachOrder(id, REQUESTED, swap_id(number), by="ann", reason="they showed a receipt")
    await attaching(run, engine)(order)


class TestATransferThatNamesNoSwap:
    async def test_pays_the_swap_that_its_sender_signs_for(
        self, run: Settler, engine: Engine
    ) -> None:
        await run.deposits(a_transfer())
        assert await owed(engine) == {"suspense": REQUESTED}
        assert await rows(engine, FREE) == [(STANDALONE_ID, None, True)]

        await run.requests(an_attachment(a_transfer()))

        assert await status(engine) == "ls_transfer_pending"
        assert await payouts(engine) == [PAYOUT]
        assert await owed(engine) == {}
        assert await rows(engine, FREE) == [(STANDALONE_ID, swap_id(7), False)]
        [results] = await rows(
            engine,
            "SELECT attached_by, attached_because FROM deposit WHERE id = :id",
            id=STANDALONE_ID,
        )
        attachment = an_attachment(a_transfer()).body
        assert isinstance(attachment, DepositAttached)
        assert results == (USER, f"{attachment.signature} over: {attachment.text}")

    async def test_is_waited_for_when_it_is_not_final_yet(
        self, run: Settler, engine: Engine
    ) -> None:
        await run.deposits(a_transfer("seen"))
        await run.requests(an_attachment(a_transfer()))
        assert await status(engine) == "user_transfer_pending"
        assert await payouts(engine) == []

        await run.deposits(a_transfer("confirmed"))

        assert await status(engine) == "ls_transfer_pending"
        assert await payouts(engine) == [PAYOUT]

    async def test_stays_attached_when_a_reorg_removes_it_and_it_is_mined_again(
        self, run: Settler, engine: Engine
    ) -> None:
        await run.deposits(a_transfer())
        await run.requests(an_attachment(a_transfer()))

        await run.deposits(a_transfer("reverted"))
        assert await status(engine) == "user_transfer_pending"
        assert await owed(engine) == {}

        await run.deposits(a_transfer("confirmed", version=4))
        assert await status(engine) == "ls_transfer_pending"
        states = await rows(engine, "SELECT state FROM intent WHERE kind = 'output' ORDER BY 1")
        assert states == [("dead",), ("reserved",)]

    async def test_stays_attached_when_the_swap_of_its_memo_is_created_later(
        self, run: Settler, engine: Engine
    ) -> None:
        mistyped = a_deposit_message("seen", number=99, kind="token_transfer")
        await run.deposits(mistyped)
        await run.requests(an_attachment(mistyped))

        await run.requests(a_request(99))
        await run.deposits(a_deposit_message("confirmed", number=99, kind="token_transfer"))

        assert await status(engine, 7) == "ls_transfer_pending"
        assert await status(engine, 99) == "user_transfer_pending"

    async def test_is_received_at_the_time_of_its_attachment(
        self, run: Settler, engine: Engine
    ) -> None:
        """A sender with a mined transfer must not wait for the best of many quotes."""
        await run.deposits(a_transfer(block_time=NOON - MINUTE))
        run.now = LATER  # after the quote's expiry, before the swap's
        run.quoter.share_ppm = 995_000

        await run.requests(an_attachment(a_transfer(), at=LATER))
        assert await payouts(engine) == []
        await run.requote_swaps()

        assert await payouts(engine) == [REQUESTED * 995 // 1000]

    async def test_goes_back_when_its_swap_is_paid_already(
        self, run: Settler, engine: Engine
    ) -> None:
        await run.deposits(a_deposit_message())
        await run.deposits(a_transfer())

        await run.requests(an_attachment(a_transfer()))

        assert await status(engine) == "ls_transfer_pending"
        assert await payouts(engine) == [PAYOUT]
        assert await owed(engine) == {"claimable": REQUESTED}
        await run.requests(a_refund_address())
        due = await rows(engine, "SELECT swap_id, deposit_id FROM refund_due")
        assert due == [(swap_id(7), STANDALONE_ID)]


class TestWhoMayAttach:
    @pytest.mark.parametrize(
        ("transfer", "attachment"),
        [
            pytest.param({"from_address": RECIPIENT}, {}, id="who did not send it"),
            pytest.param({}, {"signer": RECIPIENT}, id="whose key did not sign"),
            pytest.param(
                {"from_address": RECIPIENT}, {"signer": RECIPIENT}, id="for whom another key signed"
            ),
            pytest.param({}, {"signature": "0x51"}, id="whose signature is none"),
            pytest.param({}, {"signature": "none"}, id="whose signature is no bytes"),
            pytest.param(
                {}, {"text": a_text(a_transfer().body, number=8)}, id="who signed for another swap"
            ),
            pytest.param(
                {},
                {"is_by_contract": True, "text": a_text(a_transfer(units=1).body)},
                id="whose code took another text",
            ),
            pytest.param({"token": NATIVE}, {}, id="who sent another token"),
            pytest.param({"kind": "deposited"}, {}, id="who may only have bundled the call"),
            pytest.param({"quarantine_reason": "fake"}, {}, id="who sent what is quarantined"),
            pytest.param({"from_address": None}, {}, id="who is not known"),
        ],
    )
    async def test_is_not(
        self, run: Settler, engine: Engine, transfer: dict[str, Any], attachment: dict[str, Any]
    ) -> None:
        await run.deposits(a_transfer(**transfer))
        before = await owed(engine)

        await run.requests(an_attachment(a_transfer(**transfer), **attachment))

        assert await status(engine) == "user_transfer_pending"
        assert await owed(engine) == before
        assert await rows(engine, "SELECT id FROM deposit WHERE swap_id IS NOT NULL") == []

    async def test_is_a_contract_wallet_that_the_api_has_verified(
        self, run: Settler, engine: Engine
    ) -> None:
        await run.deposits(a_transfer(from_address=WALLET))

        attachment = an_attachment(
            a_transfer(from_address=WALLET), signer=WALLET, signature="0x51", is_by_contract=True
        )
        await run.requests(attachment)

        assert await payouts(engine) == [PAYOUT]

    @pytest.mark.parametrize("named", [None, USER])
    async def test_is_its_sender_before_and_after_the_refund_address_is_set(
        self, run: Settler, engine: Engine, named: str | None
    ) -> None:
        await run.deposits(a_transfer())
        await run.requests(a_refund_address(7, USER))

        await run.requests(an_attachment(a_transfer(), refund_address=named))

        assert await payouts(engine) == [PAYOUT]

    async def test_is_refused_for_a_text_with_another_refund_address(
        self, run: Settler, engine: Engine
    ) -> None:
        await run.deposits(a_transfer())
        await run.requests(a_refund_address(7, USER))

        await run.requests(an_attachment(a_transfer(), refund_address=RECIPIENT))

        assert await payouts(engine) == []

    async def test_is_an_operator_without_a_signature(self, run: Settler, engine: Engine) -> None:
        await run.deposits(a_transfer(kind="deposited"))

        await attached_by_operator(run, engine, await only_balance(engine))

        assert await payouts(engine) == [PAYOUT]
        [results] = await rows(
            engine,
            "SELECT attached_by, attached_because FROM deposit WHERE id = :id",
            id=STANDALONE_ID,
        )
        assert results == ("ann", "they showed a receipt")
        causes = await rows(engine, "SELECT cause FROM swap_transition ORDER BY sequence")
        assert causes[-1] == ("deposit_attached_by_operator",)

    async def test_is_an_operator_over_the_internal_port(
        self, run: Settler, engine: Engine
    ) -> None:
        await run.deposits(a_transfer())
        id = await only_balance(engine)
        admin = ClaimAdmin(
            pay_claimable=paying(run, engine), attach_claimable=attaching(run, engine)
        )
        body = {
            "base_units": str(REQUESTED),
            "swap_id": str(swap_id(7)),
            "by": "ann",
            "reason": "they showed a receipt",
        }

        async with client_of(post("/{id}", as_operator(admin.attach))) as http:
            wrong = await http.post("/seven", json=body)
            short = await http.post(f"/{id}", json={**body, "swap_id": "7"})
            done = await http.post(f"/{id}", json=body)
            results = await done.json()

        assert (wrong.status, short.status, done.status) == (400, 400, 200)
        assert results["status"] == "ls_transfer_pending"
        assert results["credited_base_units"] == str(REQUESTED)

    async def test_is_no_operator_for_a_swap_of_another_token(
        self, run: Settler, engine: Engine
    ) -> None:
        await run.deposits(a_transfer(token=NATIVE))

        with pytest.raises(RequestRefused, match="another token"):
            await attached_by_operator(run, engine, await only_balance(engine))

    async def test_is_no_operator_who_looked_at_another_balance(
        self, run: Settler, engine: Engine
    ) -> None:
        await run.deposits(a_transfer(units=REQUESTED - 1))

        with pytest.raises(RequestRefused, match="list it again"):
            await attached_by_operator(run, engine, await only_balance(engine))


class TestTwoAtOnce:
    async def test_a_transfer_is_one_swaps(self, run: Settler, engine: Engine) -> None:
        await run.deposits(a_transfer())

        await asyncio.gather(
            *(
                run.requests(an_attachment(a_transfer(), number=n, nth=k))
                for n in (7, 8)
                for k in (1, 2)
            )
        )

        assert await payouts(engine) == [PAYOUT]
        both = sorted([await status(engine, 7), await status(engine, 8)])
        assert both == ["ls_transfer_pending", "user_transfer_pending"]

    async def test_in_one_batch_the_first_has_it(self, run: Settler, engine: Engine) -> None:
        await run.deposits(a_transfer())

        await run.requests(
            an_attachment(a_transfer(), number=8), an_attachment(a_transfer(), number=7)
        )

        assert await status(engine, 8) == "ls_transfer_pending"
        assert await status(engine, 7) == "user_transfer_pending"

    async def test_a_swap_that_begins_in_the_same_batch_has_it(
        self, run: Settler, engine: Engine
    ) -> None:
        await run.deposits(a_transfer())

        await run.requests(a_request(9), an_attachment(a_transfer(), number=9))

        assert await status(engine, 9) == "ls_transfer_pending"

    @pytest.mark.parametrize("first", ["attach", "pay", "both"])
    async def test_deposit_is_attached_or_paid_back_and_never_both(
        self, run: Settler, engine: Engine, first: str
    ) -> None:
        await run.deposits(a_transfer())
        id = await only_balance(engine)
        order = PaymentOrder(id, REQUESTED, USER, by="ann", reason="they proved it")

        async def attach() -> None:
            await run.requests(an_attachment(a_transfer()))

        async def pay() -> None:
            await paying(run, engine)(order)

        acts = {"attach": (attach, pay), "pay": (pay, attach)}
        if first == "both":
            await asyncio.gather(attach(), pay(), return_exceptions=True)
        else:
            await acts[first][0]()
            await asyncio.gather(acts[first][1](), return_exceptions=True)

        live = await rows(engine, "SELECT kind FROM intent WHERE state <> 'dead'")
        assert len(live) == 1
        if first != "both":
            assert live == [("output",) if first == "attach" else ("claim",)]
        assert (await status(engine) == "ls_transfer_pending") == (live == [("output",)])

    async def test_deposit_whose_return_failed_can_be_attached(
        self, run: Settler, engine: Engine
    ) -> None:
        await run.deposits(a_transfer())
        order = PaymentOrder(await only_balance(engine), REQUESTED, USER, by="ann", reason="theirs")
        await paying(run, engine)(order)
        # Before a signature for it, a reorg removes the deposit and adds it again.
        await run.deposits(a_transfer("reverted"))
        await run.deposits(a_transfer("confirmed", version=4))

        await run.requests(an_attachment(a_transfer()))

        assert await payouts(engine) == [PAYOUT]

    @pytest.mark.parametrize("first", ["attach", "expire", "both"])
    async def test_a_deadline_that_passes_leaves_it_to_the_swap_or_to_its_owner(
        self, run: Settler, engine: Engine, watcher: Engine, first: str
    ) -> None:
        await run.deposits(a_transfer())
        run.now = NOON + timedelta(hours=7)
        await PostgresBooks(engine, watcher).advance_watcher(run.now)

        async def attach() -> None:
            await run.requests(an_attachment(a_transfer(), at=run.now))

        async def expire() -> None:
            await run.expire_swaps()

        if first == "both":
            await asyncio.gather(attach(), expire())
        else:
            for act in (attach, expire) if first == "attach" else (expire, attach):
                await act()
        await run.requote_swaps()

        is_expired = await status(engine) == "expired"
        assert is_expired or await payouts(engine) == [PAYOUT]
        balances = await owed(engine)
        assert balances == ({"claimable": REQUESTED} if is_expired else {})
        if first == "expire":
            assert is_expired


@pytest.mark.parametrize("state", ["seen", "confirmed"])
async def test_transfer_is_credited_to_the_swap_of_its_memo_before_an_attachment(
    run: Settler, engine: Engine, state: Literal["seen", "confirmed"]
) -> None:
    early = a_deposit_message(state, number=99, kind="token_transfer")
    await run.deposits(early)

    await run.requests(a_request(99), an_attachment(early, number=7))

    locked = "SELECT sequence_number FROM swap WHERE quote_locked_at IS NOT NULL"
    assert await rows(engine, locked) == [(99,)]
    assert len(await payouts(engine)) == (1 if state == "confirmed" else 0)
