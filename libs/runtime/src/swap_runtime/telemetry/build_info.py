"""Which build a process runs: in its metrics and at the beginning of its log."""

from __future__ import annotations

from typing import Final

import structlog

from swap_runtime.telemetry.metrics import gauge

BUILD_INFO: Final = gauge(
    "build_info", "Always 1; the labels are the build that runs", ["version", "revision"]
)
log = structlog.get_logger()


def report_build(version: str, revision: str) -> None:
    """Show which build this process runs."""
    BUILD_INFO.labels(version, revision).set(1)
    log.info("starting", version=version, revision=revision)
