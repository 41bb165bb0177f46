"""Text that fits the terminal: later lines are indented as far as the first."""

from __future__ import annotations

from textwrap import wrap


def wrap_text(text: str, *, indent: int, width: int) -> str:
    """Return the text broken at spaces; a word that is too long alone stays whole, to be copied.

    :param indent: columns before the text on its first line, which the caller prints.
    """
    lines = wrap(text, max(width - indent, 20), break_long_words=False, break_on_hyphens=False)
    return ("\n" + " " * indent).join(lines)
