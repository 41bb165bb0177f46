"""What a reader of the terminal can do next."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console

AFTER_DEMO = (
    ("make up", "start a stack, and print the link of its dashboard"),
    ('eval "$(make -s env)"', "set BASE_URL, API_KEY and the PATH in this shell"),
    ("make swap", "send one more swap, and list its messages by topic"),
    ("docs/quickstart.md", "create a swap yourself and receive its webhook"),
    ("docs/architecture.md", "read how a swap travels through the services"),
)
AFTER_UP = (
    ('eval "$(make -s env)"', "set BASE_URL, API_KEY and the PATH in this shell"),
    ("swapctl doctor", "check every part of the stack, in that shell"),
    ("make swap", "send one swap, and list its messages by topic"),
    ("docs/quickstart.md", "create a swap yourself and receive its webhook"),
    ("make down", "stop; the data stays"),
)


def show_next(console: Console, steps: Sequence[tuple[str, str]] = AFTER_DEMO) -> None:
    """Print one line per step: the command or page, and what it is for."""
    console.print("\n[bold]What next[/]")
    for command, purpose in steps:
        console.print(f"  {command:<24}[dim]{purpose}[/]", highlight=False)
