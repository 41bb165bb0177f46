"""A newly deployed Treasury has no record of its payments."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

import pytest

from services.settler.tests.integration.lane_fixtures import opened_world
from services.settler.tests.lane_harness import (
    DEPOSITORY,
    DESTINATION,
    SIGNER,
    TREASURY,
    World,
)
from swap_chains.errors import ChainMismatch, NodesDiffer
from swap_chains.fake import FakeChain, FakeReader
from swap_chains.ports import Call, CallSimulation
from swap_domain.catalogue import NATIVE
from swap_settler.paying.usecases.require_same_treasury import RequireSameTreasury

pytestmark = pytest.mark.connected


@pytest.fixture
async def world(migrate_schema: Callable[[str], str]) -> AsyncIterator[World]:
    async with opened_world(migrate_schema("settler"), DESTINATION) as world:
        world.chain.give(SIGNER, NATIVE, 10**18)
        yield world


class CountingReader(FakeReader):
    """Counts how often the Treasury was queried."""

    queries = 0

    async def simulate(self, calls: Sequence[Call], **place: Any) -> Sequence[CallSimulation]:
        self.queries += 1
        return await super().simulate(calls, **place)


class Differing(CountingReader):
    """Two providers; one denies what the other reports."""

    async def simulate(self, calls: Sequence[Call], **place: Any) -> Sequence[CallSimulation]:
        self.queries += 1
        raise NodesDiffer(self.network, 2)


async def queries_until_accepted(
    world: World, chain: FakeChain, *, proofs: CountingReader | None = None
) -> tuple[int, int]:
    """Require the same Treasury; return how often one node and two providers were queried for it.

    :param proofs: the reports on which two providers agree; by default those of one.
    :raises ChainMismatch: when it is refused.
    """
    reader, proofs = CountingReader(chain), proofs or CountingReader(chain)
    await RequireSameTreasury(chain=reader, proofs=proofs, store=world.store, treasury=TREASURY)()
    return reader.queries, proofs.queries


def deployed_anew() -> FakeChain:
    return FakeChain(DESTINATION, depository=DEPOSITORY, treasury=TREASURY, decimals={NATIVE: 18})


async def paid_finally(world: World, count: int) -> None:
    await world.confirmed_swaps(count)
    await world.send_everything()
    world.chain.mine(4)
    [attempt] = await world.rows("SELECT transaction_hash FROM attempt")
    await world.payout("confirmed", version=2, transaction_hash=attempt.transaction_hash)


async def test_treasury_is_accepted_while_the_ledger_has_no_payments(world: World) -> None:
    assert await queries_until_accepted(world, deployed_anew()) == (0, 0)


async def test_the_one_that_paid_is_used(world: World) -> None:
    await paid_finally(world, 1)

    assert await queries_until_accepted(world, world.chain) == (1, 0)


async def test_treasury_without_the_ledgers_payments_is_refused(world: World) -> None:
    await paid_finally(world, 1)

    with pytest.raises(ChainMismatch, match="deployed anew"):
        await queries_until_accepted(world, deployed_anew())


async def test_treasury_is_not_refused_by_one_node(world: World) -> None:
    await paid_finally(world, 1)
    proofs = CountingReader(world.chain)

    assert await queries_until_accepted(world, deployed_anew(), proofs=proofs) == (1, 1)


async def test_lane_starts_when_two_providers_differ_on_the_payments(world: World) -> None:
    await paid_finally(world, 1)
    proofs = Differing(world.chain)

    assert await queries_until_accepted(world, deployed_anew(), proofs=proofs) == (1, 1)


async def test_sample_has_the_oldest_and_the_newest_payments(world: World) -> None:
    """A replacement Treasury has the newest ones; a chain that lost recent blocks the oldest."""
    for number in range(1, 31):
        await world.confirmed_swaps(1, first=number)
        await world.send_everything()
        world.chain.mine(4)
        await world.close_slots()
    await world.rows("UPDATE intent SET state = 'confirmed' RETURNING 1")
    for number in range(31, 33):
        await world.confirmed_swaps(1, first=number)
        await world.send_everything()  # broadcast payments hide none of them
    rows = await world.rows(
        "SELECT paid_id FROM intent JOIN slot_intent ON intent_id = intent.id"
        " WHERE state = 'confirmed' ORDER BY nonce"
    )
    ids = [int(row.paid_id) for row in rows]
    assert len(ids) == 30

    sample = await world.store.paid_sample()

    assert {*ids[:6], *ids[-6:]} <= {*sample}
    assert len(sample) <= 30


async def test_sample_of_payments_has_only_intents_that_paid(world: World) -> None:
    """A replacement Treasury has paid, and then only swept for a long time."""
    for number in range(1, 31):
        await world.confirmed_swaps(1, first=number)
        await world.send_everything()
        world.chain.mine(4)
        await world.close_slots()
    rows = await world.rows(
        "SELECT id, paid_id FROM intent JOIN slot_intent ON intent_id = intent.id ORDER BY nonce"
    )
    paid = rows[8:-8]
    for row in paid:
        await world.rows(f"UPDATE intent SET state = 'confirmed' WHERE id = '{row.id}' RETURNING 1")
    ids = [int(row.paid_id) for row in paid]

    sample = await world.store.paid_sample()

    assert {*ids[:6], *ids[-6:]} <= {*sample}
