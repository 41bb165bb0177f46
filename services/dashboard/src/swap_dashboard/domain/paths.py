"""Where a browser may be sent after a form."""

from __future__ import annotations

from typing import Final
from urllib.parse import urlsplit

HOME: Final = "/"


def own_path(text: str) -> str:
    """Return the path if it leads to this site, home if it leads anywhere else.

    Browsers read a backslash as a slash, and leave out control characters.
    """
    parts = urlsplit(text)
    is_own = text.startswith("/") and not text.startswith("//") and not parts.netloc
    return text if is_own and text.isprintable() and "\\" not in text else HOME
