"""Origins in a form: one for each line."""

from __future__ import annotations


def origins_of(text: str) -> list[str]:
    """Return the origins of a form, one for each line; a slash at the end is left out."""
    lines = (line.strip().removesuffix("/") for line in text.splitlines())
    return list(dict.fromkeys(line for line in lines if line))
