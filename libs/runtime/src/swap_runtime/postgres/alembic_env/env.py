"""Runs the revisions of one service, as its own role, in its own schema."""

from __future__ import annotations

from typing import Any

import structlog
from alembic import context
from sqlalchemy import Connection, create_engine, text
from sqlalchemy.pool import NullPool

# Long enough for a schema change, short enough not to hold up the services that run beside it.
TIMEOUTS = "-c lock_timeout=5s -c statement_timeout=60s -c timezone=UTC"


log = structlog.get_logger()


def _print_step(ctx: Any, step: Any, heads: Any, run_args: Any) -> None:
    log.info("migrated", revision=step.up_revision_id, about=step.up_revision.doc)


def _wait_for_others(connection: Connection) -> None:
    """Let one replica migrate a schema at a time; the lock goes with the connection."""
    connection.execute(text("SET lock_timeout = 0; SET statement_timeout = '10min'"))
    connection.execute(text("SELECT pg_advisory_lock(hashtextextended(current_schema(), 1))"))
    connection.execute(text("RESET lock_timeout; RESET statement_timeout"))
    connection.commit()


def _run() -> None:
    engine = create_engine(
        context.config.attributes["url"],
        poolclass=NullPool,
        connect_args={"options": TIMEOUTS, "application_name": "migrate"},
    )
    with engine.connect() as connection:
        _wait_for_others(connection)
        context.configure(
            connection=connection, on_version_apply=_print_step, transaction_per_migration=True
        )
        with context.begin_transaction():
            context.run_migrations()


_run()
