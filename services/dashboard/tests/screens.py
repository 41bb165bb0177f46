"""The pages of the dashboard that tests open in a browser, and routes that are no pages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from services.dashboard.tests.shop import PASSWORD
from tests.support.walks import MISSING, Screen, seen_by

OWNER: Final = "owner"
WITH_FACTOR: Final = "with a factor"  # an account with a second factor
WITHOUT_APPS: Final = "without apps"  # an organization without an app
WITHOUT_ORGANIZATION: Final = "without organization"  # an account without an organization
APP: Final = "/apps/{app_id}"
HOOK: Final = f"{APP}/webhooks/{{webhook_id}}"
MESSAGE: Final = f"{HOOK}/messages/{{message_id}}"
FACTOR: Final = "/account/second-factor"

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
    Screen("code-wrong", "/sign-in", form="/sign-in/code", fields={"code": "0"}, is_next=True),
    Screen("link", "/sign-in/link", query="?token={link}"),
    Screen("link-ended", "/sign-in/link", query="?token=none"),
    Screen("join", "/join", query="?invitation={invitation}"),
    Screen(
        "join-wrong",
        "/join",
        query="?invitation={invitation}",
        form="/join",
        fields={"email": "{with_factor}", "password": PASSWORD},
    ),
    Screen("provider-away", "/sign-in/provider"),
    Screen("provider-refused", "/sign-in/provider/callback", query="?state=none"),
    Screen("missing", MISSING),
)
SIGNED_IN: Final = (
    *seen_by(
        OWNER,
        Screen("home", APP),
        Screen("swaps", f"{APP}/swaps"),
        Screen("nothing", f"{APP}/swaps", query="?q=none"),
        Screen("swap", f"{APP}/swaps/{{swap_id}}"),
        Screen("webhooks", f"{APP}/webhooks"),
        Screen("webhook", HOOK),
        Screen("webhook-secret", HOOK, form=f"{HOOK}/rotate"),
        Screen("webhook-events", HOOK, form=f"{HOOK}/events"),
        Screen(
            "webhook-sent-again", HOOK, form=f"{HOOK}/replay", fields={"since": "2026-01-01T00:00"}
        ),
        Screen(
            "webhook-made",
            f"{APP}/webhooks",
            form=f"{APP}/webhooks",
            fields={"url": f"http://127.0.0.1:9998/{'long-' * 20}hooks"},
        ),
        Screen("message", MESSAGE),
        Screen("keys", f"{APP}/keys"),
        Screen("key-made", f"{APP}/keys", form=f"{APP}/keys", fields={"label": "W" * 60}),
        Screen("key-rotated", f"{APP}/keys", form=f"{APP}/keys/{{key_id}}/rotate"),
        Screen("requests", f"{APP}/requests"),
        Screen("no requests", f"{APP}/requests", query="?request_id=none"),
        Screen("limits", f"{APP}/limits"),
        Screen("fees", f"{APP}/fees"),
        Screen("no fees", f"{APP}/fees", query="?kind=fee&network=BASE_DEVNET&token=ETH"),
        Screen("pay-page", f"{APP}/pay-page"),
        Screen("bench", f"{APP}/bench"),
        Screen(
            "bench-wrong", f"{APP}/bench", form=f"{APP}/bench", fields={"amount": "1000000000000"}
        ),
        Screen("organization", "/organization"),
        Screen(
            "invited",
            "/organization",
            form="/organization/invitations",
            fields={"name": f"{'w' * 60}@shop.example"},
        ),
        Screen("changes", "/organization/changes"),
        Screen("account", "/account"),
        Screen(
            "account-wrong",
            "/account",
            form="/account/password",
            fields={"known": "none of theirs", "wanted": PASSWORD},
        ),
        Screen("factor", FACTOR),
        Screen("join-again", "/join"),
    ),
    Screen("factor-on", FACTOR, visitor=WITH_FACTOR),
    Screen("no-apps", "/", visitor=WITHOUT_APPS),
    Screen("account-alone", "/account", visitor=WITHOUT_ORGANIZATION),
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
STATUS_OF_MANY: Final = (Screen("status-of-many", "/status", query="?from=N49"),)
# Of a member who came by an operator's link and has a device: integration/test_second_factor.py.
BY_LINK: Final = (
    Screen("account-by-link", "/account"),
    Screen(
        "account-new-password",
        "/account",
        form="/account/lost-password",
        fields={"wanted": PASSWORD},
    ),
    Screen("factor-off", FACTOR),
    Screen(
        "factor-password-wrong",
        FACTOR,
        form=f"{FACTOR}/begin",
        fields={"password": "none of theirs"},
    ),
    Screen("factor-device", FACTOR, form=f"{FACTOR}/begin", fields={"password": PASSWORD}),
    Screen("factor-again", FACTOR, form=f"{FACTOR}/confirm", fields={"code": "0"}, is_next=True),
    Screen(
        "factor-codes", FACTOR, form=f"{FACTOR}/confirm", fields={"code": "{code}"}, is_next=True
    ),
    Screen(
        "factor-new-codes",
        FACTOR,
        form=f"{FACTOR}/codes",
        fields={"password": PASSWORD, "code": "{recovery}"},
    ),
    Screen(
        "factor-remove-wrong",
        FACTOR,
        form=f"{FACTOR}/remove",
        fields={"password": PASSWORD, "code": "none of theirs"},
    ),
    Screen(
        "factor-removed",
        FACTOR,
        form=f"{FACTOR}/remove",
        fields={"password": PASSWORD, "code": "{recovery}"},
    ),
)
# Of members who come by a provider that answers: integration/test_oidc_screens.py.
BY_PROVIDER: Final = (
    Screen("provider-unknown", "/sign-in/provider/callback", is_next=True),
    Screen("provider-code", "/sign-in/provider/callback", is_next=True),
    Screen("account-first-password", "/account"),
    Screen("factor-without-password", FACTOR),
    Screen("account-too-late", "/account"),
    Screen(
        "account-password-set",
        "/account",
        form="/account/first-password",
        fields={"wanted": PASSWORD},
        is_next=True,
    ),
)
SCREENS: Final = (*SIGNED_OUT, *SIGNED_IN, *PAY, *STATUS, *BY_LINK, *BY_PROVIDER)

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

# Forms that answer with another page; a refusal is a notice on the page of the form.
REDIRECTS: Final[Mapping[str, str]] = {
    "/account/organization": "home",
    "/account/sessions/{session_id}/end": "the account",
    "/account/sign-out-everywhere": "the sign-in",
    "/sign-out": "the sign-in",
    "/sign-in/link": "home, or a page that another screen has: a code, an ended link",
    f"{HOOK}/{{order}}": "the endpoint, or the list without it",
    f"{MESSAGE}/replay": "the message",
    f"{APP}/keys/{{key_id}}/origins": "the keys",
    f"{APP}/keys/{{key_id}}/revoke": "the keys",
    f"{APP}/bench/join": "the bench",
    f"{APP}/bench/lifetime": "the bench",
    f"{APP}/pay-page": "the pay page's settings",
    "/organization": "the organization",
    "/organization/apps": "the keys of the new app",
    "/organization/apps/{app_id}": "the organization",
    "/organization/invitations/{id}/revoke": "the organization",
    "/organization/members/{id}/role": "the organization",
    "/organization/members/{id}/remove": "the organization",
    "/pay/{swap_id}": "the pay page",
    "/pay/{swap_id}/authorize": "JSON for the page's script",
}
