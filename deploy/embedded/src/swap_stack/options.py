"""What the user who starts a stack may choose, read from the environment."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

NO = ("", "0", "no", "false")


@dataclass(frozen=True, slots=True)
class Options:
    """`FRESH=1 BROKER=embedded CATALOGUE=my.yaml make up`, and more in the README."""

    fresh: bool = False
    broker: str = "auto"
    kafka_security: str = "none"
    catalogue: Path | None = None
    anvil_args: tuple[str, ...] = ()
    postgres_args: tuple[str, ...] = ()
    without: frozenset[str] = frozenset()  # services that run in a debugger instead

    @classmethod
    def from_environment(cls, environ: Mapping[str, str] = os.environ) -> Options:
        catalogue = environ.get("CATALOGUE")
        return cls(
            fresh=environ.get("FRESH", "").lower() not in NO,
            broker=environ.get("BROKER") or "auto",
            kafka_security=environ.get("KAFKA_SECURITY") or "none",
            catalogue=Path(catalogue).resolve() if catalogue else None,
            anvil_args=tuple(shlex.split(environ.get("ANVIL_ARGS", ""))),
            postgres_args=tuple(shlex.split(environ.get("POSTGRES_ARGS", ""))),
            without=frozenset(environ.get("WITHOUT", "").replace(",", " ").split()),
        )
