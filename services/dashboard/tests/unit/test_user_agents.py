"""What lists of sessions call a browser."""

from __future__ import annotations

import pytest

from swap_dashboard.http.user_agents import SHOWN_MAX, UNKNOWN, browser_name

LINUX = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko)"
WINDOWS = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko)"
MAC = "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7)"
IPHONE = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X)"
ANDROID = "Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko)"


@pytest.mark.parametrize(
    ("user_agent", "name"),
    [
        (f"{LINUX} Chrome/140.0 Safari/537.36", "Chrome on Linux"),
        (f"{LINUX} HeadlessChrome/140.0 Safari/537.36", "Chromium on Linux"),
        (f"{WINDOWS} Chrome/140.0 Safari/537.36 Edg/140.0", "Edge on Windows"),
        (f"{MAC} Gecko/20100101 Firefox/140.0", "Firefox on macOS"),
        (f"{MAC} AppleWebKit/605.1.15 Version/18.0 Safari/605.1.15", "Safari on macOS"),
        (f"{IPHONE} Version/18.0 Mobile/15E148 Safari/604.1", "Safari on iPhone"),
        (f"{ANDROID} Chrome/140.0 Mobile Safari/537.36", "Chrome on Android"),
        (f"{ANDROID} SamsungBrowser/28.0 Chrome/130.0", "Samsung Internet on Android"),
        ("Mozilla/5.0 (Fuchsia) Chrome/140.0", "Chrome"),
        ("curl/8.5.0", "curl/8.5.0"),
        ("", UNKNOWN),
    ],
)
def test_a_browser_is_named_with_its_system(user_agent: str, name: str) -> None:
    assert browser_name(user_agent) == name


def test_a_long_unknown_text_is_cut() -> None:
    assert browser_name("x" * 500) == "x" * SHOWN_MAX
