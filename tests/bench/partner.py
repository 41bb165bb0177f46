"""The partner of the benchmark, with a webhook endpoint at the benchmark's receiver."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from swap_stack.partners import Operator
from swap_stack.services import ServicePorts


@dataclass(frozen=True, slots=True)
class BenchPartner:
    api_key: str
    secret: str  # of its webhooks


def open_partner(stack: Mapping[str, Any], webhook_url: str) -> BenchPartner:
    """Create a partner without limits and a webhook endpoint, as an operator does."""
    ports = {
        service["name"]: urlsplit(service["internal_url"]).port or 0
        for service in stack["services"]
    }
    run = Operator(ServicePorts(ports, {}), stack["operator"]["token"]).run
    partner = run("partner", "create", "bench")
    app = run("app", "create", "--partner", partner["id"], "--name", "bench", "--limits-lifted")
    key = run("key", "create", "--app", app["id"])
    endpoint = run("webhook", "add", "--app", app["id"], "--url", webhook_url)
    return BenchPartner(key["key"], endpoint["secret"])
