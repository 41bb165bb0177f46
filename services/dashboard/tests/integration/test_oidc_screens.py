"""The pages behind an OpenID provider in a real browser, which signs in at a real provider."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Final

import pytest

from services.dashboard.tests.integration.test_oidc import (
    ADA,
    CLIENT,
    HAS_PROVIDER,
    NO_PROVIDER,
    a_member,
    a_provider,
)
from services.dashboard.tests.integration.test_screens import BROWSER, NO_AXE, NO_BROWSER
from services.dashboard.tests.integration.test_second_factor import switch_on
from services.dashboard.tests.screens import BY_PROVIDER
from services.dashboard.tests.shop import Api, Dashboard, served_dashboard
from tests.plugins.postgres import Database
from tests.plugins.processes import free_port
from tests.support.browser import Page, open_page
from tests.support.screens import AXE, show
from tests.support.walks import Walk, is_status

pytestmark = [
    pytest.mark.connected,
    pytest.mark.timeout(300),
    pytest.mark.skipif(not HAS_PROVIDER, reason=NO_PROVIDER),
    pytest.mark.skipif(BROWSER is None, reason=NO_BROWSER),
    pytest.mark.skipif(not AXE.exists(), reason=NO_AXE),
]
NEW: Final = "new@shop.example"
# The page with the link to the provider, who signs in there, and whether the browser is new.
SIGN_INS: Final[Mapping[str, tuple[str, str, bool]]] = {
    "provider-unknown": ("/sign-in", "nobody@shop.example", True),
    "provider-code": ("/sign-in", ADA, True),
    "account-first-password": ("/join?invitation={invitation}", NEW, True),
    "account-password-set": ("/account", NEW, False),
}
EXPECTED_WORDS: Final[Mapping[str, str]] = {
    "provider-unknown": "Open the link of your invitation first",
    "provider-code": "Code of your device",
    "account-first-password": "You signed in by Shop <login>",
    "factor-without-password": "no password yet",
    "account-too-late": "Sign in by Shop <login> once more",
    "account-password-set": "The password is set",
}
LINK: Final = "document.querySelector('main a[href^=\"/sign-in/provider\"]')"
# The provider asks for a login, then for consent.
FILL_IN: Final = """
for (const name of ["login", "password"]) {{
  const field = document.querySelector(`[name=${{name}}]`);
  if (field) field.value = {};
}}
"""


@pytest.fixture
async def site(database: Database, api: Api, tmp_path: Path) -> AsyncIterator[Dashboard]:
    """A dashboard that a browser reaches, and a provider that sends browsers back there."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    with a_provider(f"{url}/sign-in/provider/callback", tmp_path / "provider.log") as issuer:
        options = {"port": port, "oidc_issuer": issuer, **CLIENT}
        async with served_dashboard(database, api, **options) as made:
            yield made


async def act_and_wait_for_navigation(page: Page, action: str) -> None:
    await page.value(f"window.isLeaving = true; {action}; 1")
    await page.until("!window.isLeaving && document.readyState === 'complete'")


async def sign_in_at_provider(page: Page, url: str, path: str, login: str) -> None:
    """Follow the link of a page to the provider, and sign in there."""
    await show(page, f"{url}{path}")
    await act_and_wait_for_navigation(page, f"{LINK}.click()")
    is_back = f"location.href.startsWith({json.dumps(f'{url}/')})"
    while not await page.value(is_back):
        await page.value(FILL_IN.format(json.dumps(login)))
        await act_and_wait_for_navigation(page, "document.querySelector('form').submit()")
    page.requests.clear()  # those of the provider's pages
    page.complaints.clear()


async def test_provider_screens_pass_the_screen_checks(
    site: Dashboard, api: Api, tmp_path: Path
) -> None:
    assert BROWSER is not None
    invitation = api.invite(api.an_organization("Shop"))
    await switch_on(site, await a_member(site, api))
    other_words, complaints = {}, []
    async with open_page(BROWSER, tmp_path / "browser", "about:blank") as page:
        walk = Walk(page, site.public_url, ids={"": {}})
        for screen in BY_PROVIDER:
            if screen.name == "account-too-late":
                site.ahead += timedelta(minutes=11)
            if screen.name in SIGN_INS:
                path, login, is_new = SIGN_INS[screen.name]
                if is_new:
                    await page.send("Network.clearBrowserCookies")
                path = path.format(invitation=invitation)
                await sign_in_at_provider(page, site.public_url, path, login)
            await walk.over([screen])
            shown = await page.value("document.querySelector('main').innerText")
            if EXPECTED_WORDS[screen.name] not in shown:
                other_words[screen.name] = shown
            complaints += [one for one in page.complaints if not is_status(one)]

    assert not walk.faults, walk.report
    assert other_words == {}
    assert complaints == []
