"""The pages of the console that tests look at in a browser, and what is no page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tests.support.walks import MISSING, Screen, seen_by

ANN: Final = "ann"  # an operator
VIC: Final = "vic"  # a viewer
REASON: Final = f"the last word of a long reason is read, too {'W' * 60} {'at length ' * 60}"

SIGNED_OUT: Final = (
    Screen("sign-in", "/sign-in"),
    Screen("sign-in-wrong", "/sign-in", form="/sign-in", fields={"token": "guessed"}),
)
LISTS: Final = seen_by(
    ANN,
    Screen("overview", "/"),
    Screen("approvals", "/approvals"),
    Screen("stuck", "/stuck"),
    Screen("parked", "/parked"),
    Screen("claimables", "/claimables"),
    Screen("payments", "/payments"),
    Screen("balances", "/balances"),
    Screen("losses", "/losses"),
    Screen("stops", "/stops"),
    Screen("caps", "/caps"),
    Screen("blocked", "/blocked"),
    Screen("signers", "/signers"),
    Screen("invariants", "/invariants"),
    Screen("recovery", "/recovery"),
    Screen("log", "/log"),
    Screen("sessions", "/sessions"),
    Screen("missing", MISSING),
)
SINGLE: Final = (
    Screen("swap", "/swaps/{swap}", visitor=ANN),
    Screen(
        "accounts", "/balances/accounts", "?network={network}&token={token}&side=owed", visitor=ANN
    ),
    Screen("treasury", "/balances/treasury", "?network={network}&token={token}", visitor=ANN),
    Screen("waiting", "/balances/waiting", "?kind=deposits&network={source}", visitor=ANN),
    Screen("message", "/parked/{service}/{parked}", visitor=ANN),
    Screen("approval", "/approvals/{service}/{proposal}", visitor="ben"),
    Screen("approval-own", "/approvals/{service}/{proposal}", visitor=ANN),
    Screen("claimable", "/claimables/{claimable}", visitor=ANN),
    Screen("deposit", "/deposits/{deposit}", visitor=ANN),
    Screen("queued", "/payments/queue/{queued}", visitor=ANN),
    Screen("fee", "/payments/fees/{fee}", visitor=ANN),
    Screen("stop", "/stops/lift", "?kind=signing&network={network}", visitor=ANN),
    Screen("network", "/networks/{network}", visitor=ANN),
    Screen("cap", "/caps/one", "?network={network}", visitor=ANN),
    Screen("spent", "/caps/{cap}/spent", visitor=ANN),
    Screen("blocked-one", "/blocked/one", "?address={bad}", visitor=ANN),
    Screen("signer", "/signers/{network}/{signer}", visitor=ANN),
    Screen("held", "/recovery/held", visitor=ANN),
    Screen("retained", "/recovery/retained/{retained}", visitor=ANN),
    Screen("swap-viewer", "/swaps/{swap}", visitor=VIC),
    Screen("claimable-viewer", "/claimables/{claimable}", visitor=VIC),
    Screen(
        "order",
        "/parked/{service}/{parked}",
        form="/parked/{service}/{parked}/release",
        fields={"reason": REASON},
        visitor=ANN,
    ),
)
# Walked where a chain answers about the transactions: tests/console/test_console_rescues.py.
RESCUES: Final = (
    Screen("rescues", "/rescues", visitor="ben"),
    Screen("rescue", "/rescues/{network}/{open}", visitor="ben"),
    Screen("rescue-returned", "/rescues/{network}/{returned}", visitor="ben"),
    Screen("rescue-approvals", "/approvals", visitor="ben"),
    Screen("rescue-approval", "/approvals/{service}/{proposal}", visitor="ben"),
    Screen("rescue-wrong", "/rescues/find", "?network={network}&hash=0x1", visitor="ben"),
)
# What each of two operators sees next of an order: the same test.
AFTER_ORDER: Final = (Screen("order-proposed", "/orders/{id}", visitor=ANN, is_next=True),)
AFTER_APPROVAL: Final = (
    Screen("order-done", "/orders/{id}", visitor="ben", is_next=True),
    Screen("rescue-log", "/log", visitor="ben"),
)
SCREENS: Final = (*SIGNED_OUT, *LISTS, *SINGLE, *RESCUES, *AFTER_ORDER, *AFTER_APPROVAL)

# What is read, and is no page.
NOT_PAGES: Final[Mapping[str, str]] = {
    "/static": "files",
    "/swaps": "leads to the page of a swap",
}
