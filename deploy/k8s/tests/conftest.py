"""Makes the jobs beside this folder importable, and renders every overlay once."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from deploy.k8s.tests.rendered import OVERLAYS, Rendered

sys.path.insert(0, str(Path(__file__).parents[1]))


@pytest.fixture(params=OVERLAYS)
def overlay(request: pytest.FixtureRequest) -> Rendered:
    return Rendered.of(request.param)


@pytest.fixture(params=[name for name in OVERLAYS if name != "dev"])
def operated(request: pytest.FixtureRequest) -> Rendered:
    """Return an overlay that uses operators: Strimzi, CloudNativePG, KEDA."""
    return Rendered.of(request.param)


@pytest.fixture
def external() -> Rendered:
    """Return the services with an external PostgreSQL; no overlay of the repository has one."""
    return Rendered.of("../tests/external")
