"""The destination and the source of a recovery, each with a signer that has gas."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Final

from services.settler.tests.integration.lane_fixtures import opened_world
from services.settler.tests.lane_harness import DESTINATION, SIGNER, SOURCE, World, a_recipient
from services.settler.tests.recovery_harness import watching
from swap_domain.catalogue import NATIVE

SIGNER_HERE: Final = a_recipient(50)


@asynccontextmanager
async def opened_destination(migrate_schema: Callable[[str], str]) -> AsyncIterator[World]:
    """Yield the destination on an empty database."""
    async with opened_world(migrate_schema("settler"), DESTINATION) as world:
        world.chain.give(SIGNER, NATIVE, 10**18)
        await world.close_slots()  # the ledger has its gas money
        yield world
        await watching(world)()  # the next test needs a registered database


@asynccontextmanager
async def opened_source(migrate_schema: Callable[[str], str]) -> AsyncIterator[World]:
    """Yield the source, with the same database as the destination."""
    async with opened_world(
        migrate_schema("settler"), SOURCE, beside_another=True, signer=SIGNER_HERE
    ) as source_world:
        source_world.chain.give(SIGNER_HERE, NATIVE, 10**18)
        await source_world.close_slots()
        yield source_world
