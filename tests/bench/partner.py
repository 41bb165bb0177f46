"""The partner of the benchmark, with a webhook endpoint at the benchmark's receiver."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from swap_stack.partners import Operator


@dataclass(frozen=True, slots=True)
class BenchPartner:
    api_key: str
    secret: str  # of its webhooks


def open_partner(stack: Mapping[str, Any], webhook_url: str) -> BenchPartner:
    """Create a partner without limits and a webhook endpoint, as an operator does."""
    run = Operator.of_stack(stack).run
    partner = run("partner", "create", "bench")
    app = run("app", "create", "--partner", partner["id"], "--name", "bench", "--limits-lifted")
    key = run("key", "create", "--app", app["id"])
    endpoint = run("webhook", "add", "--app", app["id"], "--url", webhook_url)
    return BenchPartner(key["key"], endpoint["secret"])
