"""Names of browsers and systems for lists of sessions, from the header `User-Agent`."""

from __future__ import annotations

from typing import Final

UNKNOWN: Final = "Unknown browser"
SHOWN_MAX: Final = 40  # characters of a program that is not in the table
# The first mark in the text decides: Edge and Opera also name Chrome, and Chrome also Safari.
BROWSERS: Final = (
    ("Edg/", "Edge"),
    ("EdgA/", "Edge"),
    ("EdgiOS/", "Edge"),
    ("OPR/", "Opera"),
    ("SamsungBrowser/", "Samsung Internet"),
    ("Firefox/", "Firefox"),
    ("FxiOS/", "Firefox"),
    ("HeadlessChrome/", "Chromium"),
    ("Chromium/", "Chromium"),
    ("CriOS/", "Chrome"),
    ("Chrome/", "Chrome"),
    ("Safari/", "Safari"),
)
# Android also names Linux, and an iPhone also "Mac OS X".
SYSTEMS: Final = (
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Android", "Android"),
    ("Windows", "Windows"),
    ("CrOS", "ChromeOS"),
    ("Mac OS X", "macOS"),
    ("Linux", "Linux"),
)


def browser_name(user_agent: str) -> str:
    """Return such as "Chrome on macOS"; the begin of the text where it names no known browser."""
    browser = _first(BROWSERS, user_agent)
    if browser is None:
        return user_agent[:SHOWN_MAX].strip() or UNKNOWN
    system = _first(SYSTEMS, user_agent)
    return browser if system is None else f"{browser} on {system}"


def _first(names: tuple[tuple[str, str], ...], text: str) -> str | None:
    return next((name for mark, name in names if mark in text), None)
