"""The pages of the dashboard that tests open in a browser, and routes that are no pages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from services.dashboard.tests.shop import PASSWORD
from tests.support.walks import MISSING, Screen

OWNER: Final = "owner"
NEWCOMER: Final = "newcomer"  # an organization without an app
ALONE: Final = "alone"  # an account without an organization
APP: Final = "/apps/{app_id}"
HOOK: Final = f"{APP}/webhooks/{{webhook_id}}"
MESSAGE: Final = f"{HOOK}/messages/{{message_id}}"

SIGNED_OUT: Final = (
    Screen("sign-in", "/sign-in"),
    Screen(
        "sign-in-wrong",
        "/sign-in",
        form="/sign-in",
        fields={"email": "a@b.example", "password": "x"},
    ),
    Screen(
        "code",
        "/sign-in",
        form="/sign-in",
        fields={"email": "{with_factor}", "password": PASSWORD},
    ),
    Screen("link", "/sign-in/link", query="?token={link}"),
    Screen("link-ended", "/sign-in/link", query="?token=none"),
    Screen("join", "/join", query="?invitation={invitation}"),
    Screen("provider-away", "/sign-in/provider"),
    Screen("provider-refused", "/sign-in/provider/callback", query="?state=none"),
    Screen("missing", MISSING),
)
SIGNED_IN: Final = (
    Screen("home", APP, visitor=OWNER),
    Screen("swaps", f"{APP}/swaps", visitor=OWNER),
    Screen("nothing", f"{APP}/swaps", query="?q=none", visitor=OWNER),
    Screen("swap", f"{APP}/swaps/{{swap_id}}", visitor=OWNER),
    Screen("webhooks", f"{APP}/webhooks", visitor=OWNER),
    Screen("webhook", HOOK, visitor=OWNER),
    Screen("webhook-secret", HOOK, form="/rotate", visitor=OWNER),
    Screen("message", MESSAGE, visitor=OWNER),
    Screen("keys", f"{APP}/keys", visitor=OWNER),
    Screen("key-made", f"{APP}/keys", form="/keys", fields={"label": "W" * 60}, visitor=OWNER),
    Screen("requests", f"{APP}/requests", visitor=OWNER),
    Screen("no requests", f"{APP}/requests", query="?request_id=none", visitor=OWNER),
    Screen("limits", f"{APP}/limits", visitor=OWNER),
    Screen("fees", f"{APP}/fees", visitor=OWNER),
    Screen(
        "no fees",
        f"{APP}/fees",
        query="?kind=fee&network=BASE_DEVNET&token=ETH",
        visitor=OWNER,
    ),
    Screen("pay-page", f"{APP}/pay-page", visitor=OWNER),
    Screen("bench", f"{APP}/bench", visitor=OWNER),
    Screen("organization", "/organization", visitor=OWNER),
    Screen(
        "invited",
        "/organization",
        form="/invitations",
        fields={"name": f"{'w' * 60}@shop.example"},
        visitor=OWNER,
    ),
    Screen("changes", "/organization/changes", visitor=OWNER),
    Screen("account", "/account", visitor=OWNER),
    Screen("factor", "/account/second-factor", visitor=OWNER),
    Screen(
        "factor-secret",
        "/account/second-factor",
        form="/begin",
        fields={"password": PASSWORD},
        visitor=OWNER,
    ),
    Screen("join-again", "/join", visitor=OWNER),
    Screen("no-apps", "/", visitor=NEWCOMER),
    Screen("account-alone", "/account", visitor=ALONE),
)
PAY: Final = (
    Screen("pay-wallet", "/pay/{swap_id}", "?token={token}", of="wallet"),
    Screen("pay-address", "/pay/{swap_id}", "?token={token}", of="address"),
    Screen("pay-address-de", "/pay/{swap_id}", "?token={token}&lang=de", of="address"),
    Screen("pay-paying", "/pay/{swap_id}", "?token={token}", of="paying"),
    Screen("pay-done", "/pay/{swap_id}", "?token={token}", of="done"),
    Screen("pay-unknown", "/pay/{swap_id}", "?token=x", of="done"),
    Screen("pay-start", "/pay"),
    Screen(
        "pay-start-wrong", "/pay", form="/pay?lang=en", fields={"link": "https://else.example/" * 9}
    ),
)
STATUS: Final = (Screen("status", "/status"),)
SCREENS: Final = (*SIGNED_OUT, *SIGNED_IN, *PAY, *STATUS)

# What is read, and is no page.
NOT_PAGES: Final[Mapping[str, str]] = {
    "/robots.txt": "a text for robots",
    "/static": "files",
    f"{APP}/swaps.csv": "a table for download",
    f"{APP}/swaps/live": "an event stream",
    f"{APP}/swaps/{{swap_id}}/live": "an event stream",
    f"{APP}/swaps/{{swap_id}}/transactions": "a part of the swap's page",
    "/pay/{swap_id}/data": "JSON for the page's script",
    "/pay/{swap_id}/events": "an event stream",
}
