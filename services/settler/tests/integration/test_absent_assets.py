"""Swaps of networks and tokens that have left the catalogue, on a real PostgreSQL."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from services.settler.tests.factories import (
    ETHEREUM,
    HOUR,
    NOON,
    PAYOUT,
    POLYGON,
    RECIPIENT,
    TREASURY,
    USDC,
    a_catalogue,
    a_catalogue_document,
    a_deposit_message,
    a_payout_message,
    a_request,
    swap_id,
)
from services.settler.tests.integration.lanes import sign
from services.settler.tests.settler_harness import Settler
from swap_contracts.swaps import SwapChanged
from swap_contracts.topics import SWAP_CHANGED
from swap_domain.catalogue import Catalogue
from swap_domain.catalogue_document import catalogue_from
from swap_runtime.postgres.assets_in_use import AssetsAbsent, require_assets_in_use
from swap_runtime.postgres.database import Engine
from swap_runtime.postgres.sql import sql
from swap_settler.model.store.unit_of_work import PostgresUnitOfWork

pytestmark = pytest.mark.connected
BALANCES = """
SELECT kind, CAST(balance AS bigint) AS balance FROM account
WHERE network = :network AND token = :token AND balance <> 0 ORDER BY kind
"""


def without(network: str, token: str | None = None) -> Catalogue:
    document = a_catalogue_document()
    networks: list[dict[str, Any]] = document["networks"]
    left = next(one for one in networks if one["name"] == network)
    if token is None:
        networks.remove(left)
    else:
        left["tokens"] = [one for one in left["tokens"] if one["contract"] != token]
    return catalogue_from(document, to_address=str)


def a_settler(engine: Engine, catalogue: Catalogue | None = None) -> Settler:
    work = PostgresUnitOfWork(engine, consumer="settler")
    return Settler(work, now=NOON + HOUR, catalogue=catalogue)


async def newest(engine: Engine) -> SwapChanged:
    """Return the swap as the last message has it."""
    query = "SELECT payload FROM outbox WHERE topic = :topic ORDER BY id DESC LIMIT 1"
    async with engine.connect() as connection:
        payload = await connection.scalar(sql(query), {"topic": SWAP_CHANGED.name})
    return SWAP_CHANGED.envelope.model_validate_json(payload).body


async def balances(engine: Engine, network: str, token: str) -> dict[str, int]:
    async with engine.connect() as connection:
        rows = await connection.execute(sql(BALANCES), {"network": network, "token": token})
        return {row.kind: row.balance for row in rows}


async def test_a_payment_under_way_is_final_and_booked(engine: Engine) -> None:
    await a_settler(engine).paid_for()
    before = await balances(engine, POLYGON, USDC[POLYGON])
    await sign(PostgresUnitOfWork(engine, consumer="settler"))

    await a_settler(engine, without(POLYGON, USDC[POLYGON])).payouts(a_payout_message())

    swap = await newest(engine)
    paid = swap.transactions[-1]
    assert (swap.swap_id, swap.status) == (swap_id(7), "completed")
    assert (paid.type, paid.to_address, paid.base_units) == ("output", RECIPIENT, str(PAYOUT))
    assert (paid.asset, paid.from_address) == (swap.destination, TREASURY[POLYGON])
    after = await balances(engine, POLYGON, USDC[POLYGON])
    assert "in_flight" in before
    assert "in_flight" not in after
    assert after["custody"] == before["custody"] - PAYOUT


async def test_later_deposit_is_returned_while_the_destination_is_absent(engine: Engine) -> None:
    await a_settler(engine).paid_for()
    await sign(PostgresUnitOfWork(engine, consumer="settler"))
    await a_settler(engine).payouts(a_payout_message())
    more = a_deposit_message(nth=1, transaction_hash="0x" + "77" * 32)

    await a_settler(engine, without(POLYGON)).deposits(more)

    swap = await newest(engine)
    assert [one.type for one in swap.transactions] == ["input", "input", "output"]
    paid = swap.transactions[-1]
    assert (paid.asset, paid.status) == (swap.destination, "completed")
    assert (paid.from_address, paid.confirmations_required) == (None, 1)


async def test_unordered_payment_is_booked_only_in_listed_tokens(
    engine: Engine,
) -> None:
    other = "0x" + "ee" * 20
    await a_settler(engine).paid_for()
    await sign(PostgresUnitOfWork(engine, consumer="settler"))

    await a_settler(engine).payouts(a_payout_message(token=other))

    assert await balances(engine, POLYGON, other) == {}


class TestStart:
    """A service starts only with a catalogue that names what is open."""

    async def test_refuses_a_catalogue_without_the_assets_of_an_open_swap(
        self, engine: Engine
    ) -> None:
        await a_settler(engine).requests(a_request())

        for catalogue, absent in (
            (without(ETHEREUM, USDC[ETHEREUM]), f"{ETHEREUM}/{USDC[ETHEREUM]}"),
            (without(POLYGON, USDC[POLYGON]), f"{POLYGON}/{USDC[POLYGON]}"),
            (without(POLYGON), f"{POLYGON}/{USDC[POLYGON]}"),
        ):
            with pytest.raises(AssetsAbsent, match=f"does not name: {absent}. Put it back"):
                await require_assets_in_use(engine, catalogue)
        await require_assets_in_use(engine, a_catalogue())

    async def test_refuses_it_while_a_payment_is_unfinished(self, engine: Engine) -> None:
        await a_settler(engine).paid_for()
        await sign(PostgresUnitOfWork(engine, consumer="settler"))
        await a_settler(engine).payouts(a_payout_message("seen"))

        with pytest.raises(AssetsAbsent):
            await require_assets_in_use(engine, without(POLYGON))

    async def test_accepts_it_when_nothing_of_the_asset_is_open(self, engine: Engine) -> None:
        await a_settler(engine).paid_for()
        await sign(PostgresUnitOfWork(engine, consumer="settler"))
        absent = without(POLYGON, USDC[POLYGON])
        with pytest.raises(AssetsAbsent):
            await require_assets_in_use(engine, absent)

        await a_settler(engine).payouts(a_payout_message())

        await require_assets_in_use(engine, absent)
        async with engine.connect() as connection:
            assert list(await connection.execute(sql("SELECT * FROM asset_in_use"))) == []

    async def test_names_the_asset_of_a_payment_whose_swap_has_ended(self, engine: Engine) -> None:
        await a_settler(engine).paid_for()
        async with engine.begin() as connection:
            await connection.execute(sql("UPDATE swap SET status = 'failed'"))
            [(network, token)] = await connection.execute(sql("SELECT * FROM asset_in_use"))
            await connection.execute(sql("UPDATE swap SET status = 'ls_transfer_pending'"))

        assert (network, token) == (POLYGON, USDC[POLYGON])

    async def test_requires_only_the_network_for_payments_of_operators(
        self, engine: Engine
    ) -> None:
        await a_settler(engine).paid_for()
        async with engine.begin() as connection:
            await connection.execute(sql("UPDATE swap SET status = 'failed'"))
            await connection.execute(sql("UPDATE intent SET kind = 'claim'"))

        await require_assets_in_use(engine, without(POLYGON, USDC[POLYGON]))
        with pytest.raises(AssetsAbsent, match=f"does not name: {POLYGON}. Put it back"):
            await require_assets_in_use(engine, without(POLYGON))

        async with engine.begin() as connection:
            await connection.execute(sql("UPDATE intent SET kind = 'output'"))
            await connection.execute(sql("UPDATE swap SET status = 'ls_transfer_pending'"))

    async def test_names_the_asset_of_a_refund_that_waits_after_its_swap_ended(
        self, engine: Engine
    ) -> None:
        await a_settler(engine).paid_for()
        await sign(PostgresUnitOfWork(engine, consumer="settler"))
        await a_settler(engine).payouts(a_payout_message())
        due = "INSERT INTO refund_due (network, swap_id) SELECT source_network, id FROM swap"
        async with engine.begin() as connection:
            await connection.execute(sql(due))

        with pytest.raises(AssetsAbsent, match=f"does not name: {ETHEREUM}/{USDC[ETHEREUM]}."):
            await require_assets_in_use(engine, without(ETHEREUM, USDC[ETHEREUM]))

        async with engine.begin() as connection:
            await connection.execute(sql("DELETE FROM refund_due"))

    @pytest.mark.parametrize("role", ["api", "chain_watcher", "auditor"])
    def test_is_read_by_services_that_start_and_by_the_auditor(
        self, migrate_schema: Callable[[str], str], role: str
    ) -> None:
        url = migrate_schema("settler").replace("settler:", f"{role}:").replace("+psycopg", "")

        with psycopg.connect(url) as connection:
            read = connection.execute("SELECT * FROM settler.asset_in_use")
            assert [column.name for column in read.description or ()] == ["network", "token"]

    async def test_reads_no_history(self, engine: Engine) -> None:
        async with engine.begin() as connection:
            await connection.execute(sql("SET LOCAL enable_seqscan = off"))
            plan = await connection.scalars(sql("EXPLAIN SELECT * FROM asset_in_use"))
        shown = "\n".join(plan)

        assert "Seq Scan" not in shown
        for index in ("swap_expiring", "swap_open", "intent_unpaid"):
            assert index in shown
