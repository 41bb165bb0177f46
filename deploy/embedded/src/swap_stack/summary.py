"""What a stack that runs looks like from outside."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from swap_stack.report import Report


def show(stack: Mapping[str, Any], report: Report) -> None:
    """Print where to go and which key to send."""
    report.say("ready", f"{stack['gateway']['url']} (everything else: var/stack.json)")
    for partner in stack["partners"]:
        report.say(f"partner {partner['name']}", f"X-SVC-APIKEY: {partner['api_key']}")
