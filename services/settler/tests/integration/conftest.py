from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator

import pytest
from pydantic import SecretStr

from services.settler.tests.integration.lane_fixtures import opened_world
from services.settler.tests.integration.on_anvil import anvil_world, node
from services.settler.tests.lane_harness import DESTINATION, World
from swap_runtime.postgres.database import Engine, create_engine
from swap_runtime.postgres.sql import sql
from tests.plugins.invariants import OF_THE_SETTLER, Audit
from tests.plugins.postgres import Database, emptying

__all__ = ["anvil_world", "node"]  # fixtures

TABLES = """
swap, deposit, intent, account, ledger_transaction, posting, earned_partner_fee, inventory,
ledger_cursor, balance_snapshot, signer, nonce_slot, attempt, receipt, signer_transaction, inbox,
outbox, watermark, parked, lease, payout_stop, swept, sweep_due, withdrawal, outflow_cap,
blocked_address, network_silence, source_stop, network_closure, rescued_token, recovery
"""
WATCHED_TABLES = "watch_cursor, past_halt, deposit_target, outbox"


@pytest.fixture(scope="module")
def audit() -> Audit:
    return Audit(OF_THE_SETTLER)


@pytest.fixture(scope="module")
def migrate_schema(
    audit: Audit, database: Database, migrate_schema: Callable[[str], str]
) -> Callable[[str], str]:
    """Migrate every service: the invariants ask through views of them all."""
    audit.begin(database)
    return migrate_schema


@pytest.fixture(autouse=True)
def _no_invariant_is_broken(audit: Audit, request: pytest.FixtureRequest) -> Iterator[None]:
    yield
    if request.node.get_closest_marker("connected") is None:
        return
    excused = request.node.get_closest_marker("breaks_invariants")
    audit.check(excused=excused.args if excused else ())


@pytest.fixture
async def watcher(migrate_schema: Callable[[str], str]) -> AsyncIterator[Engine]:
    """The chain-watcher's database, as the chain-watcher sees it."""
    engine = create_engine(SecretStr(migrate_schema("chain-watcher")), application_name="test")
    async with engine.begin() as connection:
        await connection.execute(sql(emptying(WATCHED_TABLES)))
    yield engine
    await engine.dispose()


@pytest.fixture
async def engine(watcher: Engine, migrate_schema: Callable[[str], str]) -> AsyncIterator[Engine]:
    engine = create_engine(
        SecretStr(migrate_schema("settler")), application_name="test", pool_size=10
    )
    async with engine.begin() as connection:
        await connection.execute(sql(emptying(TABLES)))
    yield engine
    await engine.dispose()


@pytest.fixture
async def world(migrate_schema: Callable[[str], str]) -> AsyncIterator[World]:
    """Return the world of the lane that pays out."""
    async with opened_world(migrate_schema("settler"), DESTINATION) as world:
        yield world
