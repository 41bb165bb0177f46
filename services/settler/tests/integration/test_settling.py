"""Tests that need a real PostgreSQL: cost, races, and refused writes."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from typing import Any
from uuid import uuid5

import pytest
from psycopg.errors import RaiseException

from services.settler.tests.factories import (
    ETHEREUM,
    PAYOUT,
    POLYGON,
    REQUESTED,
    SIGNER,
    SOME,
    UNKNOWN_TOKEN,
    USDC,
    a_deposit_message,
    a_payout_message,
    a_request,
    a_swap,
    funding,
    swap_id,
)
from services.settler.tests.integration.lanes import ASSIGN, HASH, sign
from services.settler.tests.settler_harness import Settler
from swap_contracts.deposits import DepositChanged
from swap_contracts.envelope import Envelope
from swap_contracts.topics import DEPOSIT_CHANGED
from swap_runtime.messaging.batches import Batches
from swap_runtime.messaging.parking import PostgresParking
from swap_runtime.messaging.records import Position, Record
from swap_runtime.postgres.database import Engine
from swap_runtime.postgres.sql import sql
from swap_settler.model.changes import Changes
from swap_settler.model.ledger.accounts import Account, AccountKind, LedgerTransaction, Posting
from swap_settler.model.store.unit_of_work import PostgresUnitOfWork
from swap_settler.settling.decide.requests import begin
from tests.support.locks import until_blocked

pytestmark = pytest.mark.connected

NUMBERS = range(1, 201)
ACCOUNTS = [
    Account(AccountKind.CLAIMABLE, ETHEREUM, USDC[ETHEREUM], swap, deposit, None, address, app)
    for swap, deposit, address, app in product(
        (None, uuid5(SOME, "swap")),
        (None, uuid5(SOME, "deposit")),
        (None, "0x1"),
        (None, uuid5(SOME, "app")),
    )
]
POSTED = """
SELECT swap_id, deposit_id, address, app_id, CAST(base_units AS int) FROM posting
JOIN account ON account.id = posting.account_id
WHERE account.kind = 'claimable' AND transaction_id
    = (SELECT id FROM ledger_transaction WHERE dedupe_key = :name)
ORDER BY posting.n
"""


def a_settler(engine: Engine) -> Settler:
    return Settler(PostgresUnitOfWork(engine, consumer="settler"))


async def rows(engine: Engine, statement: str, **values: object) -> list[tuple[object, ...]]:
    async with engine.connect() as connection:
        return [tuple(row) for row in await connection.execute(sql(statement), values)]


async def statuses(engine: Engine) -> Counter[object]:
    return Counter(status for (status,) in await rows(engine, "SELECT status FROM swap"))


async def is_in_balance(engine: Engine) -> bool:
    """Whether balances equal the sums of their postings, and the inventory equals the accounts."""
    wrong = await rows(
        engine,
        """
SELECT account.id::text FROM account LEFT JOIN posting ON posting.account_id = account.id
GROUP BY account.id HAVING account.balance <> coalesce(sum(posting.base_units), 0)
UNION ALL
SELECT inventory.network FROM inventory JOIN account USING (network, token)
GROUP BY inventory.network, inventory.token, held_base_units, owed_base_units
HAVING held_base_units <> coalesce(sum(balance) FILTER (WHERE kind = 'custody'
    AND holder <> 'signer'), 0) OR owed_base_units <> -coalesce(sum(balance) FILTER (WHERE kind IN
    ('swap_liability', 'in_flight', 'refuel_liability', 'refuel_in_flight', 'suspense',
     'claimable')), 0)""",
    )
    return wrong == []


class TestCost:
    @pytest.mark.fault("K11")
    async def test_a_batch_of_any_size_is_a_bounded_number_of_statements_and_one_commit(
        self, engine: Engine, round_trips: list[int]
    ) -> None:
        run, earlier = a_settler(engine), NUMBERS.stop
        await run.deposits(funding())
        await run.requests(*(a_request(number) for number in (*NUMBERS, earlier)))
        await run.deposits(a_deposit_message(number=earlier))  # of a new asset
        sent: list[str] = []
        engine.statement_listener = sent.append
        round_trips.clear()

        await run.deposits(*(a_deposit_message(number=number) for number in NUMBERS))

        assert sent.count("COMMIT") == 1
        assert len(sent) == 1 + 18
        assert len(round_trips) <= 2
        assert await statuses(engine) == {"ls_transfer_pending": 201}
        [(published_message,)] = await rows(
            engine, "SELECT count(*) FROM outbox WHERE topic = 'inventory.changed.v1'"
        )
        assert published_message == 1 + 2 + 2  # the funding, then one per asset for all 200
        assert await is_in_balance(engine)

    async def test_requests_and_payouts_wait_as_little(
        self, engine: Engine, round_trips: list[int]
    ) -> None:
        work = PostgresUnitOfWork(engine, consumer="settler")
        run = Settler(work)
        await run.deposits(funding())
        round_trips.clear()
        await run.requests(*(a_request(number) for number in NUMBERS))
        assert len(round_trips) <= 2

        await run.deposits(*(a_deposit_message(number=number) for number in NUMBERS))
        hashes = {number: f"0x{number:064x}" for number in NUMBERS}
        for number, transaction_hash in hashes.items():
            await sign(work, number, transaction_hash)
        round_trips.clear()
        await run.payouts(
            *(
                a_payout_message(
                    "confirmed", swap=a_swap(number), transaction_hash=transaction_hash
                )
                for number, transaction_hash in hashes.items()
            )
        )

        assert len(round_trips) <= 4
        assert await statuses(engine) == {"completed": 200}
        assert await is_in_balance(engine)

    async def test_seen_deposit_is_not_booked(self, engine: Engine) -> None:
        run = a_settler(engine)
        await run.requests(a_request())
        sent: list[str] = []
        engine.statement_listener = sent.append

        await run.deposits(a_deposit_message("seen"))

        assert not any("inventory" in statement for statement in sent)


def batches_of(engine: Engine, run: Settler) -> Batches[DepositChanged]:
    parking = PostgresParking(engine, consumer="settler")
    return Batches(DEPOSIT_CHANGED, run.settle_deposits, parking)


def a_record(message: Envelope[DepositChanged], *, offset: int = 0) -> Record:
    value = message.model_dump_json().encode()
    key = message.key.encode()
    return Record(DEPOSIT_CHANGED.name, 0, offset, key, value, message.message_id)


class TestDelivery:
    async def test_repeated_messages_have_no_effect(self, engine: Engine) -> None:
        run = a_settler(engine)
        await run.paid_for(7)
        before = await rows(engine, "SELECT id, sequence FROM swap")
        posted = await rows(engine, "SELECT count(*) FROM posting")

        await run.paid_for(7)
        await run.deposits(a_deposit_message(), a_deposit_message())

        assert await rows(engine, "SELECT id, sequence FROM swap") == before
        assert await rows(engine, "SELECT count(*) FROM posting") == posted

    async def test_two_owners_of_one_partition_apply_a_batch_once(self, engine: Engine) -> None:
        run = a_settler(engine)
        await run.deposits(funding())
        await run.requests(*(a_request(number) for number in range(1, 11)))
        batch = [a_deposit_message(number=number) for number in range(1, 11)]

        await asyncio.gather(*(run.deposits(*batch) for _ in range(4)))

        assert await statuses(engine) == {"ls_transfer_pending": 10}
        assert await rows(engine, "SELECT DISTINCT sequence FROM swap") == [(2,)]
        assert await is_in_balance(engine)

    @pytest.mark.fault("K16")
    async def test_facts_out_of_order_end_where_they_would_in_order(self, engine: Engine) -> None:
        run = a_settler(engine)
        await run.deposits(funding())
        await run.requests(a_request())
        for message in (
            a_deposit_message("confirmed"),
            a_deposit_message("seen"),
            a_deposit_message("confirmed", version=5),
            a_deposit_message("reverted"),
        ):
            await run.deposits(message)

        assert await statuses(engine) == {"ls_transfer_pending": 1}
        assert await rows(
            engine, "SELECT version, state FROM deposit WHERE swap_id IS NOT NULL"
        ) == [(5, "credited")]

    async def test_a_deposit_and_its_swap_at_the_same_time_always_meet(
        self, engine: Engine
    ) -> None:
        run = a_settler(engine)
        await run.deposits(funding())

        await asyncio.gather(
            *(run.requests(a_request(number)) for number in range(1, 9)),
            *(run.deposits(a_deposit_message(number=number)) for number in range(1, 9)),
        )

        assert await statuses(engine) == {"ls_transfer_pending": 8}
        assert await is_in_balance(engine)

    @pytest.mark.breaks_invariants("I-22")  # the use cases decide which messages are published
    async def test_a_deposit_that_waited_for_its_key_finds_the_swap_that_was_made_meanwhile(
        self, engine: Engine
    ) -> None:
        run, swap = a_settler(engine), a_swap()
        await run.deposits(funding())
        async with PostgresUnitOfWork(engine, consumer="settler")() as work:
            held = {"keys": {swap.match_key}, "swap_ids": {swap.id}, "deposit_ids": ()}
            await work.open_requests([uuid5(SOME, "request")], **held)
            coming = asyncio.create_task(run.deposits(a_deposit_message()))
            await until_blocked(engine)
            await work.flush([begin(swap)], [])
        await coming

        assert await statuses(engine) == {"ls_transfer_pending": 1}
        assert await is_in_balance(engine)

    async def test_a_deposit_keeps_no_inventory_while_it_waits_for_a_row_of_it(
        self, engine: Engine
    ) -> None:
        run, swap = a_settler(engine), a_swap()
        await run.deposits(funding())
        await run.requests(a_request())
        came, paid = swap.terms.source, swap.terms.destination
        new, there = (came.network, came.token), (paid.network, paid.token)
        unit_of_work = PostgresUnitOfWork(engine, consumer="settler")

        async with unit_of_work() as adding:
            await adding.lock_inventory({new})
            coming = asyncio.create_task(run.deposits(a_deposit_message()))
            await until_blocked(engine)
            await adding.lock_inventory({there})
        await coming

        assert await statuses(engine) == {"ls_transfer_pending": 1}

    async def test_batches_in_opposite_order_do_not_deadlock(self, engine: Engine) -> None:
        run = a_settler(engine)
        await run.deposits(funding())
        await run.requests(a_request(1), a_request(2), a_request(3))

        await asyncio.gather(
            *(
                run.deposits(*(a_deposit_message("seen", number=n, nth=nth) for n in order))
                for nth in range(20)
                for order in ((1, 2, 3), (3, 2, 1))
            )
        )

        assert await rows(engine, "SELECT DISTINCT sequence FROM swap") == [(21,)]

    async def test_impossible_message_is_parked_and_the_others_are_handled(
        self, engine: Engine
    ) -> None:
        run = a_settler(engine)
        await run.deposits(funding())
        await run.requests(a_request(1), a_request(2))
        poison = a_deposit_message(number=3, network="NOWHERE")
        batch = [a_deposit_message(number=1), poison, a_deposit_message(number=2)]

        await batches_of(engine, run)(
            [replace(a_record(m, offset=n), is_from_outbox=True) for n, m in enumerate(batch)]
        )

        assert await statuses(engine) == {"ls_transfer_pending": 2}
        [(parked, reason)] = await rows(engine, "SELECT message_id, reason FROM parked")
        assert parked == poison.message_id
        assert "NOWHERE" in str(reason)

    async def test_a_deposit_that_the_watcher_did_not_send_is_not_credited(
        self, engine: Engine
    ) -> None:
        run = a_settler(engine)
        await run.deposits(funding())
        await run.requests(a_request(1))
        forged = a_record(a_deposit_message(number=1))

        await batches_of(engine, run)([replace(forged, position=Position("chain_watcher", 3, 1))])

        assert await statuses(engine) == {"user_transfer_pending": 1}
        assert await rows(engine, "SELECT state, reason FROM parked") == [
            ("unverified", "not in the outbox of chain_watcher")
        ]


class TestInventory:
    @pytest.mark.fault("P3", "M5")
    async def test_two_swaps_never_reserve_the_same_money(self, engine: Engine) -> None:
        run = a_settler(engine)
        await run.deposits(funding(units=PAYOUT * 3))
        await run.requests(*(a_request(number) for number in range(1, 9)))

        await asyncio.gather(
            *(run.deposits(a_deposit_message(number=number)) for number in range(1, 9))
        )

        assert await statuses(engine) == {"ls_transfer_pending": 3, "failed": 5}
        assert await rows(
            engine,
            "SELECT held_base_units - owed_base_units FROM inventory WHERE network = :network",
            network=POLYGON,
        ) == [(0,)]
        assert await is_in_balance(engine)


class TestLedger:
    async def test_books_on_each_account_by_all_that_it_is(self, engine: Engine) -> None:
        """Accounts of the same kind and asset differ only by their owner."""
        unit_of_work = PostgresUnitOfWork(engine, consumer="settler")
        units = {account: 2**n for n, account in enumerate(ACCOUNTS)}
        there = Account(AccountKind.EQUITY, ETHEREUM, USDC[ETHEREUM])

        for name, times in (("one", -1), ("again", -1), ("back", 2)):
            postings = [Posting(account, times * n) for account, n in units.items()]
            postings.append(Posting(there, -times * sum(units.values())))
            entry = LedgerTransaction("test", name, None, None, None, tuple(postings))
            async with unit_of_work() as work:
                await work.flush([Changes(ledger=(entry,))], [])

            posted = await rows(engine, POSTED, name=name)
            assert posted == [
                (a.swap_id, a.deposit_id, a.address, a.app_id, times * n) for a, n in units.items()
            ]
            assert await is_in_balance(engine)
        assert await rows(engine, "SELECT count(*) FROM account") == [(len(ACCOUNTS) + 1,)]
        assert await rows(engine, "SELECT balance FROM account WHERE balance <> 0") == []

    async def test_refuses_a_transaction_that_does_not_balance(self, engine: Engine) -> None:
        await a_settler(engine).deposits(funding())

        with pytest.raises(RaiseException, match="unbalanced"):
            async with engine.begin() as connection:
                await _post(connection.execute, units=(1, -2))

    async def test_refuses_a_transaction_without_postings(self, engine: Engine) -> None:
        with pytest.raises(RaiseException, match="no postings"):
            async with engine.begin() as connection:
                await _post(connection.execute, units=())

    @pytest.mark.parametrize(
        "statement",
        ["UPDATE posting SET base_units = 5", "DELETE FROM ledger_transaction",
         "UPDATE swap_transition SET to_status = 'failed'"],
    )  # fmt: skip
    @pytest.mark.fault("M15")
    async def test_is_append_only(self, engine: Engine, statement: str) -> None:
        await a_settler(engine).paid_for()

        with pytest.raises(RaiseException, match="append only"):
            async with engine.begin() as connection:
                await connection.execute(sql(statement))

    async def test_refuses_postings_to_a_transaction_that_is_closed(self, engine: Engine) -> None:
        await a_settler(engine).deposits(funding())

        with pytest.raises(RaiseException, match="closed"):
            async with engine.begin() as connection:
                await connection.execute(
                    sql("INSERT INTO posting SELECT transaction_id, n + 9, account_id, base_units"
                         " FROM posting")
                )  # fmt: skip


async def _post(execute: object, units: Sequence[int]) -> None:
    assert callable(execute)
    one = {"id": uuid5(SOME, "one")}
    await execute(
        sql("INSERT INTO ledger_transaction (id, kind, dedupe_key, at)"
             " VALUES (:id, 'test', 'test', now())"),
        one,
    )  # fmt: skip
    for n, base_units in enumerate(units):
        await execute(
            sql("INSERT INTO posting SELECT :id, :n, id, :units FROM account ORDER BY id LIMIT 1"),
            {**one, "n": n, "units": base_units},
        )


class TestMovements:
    @pytest.mark.fault("W16")
    async def test_w16_one_movement_credits_one_swap(self, engine: Engine) -> None:
        """A receipt that a Depository log claims is never published, so there is one message."""
        run = a_settler(engine)
        await run.deposits(funding())
        await run.requests(a_request(1), a_request(2))

        await run.deposits(a_deposit_message(number=1))

        assert await statuses(engine) == {"ls_transfer_pending": 1, "user_transfer_pending": 1}
        assert await rows(
            engine,
            "SELECT sum(balance) FROM account WHERE (kind, network) = ('custody', :network)",
            network=ETHEREUM,
        ) == [(REQUESTED,)]

    async def test_quarantined_movement_does_not_change_its_swap(self, engine: Engine) -> None:
        run = a_settler(engine)
        await run.requests(a_request())

        await run.deposits(
            a_deposit_message("confirmed", token=UNKNOWN_TOKEN, quarantine_reason="unknown_token")
        )

        assert await rows(engine, "SELECT status, sequence FROM swap") == [
            ("user_transfer_pending", 1)
        ]
        assert await rows(engine, "SELECT state, is_booked FROM deposit") == [
            ("quarantined", False)
        ]
        assert await rows(engine, "SELECT n FROM posting") == []

    @pytest.mark.parametrize("wrong", [{"network": POLYGON}, {"token": UNKNOWN_TOKEN}])
    async def test_deposit_of_another_network_or_token_matches_no_swap(
        self, engine: Engine, wrong: dict[str, Any]
    ) -> None:
        run = a_settler(engine)
        await run.requests(a_request())

        await run.deposits(a_deposit_message("confirmed", **wrong))

        assert await rows(engine, "SELECT sequence FROM swap") == [(1,)]
        assert await rows(engine, "SELECT swap_id FROM deposit") == [(None,)]


class TestPayouts:
    # A reorg removed the deposit of a broadcast payment, which stays so until it is paid or dead.
    @pytest.mark.breaks_invariants("I-07")
    async def test_an_attempt_committed_while_the_batch_waited_for_the_intent_is_seen(
        self, engine: Engine
    ) -> None:
        run = a_settler(engine)
        await run.paid_for()
        async with engine.begin() as lane:
            [intent] = await lane.execute("SELECT id FROM intent FOR UPDATE")
            reverting = asyncio.create_task(run.deposits(a_deposit_message("reverted")))
            await until_blocked(engine)
            slot = {"network": POLYGON, "signer": SIGNER, "nonce": 1, "id": intent.id}
            for statement in ASSIGN:
                names = {name: slot[name] for name in slot if f":{name}" in statement}
                await lane.execute(sql(statement), names)
            await lane.execute(
                sql("INSERT INTO attempt (transaction_hash, network, signer, nonce, raw,"
                     " max_fee_per_gas, max_priority_fee_per_gas, signed_at)"
                     " VALUES (:hash, :network, :signer, 1, 'x', 1, 1, now())"),
                {"hash": HASH, "network": POLYGON, "signer": SIGNER},
            )  # fmt: skip
        await reverting

        assert await rows(engine, "SELECT state FROM intent") == [("assigned",)]
        assert await statuses(engine) == {"ls_transfer_pending": 1}

    async def test_a_payment_we_did_not_order_stops_the_networks_signers(
        self, engine: Engine
    ) -> None:
        work = PostgresUnitOfWork(engine, consumer="settler")
        run = Settler(work)
        await run.paid_for()
        await sign(work)
        async with engine.begin() as connection:
            await connection.execute(
                sql("INSERT INTO signer VALUES (:network, :address, 1)"),
                {"network": POLYGON, "address": SIGNER},
            )

        await run.payouts(a_payout_message("confirmed", base_units=str(PAYOUT - 1)))

        [(reason,)] = await rows(engine, "SELECT halted_reason FROM signer")
        assert HASH in str(reason)
        assert await statuses(engine) == {"ls_transfer_pending": 1}
        assert await rows(engine, "SELECT balance FROM account WHERE kind = 'payout_suspense'") == [
            (PAYOUT - 1,)
        ]
        assert await is_in_balance(engine)

    async def test_the_payment_of_another_swap_completes_only_that_one(
        self, engine: Engine
    ) -> None:
        work = PostgresUnitOfWork(engine, consumer="settler")
        run = Settler(work)
        await run.paid_for(1, 2)
        await sign(work, 1)

        await run.payouts(a_payout_message("confirmed", swap=a_swap(1)))

        assert await rows(engine, "SELECT status FROM swap WHERE id = :id", id=swap_id(1)) == [
            ("completed",)
        ]
        assert await statuses(engine) == {"completed": 1, "ls_transfer_pending": 1}
