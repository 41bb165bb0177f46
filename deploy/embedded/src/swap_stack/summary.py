"""What a stack that runs looks like from outside."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from swap_stack.report import Report


def show(stack: Mapping[str, Any], report: Report) -> None:
    """Print what runs, where to go and which key to send."""
    for service in stack["services"]:
        report.say(service["name"], f"pid {service['pid']}, {service['internal_url']}")
    report.say("ready", f"{stack['gateway']['url']} (everything else: var/stack.json)")
    for partner in stack["partners"]:
        report.say(f"partner {partner['name']}", f"X-SVC-APIKEY: {partner['api_key']}")
