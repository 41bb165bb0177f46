"""A backup of the stack's database, and its restore over what is there."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

import psycopg

from swap_stack.database import DATABASE
from swap_stack.parts.postgres import program
from swap_stack.programs import run_to_end


async def dump(superuser_url: str, file: Path) -> None:
    """Write the database to a file.

    :raises ProgramFailed: with what pg_dump said.
    """
    command = [program("pg_dump"), "--format=custom", f"--file={file}", DATABASE]
    await run_to_end(command, env=_environment(superuser_url))


async def restore(superuser_url: str, file: Path) -> None:
    """Replace the database by what the file has. No service may be running.

    :raises ProgramFailed: with what pg_restore said.
    """
    server = superuser_url.rpartition("/")[0] + "/postgres"
    async with await psycopg.AsyncConnection.connect(server, autocommit=True) as admin:
        await admin.execute(f"DROP DATABASE {DATABASE} WITH (FORCE)".encode())
        await admin.execute(f"CREATE DATABASE {DATABASE}".encode())
    command = [program("pg_restore"), "--exit-on-error", f"--dbname={DATABASE}", str(file)]
    await run_to_end(command, env=_environment(superuser_url))


def _environment(superuser_url: str) -> Mapping[str, str]:
    """Return the variables that connect PostgreSQL's programs; every user can read arguments."""
    parts = urlsplit(superuser_url)
    return {
        "PGHOST": parts.hostname or "",
        "PGPORT": str(parts.port),
        "PGUSER": parts.username or "",
        "PGPASSWORD": parts.password or "",
    }
