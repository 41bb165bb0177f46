"""The stack's database: roles and schemas, migrations, and what the watcher holds to be final."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import psycopg
from psycopg import sql

from swap_domain.catalogue import Network
from swap_stack.parts.postgres import Postgres, program
from swap_stack.programs import run_to_end
from swap_stack.services import SERVICES

DATABASE = "swap"
PSYCOPG = "postgresql+psycopg"
VIEWS = "deploy/postgres/invariants/views.sql"
# They are made anew once the tables are; until then no view may hold up a migration.
FORGET_VIEWS: Final = "DROP SCHEMA IF EXISTS invariant CASCADE;"
FINAL_BLOCKS: Final = """
SELECT b.network, b.number, b.hash
FROM chain_watcher.watch_cursor c
JOIN chain_watcher.chain_block b ON b.network = c.network AND b.number = c.finalized_number
WHERE b.state = 'canonical'
"""


def role_url(postgres: Postgres, role: str, password: str, *, scheme: str = "postgresql") -> str:
    return f"{scheme}://{role}:{password}@127.0.0.1:{postgres.port}/{DATABASE}"


def service_urls(postgres: Postgres, passwords: Mapping[str, str]) -> dict[str, str]:
    """Return each service's address, with the driver that services use."""
    return {name: role_url(postgres, name, passwords[name], scheme=PSYCOPG) for name in SERVICES}


async def make_roles(postgres: Postgres, root: Path, passwords: Mapping[str, str]) -> None:
    """Make the database, its roles and its schemas, or bring them up to date.

    :raises ProgramFailed: with what psql said.
    """
    async with await psycopg.AsyncConnection.connect(postgres.url(), autocommit=True) as admin:
        found = await admin.execute("SELECT FROM pg_database WHERE datname = %s", [DATABASE])
        if await found.fetchone() is None:
            name = sql.Identifier(DATABASE)
            await admin.execute(sql.SQL("CREATE DATABASE {}").format(name))
    # On standard input and not as arguments, which every user of the machine could read.
    lines = [f"\\set {role}_password {password}" for role, password in passwords.items()]
    lines += [f"\\i '{root / 'deploy/postgres/roles.sql'}'", FORGET_VIEWS]
    await run_to_end(
        [program("psql"), "-X", "-q", "-v", "ON_ERROR_STOP=1", "-f", "-"],
        env={**postgres.environment(), "PGDATABASE": DATABASE},
        text="\n".join(lines),
    )


async def migrate(root: Path, urls: Mapping[str, str]) -> None:
    """Bring every service's schema up to date.

    :raises ProgramFailed: with what the first failing migration said.
    """
    folders = await asyncio.to_thread(list_migrations, root)
    env = {f"SWAP_{name.upper()}__DATABASE_URL": url for name, url in urls.items()}
    await run_to_end([sys.executable, "-m", "swap_runtime.postgres.migrate", *folders], env=env)


def list_migrations(root: Path) -> list[str]:
    return sorted(str(path) for path in root.glob("services/*/migrations"))


async def show_to_auditor(superuser_url: str, root: Path, networks: Mapping[str, Network]) -> None:
    """Make the views that the invariants ask, with each network's policy."""
    policies = [(name, network.payout_confirmations) for name, network in networks.items()]
    views = await asyncio.to_thread((root / VIEWS).read_text)
    async with await psycopg.AsyncConnection.connect(superuser_url, autocommit=True) as admin:
        await admin.execute(views.encode())
        cursor = admin.cursor()
        await cursor.executemany("INSERT INTO invariant.network VALUES (%s, %s)", policies)


@dataclass(frozen=True, slots=True)
class FinalBlock:
    """The last block of a network that the chain-watcher stored as final."""

    network: str
    number: int
    hash: str


async def final_blocks(postgres: Postgres) -> tuple[FinalBlock, ...]:
    async with await psycopg.AsyncConnection.connect(postgres.url(DATABASE)) as connection:
        rows = await connection.execute(FINAL_BLOCKS)
        return tuple(FinalBlock(*row) for row in await rows.fetchall())
