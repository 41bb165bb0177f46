"""The settler's messages about swaps in the read model: the last sequence wins."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from api_factories import ALICE, AT, BOB, HASH, a_body, a_message, a_swap, an_input
from api_harness import App, Harness

from swap_contracts.swaps import SwapChanged
from swap_runtime.postgres.sql import sql

pytestmark = pytest.mark.connected


async def shown(api: Harness, app: App, swap: SwapChanged) -> dict[str, object]:
    answer = await api.get(app, f"/swaps/{swap.swap_id}")
    found: dict[str, object] = answer.json()["data"]["swap"]
    return found


class TestSwapChanged:
    async def test_takes_over_from_row_zero(self, api: Harness) -> None:
        app = await api.an_app()
        created = (await api.create(app, a_body())).json()["data"]["swap"]
        swap = a_swap(
            app_id=app.id,
            swap_id=created["id"],
            sequence_number=created["metadata"]["sequence_number"],
            status="ls_transfer_pending",
        )

        await api.parts.swaps.store_swaps([a_message(swap)])

        assert (await shown(api, app, swap))["status"] == "ls_transfer_pending"

    async def test_a_batch_waits_twice(self, api: Harness, round_trips: list[int]) -> None:
        app = await api.an_app()
        messages = [a_message(a_swap(app_id=app.id, transactions=(an_input(),))) for _ in range(5)]
        round_trips.clear()

        await api.parts.swaps.store_swaps(messages)

        assert round_trips == [2, 3]  # BEGIN with the marks; swaps and hashes with COMMIT

    @pytest.mark.parametrize("together", [True, False])
    @pytest.mark.fault("K16")
    async def test_out_of_order_leaves_the_newest(self, api: Harness, together: bool) -> None:
        app = await api.an_app()
        first = a_swap(app_id=app.id, sequence=1)
        fourth = first.model_copy(update={"sequence": 4, "status": "ls_transfer_pending"})
        fifth = first.model_copy(update={"sequence": 5, "status": "completed", "closed_at": AT})
        order = [a_message(swap) for swap in (fifth, fourth, first)]

        if together:
            await api.parts.swaps.store_swaps(order)
        else:
            for message in order:
                await api.parts.swaps.store_swaps([message])

        assert (await shown(api, app, first))["status"] == "completed"

    async def test_moves_the_deadline_of_row_zero(self, api: Harness) -> None:
        app = await api.an_app()
        created = (await api.create(app, a_body())).json()["data"]["swap"]
        later = datetime(2030, 1, 2, 3, 4, 5, tzinfo=UTC)
        swap = a_swap(
            app_id=app.id,
            swap_id=created["id"],
            sequence_number=created["metadata"]["sequence_number"],
            expires_at=later,
        )

        await api.parts.swaps.store_swaps([a_message(swap)])

        answer = await api.get(app, f"/swaps/{swap.swap_id}/deposit_actions")
        (step,) = answer.json()["data"]
        assert datetime.fromisoformat(step["expires_at"]) == later

    async def test_repeated_has_no_effect(self, api: Harness) -> None:
        app = await api.an_app()
        message = a_message(a_swap(app_id=app.id, transactions=(an_input(),)))

        for _ in range(3):
            await api.parts.swaps.store_swaps([message])

        assert len(await api.rows("SELECT * FROM inbox")) == 1
        assert len(await api.rows("SELECT * FROM transaction_hash")) == 1

    async def test_two_hundred_cost_as_much_as_one(self, api: Harness) -> None:
        app = await api.an_app()
        swaps = [a_swap(app_id=app.id, transactions=(an_input(),)) for _ in range(100)]
        newer = [swap.model_copy(update={"sequence": 2}) for swap in swaps]

        with api.statements() as seen:
            await api.parts.swaps.store_swaps([a_message(swap) for swap in (*swaps, *newer)])

        assert len(seen.texts) == 3
        assert seen.commits == 1
        assert len(await api.rows("SELECT id FROM swap WHERE sequence = 2")) == 100
        assert len(await api.rows("SELECT 1 FROM inbox")) == 200


class TestConfirmations:
    async def test_follow_the_watched_head(self, api: Harness, database: object) -> None:
        app = await api.an_app()
        swap = a_swap(app_id=app.id, transactions=(an_input(block_number=7),))
        await api.parts.swaps.store_swaps([a_message(swap)])

        before = await shown(api, app, swap)
        await _watch(database, head=8)
        reading = api.endpoint_at("GET", f"/api/v2/swaps/{swap.swap_id}")
        heads = reading.handler.__self__._read_swap._heads  # type: ignore[attr-defined]
        heads._read_at = float("-inf")
        after = await shown(api, app, swap)

        assert before["transactions"][0]["confirmations"] == 0  # type: ignore[index]
        assert after["transactions"][0]["confirmations"] == 2  # type: ignore[index]

    async def test_are_read_once_for_many_reads(self, api: Harness) -> None:
        app = await api.an_app()
        swap = a_swap(app_id=app.id, transactions=(an_input(),))
        await api.parts.swaps.store_swaps([a_message(swap)])
        await shown(api, app, swap)

        with api.statements() as seen:
            for _ in range(3):
                await shown(api, app, swap)

        assert sum("progress" in statement for statement in seen.texts) <= 1
        assert sum("FROM swap" in statement for statement in seen.texts) == 3


class TestByTransactionHash:
    async def test_finds_any_transaction_of_the_swap(self, api: Harness) -> None:
        app = await api.an_app()
        output = an_input(type="output", transaction_hash="0x" + "cd" * 32)
        swap = a_swap(app_id=app.id, transactions=(an_input(), output))
        await api.parts.swaps.store_swaps([a_message(swap)])

        for name in (HASH, "0x" + "CD" * 32):
            answer = await api.get(app, f"/swaps/by_transaction_hash/{name}")
            assert answer.json()["data"]["swap"]["id"] == str(swap.swap_id)

    async def test_of_a_batch_gives_the_newest_swap(self, api: Harness) -> None:
        app = await api.an_app()
        older = a_swap(app_id=app.id, transactions=(an_input(),))
        newer = a_swap(
            app_id=app.id, transactions=(an_input(),), created_at=AT + timedelta(seconds=1)
        )
        await api.parts.swaps.store_swaps([a_message(newer), a_message(older)])

        answer = await api.get(app, f"/swaps/by_transaction_hash/{HASH}")

        assert answer.json()["data"]["swap"]["id"] == str(newer.swap_id)

    @pytest.mark.parametrize("name", ["%00", "%F0%9F%98%80", "x" * 200, "0x' OR 1=1"])
    async def test_of_an_invalid_hash_is_not_found(self, api: Harness, name: str) -> None:
        app = await api.an_app()

        assert (await api.get(app, f"/swaps/by_transaction_hash/{name}")).status_code == 404


class TestList:
    async def test_is_newest_first_in_pages(self, api: Harness) -> None:
        app = await api.an_app()
        swaps = [a_swap(app_id=app.id, created_at=AT + timedelta(seconds=n)) for n in range(5)]
        await api.parts.swaps.store_swaps([a_message(swap) for swap in swaps])

        pages = [await api.get(app, f"/swaps?page={page}&page_size=2") for page in (1, 2, 3, 4)]

        ids = [[item["swap"]["id"] for item in page.json()["data"]] for page in pages]
        assert [swap_id for page in ids for swap_id in page] == [
            str(swap.swap_id) for swap in reversed(swaps)
        ]
        assert ids[3] == []
        assert {page.headers["x-total-count"] for page in pages} == {"5"}
        assert 'page=2>; rel="next"' in pages[0].headers["link"]
        assert "next" not in pages[2].headers["link"]
        item = pages[0].json()["data"][0]
        assert (item["deposit_actions"], item["next_action"]) == ([], None)

    async def test_is_filtered(self, api: Harness) -> None:
        app = await api.an_app()
        mine = a_swap(app_id=app.id, source_address=BOB, reference_id="mine")
        expired = a_swap(app_id=app.id, status="expired", created_at=AT + timedelta(hours=1))
        paying = a_swap(app_id=app.id, status="ls_transfer_pending", refund_address=BOB)
        await api.parts.swaps.store_swaps([a_message(swap) for swap in (mine, expired, paying)])

        async def ids(query: str) -> set[str]:
            answer = await api.get(app, f"/swaps?{query}")
            assert answer.status_code == 200, answer.text
            found = {item["swap"]["id"] for item in answer.json()["data"]}
            assert answer.headers["x-total-count"] == str(len(found))
            return found

        a, b, c = (str(swap.swap_id) for swap in (mine, expired, paying))
        assert await ids("") == {a, c}
        assert await ids("include_expired=true") == {a, b, c}
        assert await ids("statuses=Expired") == {b}
        assert await ids("statuses=PendingDeposit&statuses=ls_transfer_pending") == {a, c}
        assert await ids(f"address={BOB.lower()}") == {a, c}
        assert await ids(f"address={BOB.upper().replace('0X', '0x')}&address={ALICE}") == {a, c}
        assert await ids(f"address={HASH[:42]}") == set()
        assert await ids("reference_id=mine") == {a}
        assert await ids("networks=BASE_DEVNET") == {a, c}
        assert await ids("networks=31337") == {a, c}
        assert await ids("networks=BARE_DEVNET") == set()
        assert await ids("include_expired=true&created_after=2026-01-02T03:30:00Z") == {b}
        assert await ids("include_expired=true&created_after=2026-01-02T05:30:00+02:00") == {b}
        assert await ids("created_before=2026-01-02T03:04:05Z") == set()
        assert await ids("statuses=&unknown=1") == {a, c}

    @pytest.mark.parametrize(
        "query",
        ["page=0", "page=x", "page_size=0", "page_size=101", "page=99999999999999999999",
         "statuses=nonsense", "created_after=yesterday", "address=%00", "include_expired=maybe",
         "&".join(["address=0x1"] * 51), "&".join(f"x{n}=1" for n in range(300))],
    )  # fmt: skip
    async def test_refuses_nonsense(self, api: Harness, query: str) -> None:
        app = await api.an_app()

        answer = await api.get(app, f"/swaps?{query}")

        assert answer.json()["error"]["code"] == "VALIDATION_ERROR"

    async def test_internal_needs_addresses(self, api: Harness) -> None:
        app = await api.an_app()
        await api.parts.swaps.store_swaps([a_message(a_swap(app_id=app.id))])

        nothing = await api.get(app, "/swaps/internal")
        found = await api.get(app, f"/swaps/internal?addresses={ALICE}")
        bracketed = await api.get(app, f"/swaps/internal?addresses[]={ALICE}")

        assert nothing.json()["data"] == []
        assert nothing.headers["x-total-count"] == "0"
        assert len(found.json()["data"]) == 1
        assert bracketed.content == found.content

    async def test_never_scans_history(self, api: Harness) -> None:
        app = await api.an_app()
        async with api.service.engine.begin() as connection:
            await connection.execute(sql(LONG_HISTORY), {"app_id": app.id})
            await connection.execute("ANALYZE swap")

        api.client.event_hooks = {}  # the documents of that history are not valid
        with api.statements() as seen:
            await api.get(app, "/swaps")
            await api.get(app, f"/swaps?address={ALICE}")

        plans = [
            line
            for statement in seen.texts
            if "FROM swap" in statement
            for line in await api.plan(statement)
        ]
        assert plans
        assert not any("Seq Scan on swap" in line for line in plans)


LONG_HISTORY = """
INSERT INTO swap (id, app_id, sequence_number, sequence, status, is_unpaid, source_network,
  destination_network, destination_address, created_at, expires_at, document, step_status)
SELECT uuidv7(), CASE WHEN n % 50 = 0 THEN CAST(:app_id AS uuid) ELSE uuidv7() END, n, 1,
  'completed', false, 'A', 'B', 'address ' || n, now() - make_interval(secs => n), now(), 'x',
  'completed'
FROM generate_series(1, 20000) AS n
"""


async def _watch(database: object, *, head: int) -> None:
    import psycopg  # noqa: PLC0415

    url = database.superuser_url  # type: ignore[attr-defined]
    async with await psycopg.AsyncConnection.connect(url) as connection:
        await connection.execute(
            "INSERT INTO chain_watcher.watch_cursor (network, number, hash, parent_hash, time,"
            " finalized_number, start_number, checked_number)"
            " VALUES ('ETHEREUM_DEVNET', %s, '0x', '0x', now(), 0, 0, 0)",
            (head,),
        )
