"""Starts what a service is made of, watches it, and stops it in order."""

from __future__ import annotations

from collections.abc import Callable

from swap_runtime.service import Build, Service


def run_service(create: Callable[[], Service], build: Build) -> None:
    """Run one process until SIGTERM or SIGINT."""
