"""Makes the api's harness importable, and its server of counts a fixture."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "services/api/tests"))

from services.api.tests.integration.conftest import redis_url, valkey

__all__ = ["redis_url", "valkey"]  # fixtures
