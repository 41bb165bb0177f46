"""What a running stack looks like from outside."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from swap_stack.next_steps import AFTER_UP, show_next
from swap_stack.report import Report


def show(stack: Mapping[str, Any], report: Report, *, link: str | None = None) -> None:
    """Print what runs, the keys to send, where to go and what to do next.

    :param link: signs a browser in to the dashboard, once.
    """
    for service in stack["services"]:
        report.print_step(
            service["name"], f"pid {service['pid']}, internal port {service['internal_url']}"
        )
    for partner in stack["partners"]:
        report.print_step(f"partner {partner['name']}", f"X-SVC-APIKEY: {partner['api_key']}")
    gateway = stack["gateway"]["url"]
    report.print_step("ready", f"{gateway} (everything else: var/stack.json)")
    report.print_step("reference", f"{gateway}/docs")
    if link is not None:
        report.print_step(
            "dashboard", f"{stack['dashboard']['url']} as {stack['dashboard']['email']}"
        )
        report.console.print(f"  sign in, once: {link}", highlight=False, soft_wrap=True)
    if any(service["name"] == "console" for service in stack["services"]):
        words = "for operators; their tokens: `operators` in var/stack.json"
        report.print_step("console", f"{stack['console']['url']} ({words})")
    show_next(report.console, AFTER_UP)
