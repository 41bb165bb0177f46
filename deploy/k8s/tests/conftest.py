"""Makes the jobs beside this folder importable, and renders every overlay once."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from deploy.k8s.tests.rendered_overlay import OVERLAYS, RenderedOverlay

sys.path.insert(0, str(Path(__file__).parents[1]))


@pytest.fixture(params=OVERLAYS)
def overlay(request: pytest.FixtureRequest) -> RenderedOverlay:
    return RenderedOverlay.of(request.param)


@pytest.fixture(params=[name for name in OVERLAYS if name != "dev"])
def operator_overlay(request: pytest.FixtureRequest) -> RenderedOverlay:
    """Return an overlay that uses operators: Strimzi, CloudNativePG, KEDA."""
    return RenderedOverlay.of(request.param)


@pytest.fixture
def external() -> RenderedOverlay:
    """Return the services with an external PostgreSQL; no overlay of the repository has one."""
    return RenderedOverlay.of("../tests/external")
