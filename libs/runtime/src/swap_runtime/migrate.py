"""Brings a service's schema up to date.

    python -m swap_runtime.migrate services/settler/migrations

A migrations folder holds `versions/*.py` and nothing else. The service's name is the folder above
it; the address comes from that service's own variable (`SWAP_SETTLER__DATABASE_URL`).
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Final

from alembic import command
from alembic.config import Config

from swap_runtime.logging import configure_logging

ENVIRONMENT: Final = Path(__file__).parent / "alembic_env"


def migrate(migrations: Path, url: str, *, revision: str = "head") -> None:
    """Run what has not run yet; replicas that start together wait for one another.

    :raises Exception: as Alembic or Postgres does; nothing of a failed revision stays.
    """
    config = Config()
    config.set_main_option("script_location", str(ENVIRONMENT))
    config.set_main_option("version_locations", str(migrations.resolve() / "versions"))
    config.set_main_option("path_separator", "os")
    config.attributes["url"] = url
    command.upgrade(config, revision)


def main(arguments: list[str]) -> int:
    """Migrate each folder given."""
    configure_logging("migrate")
    if not arguments:
        sys.stderr.write("usage: python -m swap_runtime.migrate services/<name>/migrations…\n")
        return 2
    for argument in arguments:
        migrations = Path(argument).resolve()
        service = migrations.parent.name.replace("-", "_")
        url = os.environ[f"SWAP_{service.upper()}__DATABASE_URL"]
        migrate(migrations, url)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
