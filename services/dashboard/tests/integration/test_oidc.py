"""Sign-in with a real OpenID provider, and attacks on its redirect."""

from __future__ import annotations

import re
import shutil
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from datetime import timedelta
from html import unescape
from pathlib import Path
from typing import Final
from urllib.parse import parse_qs, urljoin, urlsplit

import httpx
import pyotp
import pytest

from services.dashboard.tests.conftest import ADDRESS
from services.dashboard.tests.shop import PASSWORD, Api, Browser, Dashboard
from swap_dashboard.domain.oidc import OidcRequest, ProviderRefused
from swap_dashboard.settings import DashboardSettings
from tests.plugins.postgres import Database
from tests.plugins.processes import Program, accepts, free_port

NODE_TOOLS: Final = Path(__file__).parents[4] / "tools/node"
NODE: Final = shutil.which("node")
NO_PROVIDER: Final = "oidc-provider is not installed (make install-node-tools)"
HAS_PROVIDER: Final = NODE is not None and (NODE_TOOLS / "node_modules/oidc-provider").exists()
pytestmark = [pytest.mark.connected, pytest.mark.skipif(not HAS_PROVIDER, reason=NO_PROVIDER)]
ADA: Final = "ada@shop.example"
CLIENT: Final = {
    "oidc_client_id": "dashboard",
    "oidc_client_secret": "a client's secret for tests",
    "oidc_name": "Shop <login>",
}
CALLBACK: Final = f"{ADDRESS}/sign-in/provider/callback"
FORM: Final = re.compile(r'<form[^>]*action="([^"]+)"')
SECRET: Final = re.compile(r"<code>([A-Z2-7]{32})</code>")
HIDDEN: Final = re.compile(r'<input type="hidden" name="([^"]+)" value="([^"]*)"')
JOIN_LINK: Final = re.compile(r'href="/sign-in/provider(\?[^"]+)"')


@contextmanager
def a_provider(callback: str, log: Path) -> Iterator[str]:
    """Run a provider, and return its issuer.

    :param callback: the only address that it sends browsers back to.
    """
    port = free_port()
    program = Program(
        [str(NODE), str(NODE_TOOLS / "oidc_provider.mjs"), str(port), callback],
        log=log,
        ready=lambda: accepts(port),
    )
    program.start()
    yield f"http://127.0.0.1:{port}"
    program.stop()


@pytest.fixture(scope="module")
def issuer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with a_provider(CALLBACK, tmp_path_factory.mktemp("provider") / "provider.log") as url:
        yield url


@pytest.fixture
async def dashboard(database: Database, api: Api, issuer: str) -> AsyncIterator[Dashboard]:
    made = Dashboard(database, api, public_url=ADDRESS, oidc_issuer=issuer, **CLIENT)
    await made.forget_accounts()
    yield made
    await made.close()
    assert made.parts.provider is not None
    await made.parts.provider.close()


async def _callback_url(url: str, login: str) -> str:
    """Sign in at the provider as a user does, and return the redirect of the browser."""
    async with httpx.AsyncClient(trust_env=False) as person:
        answer = await person.get(url)
        for _ in range(12):
            if answer.is_redirect:
                url = urljoin(url, answer.headers["location"])
                if url.startswith(ADDRESS):
                    return url
                answer = await person.get(url)
                continue
            form = FORM.search(answer.text)
            assert form is not None, answer.text
            prompt = "login" if 'name="login"' in answer.text else "consent"
            url = urljoin(url, form[1])
            answer = await person.post(
                url, data={"prompt": prompt, "login": login, "password": "any"}
            )
    raise AssertionError("the provider did not send the browser back")


async def _begin_sign_in(browser: Browser, query: str = "") -> str:
    answer = await browser.get(f"/sign-in/provider{query}")
    assert answer.status_code == 303, answer.text
    return str(answer.headers["location"])


async def _provider_query_of(browser: Browser, invitation: str) -> str:
    """Return the query of the link from the page of an invitation to the provider."""
    page = await browser.get(f"/join?invitation={invitation}")
    link = JOIN_LINK.search(page.text)
    assert link is not None, page.text
    return unescape(link[1])


async def _sign_in_by_provider(browser: Browser, login: str, query: str = "") -> httpx.Response:
    return await browser.get(await _callback_url(await _begin_sign_in(browser, query), login))


async def a_member(dashboard: Dashboard, api: Api, email: str = ADA) -> Browser:
    browser = dashboard.browser()
    await browser.join(api.invite(api.an_organization("Shop")), email)
    return browser


def _session(browser: Browser) -> str | None:
    return browser.client.cookies.get("swap_session")


class TestSignIn:
    async def test_opens_a_session_of_the_account_with_the_verified_email(
        self, dashboard: Dashboard, api: Api
    ) -> None:
        await a_member(dashboard, api)
        browser = dashboard.browser()

        answer = await _sign_in_by_provider(browser, "Ada@Shop.example", "?next=/organization")

        assert (answer.status_code, answer.headers["location"]) == (303, "/organization")
        assert ADA in (await browser.get("/account")).text

    async def test_needs_an_account_or_an_invitation(self, dashboard: Dashboard) -> None:
        browser = dashboard.browser()

        answer = await _sign_in_by_provider(browser, "nobody@shop.example")

        assert answer.status_code == 401
        assert "Open the link of your invitation first" in answer.text
        assert _session(browser) is None

    async def test_creates_an_account_by_an_invitation(
        self, dashboard: Dashboard, api: Api
    ) -> None:
        invitation = api.invite(api.an_organization("Shop"))
        browser = dashboard.browser()

        query = await _provider_query_of(browser, invitation)
        answer = await _sign_in_by_provider(browser, "new@shop.example", query)

        assert answer.status_code == 303
        assert "new@shop.example" in (await browser.get("/account")).text

    async def test_refuses_an_invitation_to_another_email(
        self, dashboard: Dashboard, api: Api
    ) -> None:
        invitation = api.invite(api.an_organization("Shop"), name=ADA)
        browser = dashboard.browser()

        query = await _provider_query_of(browser, invitation)
        answer = await _sign_in_by_provider(browser, "eve@shop.example", query)

        assert answer.status_code == 401
        assert "ask for an invitation to eve@shop.example" in answer.text
        assert _session(browser) is None

    async def test_joins_another_organization_by_an_invitation(
        self, dashboard: Dashboard, api: Api
    ) -> None:
        await a_member(dashboard, api)
        invitation = api.invite(api.an_organization("Second"))
        browser = dashboard.browser()

        await _sign_in_by_provider(browser, ADA, await _provider_query_of(browser, invitation))

        assert "Second" in (await browser.get("/account")).text

    @pytest.mark.parametrize("token", ["", "&form_token=of-another-browser"])
    async def test_shows_the_join_page_without_a_valid_form_token(
        self, dashboard: Dashboard, api: Api, token: str
    ) -> None:
        invitation = api.invite(api.an_organization("Second"))
        browser = dashboard.browser()
        await browser.get("/sign-in")

        answer = await browser.get(f"/sign-in/provider?invitation={invitation}{token}")

        assert answer.headers["location"] == f"/join?invitation={invitation}"

    async def test_asks_for_the_second_factor_of_the_account(
        self, dashboard: Dashboard, api: Api
    ) -> None:
        ada = await a_member(dashboard, api)
        page = "/account/second-factor"
        shown = await ada.submit(f"{page}/begin", {"password": PASSWORD}, page=page)
        secret = SECRET.search(shown.text)
        assert secret is not None, shown.text
        code = pyotp.TOTP(secret[1]).at(dashboard.clock())
        await ada.submit(f"{page}/confirm", {"code": code}, page=page)
        browser = dashboard.browser()

        answer = await _sign_in_by_provider(browser, ADA)

        assert answer.status_code == 200
        assert "Enter a code" in answer.text
        assert _session(browser) is None

    async def test_ends_password_and_sessions_of_an_account_with_an_unconfirmed_email(
        self, dashboard: Dashboard, api: Api
    ) -> None:
        attacker = await a_member(dashboard, api)
        owner = dashboard.browser()

        await _sign_in_by_provider(owner, ADA)

        assert (await attacker.get("/account")).status_code == 303
        assert (await dashboard.browser().sign_in(ADA)).status_code == 401
        assert ADA in (await owner.get("/account")).text

    async def test_keeps_sessions_of_an_account_with_a_confirmed_email(
        self, dashboard: Dashboard, api: Api
    ) -> None:
        await a_member(dashboard, api)
        first, second = dashboard.browser(), dashboard.browser()
        await _sign_in_by_provider(first, ADA)

        await _sign_in_by_provider(second, ADA)

        assert ADA in (await first.get("/account")).text

    async def test_ends_the_browsers_earlier_session(self, dashboard: Dashboard, api: Api) -> None:
        browser = await a_member(dashboard, api)
        before = _session(browser)

        await _sign_in_by_provider(browser, ADA)

        assert _session(browser) not in (None, before)
        browser.client.cookies.set("swap_session", str(before), domain="dashboard.test")
        fixed = dashboard.browser()
        fixed.client.cookies.set("swap_session", str(before))
        assert (await fixed.get("/account")).status_code == 303


class TestFirstPassword:
    FORM: Final = "/account/first-password"
    NEW: Final = "three words nobody says"

    async def set(self, browser: Browser, wanted: str = NEW) -> httpx.Response:
        return await browser.submit(self.FORM, {"wanted": wanted}, page="/account")

    async def test_is_set_once_after_a_fresh_sign_in(self, dashboard: Dashboard, api: Api) -> None:
        browser, other = dashboard.browser(), dashboard.browser()
        query = await _provider_query_of(browser, api.invite(api.an_organization("Shop")))
        await _sign_in_by_provider(browser, "new@shop.example", query)
        await _sign_in_by_provider(other, "new@shop.example")
        assert "Current password" not in (await browser.get("/account")).text

        weak = await self.set(browser, "short")
        done = await self.set(browser)
        again = await self.set(browser, "four words nobody says")

        assert "characters or more" in weak.text
        assert "The password is set." in done.text
        assert "Current password" in done.text
        assert "The account has a password" in again.text
        assert (await other.get("/account")).status_code == 303
        fresh = dashboard.browser()
        assert (await fresh.sign_in("new@shop.example", self.NEW)).status_code == 303

    async def test_permits_the_setup_of_a_second_factor(
        self, dashboard: Dashboard, api: Api
    ) -> None:
        await a_member(dashboard, api)
        browser, page = dashboard.browser(), "/account/second-factor"
        await _sign_in_by_provider(browser, ADA)
        before = (await browser.get(page)).text
        await self.set(browser)

        shown = await browser.submit(f"{page}/begin", {"password": self.NEW}, page=page)

        assert "has no password yet" in before
        assert SECRET.search(shown.text) is not None

    async def test_is_refused_more_than_ten_minutes_after_the_sign_in(
        self, dashboard: Dashboard, api: Api
    ) -> None:
        await a_member(dashboard, api)
        browser = dashboard.browser()
        await _sign_in_by_provider(browser, ADA)
        dashboard.ahead += timedelta(minutes=11)

        page = (await browser.get("/account")).text
        late = await self.set(browser)

        assert "/sign-in/provider?next=/account" in page
        assert self.FORM not in page
        assert "This signs out all other sessions" not in page
        assert "too long ago" in late.text
        assert (await dashboard.browser().sign_in(ADA, self.NEW)).status_code == 401

    async def test_does_not_replace_a_chosen_password(self, dashboard: Dashboard, api: Api) -> None:
        browser = await a_member(dashboard, api)

        answer = await self.set(browser)

        assert "too long ago" in answer.text
        assert (await dashboard.browser().sign_in(ADA, PASSWORD)).status_code == 303

    async def test_is_set_after_the_code_of_a_second_factor(
        self, dashboard: Dashboard, api: Api
    ) -> None:
        ada, page = await a_member(dashboard, api), "/account/second-factor"
        shown = await ada.submit(f"{page}/begin", {"password": PASSWORD}, page=page)
        secret = SECRET.search(shown.text)
        assert secret is not None, shown.text
        device = pyotp.TOTP(secret[1])
        await ada.submit(f"{page}/confirm", {"code": device.at(dashboard.clock())}, page=page)
        browser = dashboard.browser()
        code_page = await _sign_in_by_provider(browser, ADA)
        dashboard.ahead += timedelta(minutes=1)
        await _enter_code(browser, code_page, device.at(dashboard.clock()))

        assert "The password is set." in (await self.set(browser)).text


async def _enter_code(browser: Browser, code_page: httpx.Response, code: str) -> None:
    """Fill in the form for a code, with its hidden fields."""
    fields = dict(HIDDEN.findall(code_page.text))
    answer = await browser.client.post("/sign-in/code", data={**fields, "code": code})
    assert answer.status_code == 303, answer.text


class TestRefusals:
    async def test_unverified_email_is_refused(self, dashboard: Dashboard, api: Api) -> None:
        email = "unverified@shop.example"
        await a_member(dashboard, api, email)
        browser = dashboard.browser()

        answer = await _sign_in_by_provider(browser, email)

        assert answer.status_code == 401
        assert _session(browser) is None

    async def test_callback_of_another_browsers_sign_in_is_refused(
        self, dashboard: Dashboard, api: Api
    ) -> None:
        await a_member(dashboard, api)
        back = await _callback_url(await _begin_sign_in(dashboard.browser()), ADA)
        fresh, began = dashboard.browser(), dashboard.browser()
        await _begin_sign_in(began)

        answers = [await browser.get(back) for browser in (fresh, began)]

        assert [answer.status_code for answer in answers] == [401, 401]
        assert _session(fresh) is None
        assert _session(began) is None

    async def test_used_callback_is_refused(self, dashboard: Dashboard, api: Api) -> None:
        await a_member(dashboard, api)
        browser = dashboard.browser()
        back = await _callback_url(await _begin_sign_in(browser), ADA)

        first, again = await browser.get(back), await browser.get(back)

        assert (first.status_code, again.status_code) == (303, 401)

    async def test_code_of_another_sign_in_is_refused(self, dashboard: Dashboard, api: Api) -> None:
        """The nonce and the code verifier belong to the sign-in of the code."""
        await a_member(dashboard, api)
        back = await _callback_url(await _begin_sign_in(dashboard.browser()), ADA)
        browser = dashboard.browser()
        own = parse_qs(urlsplit(await _begin_sign_in(browser)).query)
        code = parse_qs(urlsplit(back).query)["code"][0]

        answer = await browser.get(
            "/sign-in/provider/callback", params={"code": code, "state": own["state"][0]}
        )

        assert answer.status_code == 401
        assert _session(browser) is None

    async def test_id_token_with_another_nonce_is_refused(self, dashboard: Dashboard) -> None:
        provider = dashboard.parts.provider
        assert provider is not None
        began = OidcRequest(secret="the browser's", target="/")
        url = await provider.authorization_url(began)
        forged = url.replace(began.nonce, "another")
        code = parse_qs(urlsplit(await _callback_url(forged, ADA)).query)["code"][0]

        with pytest.raises(ProviderRefused, match="ID token"):
            await provider.verified_email(began, code)

    @pytest.mark.parametrize(
        "query", ["", "&error=access_denied", "&code=x&iss=https://evil.example", "&code="]
    )
    async def test_incomplete_callback_is_refused(self, dashboard: Dashboard, query: str) -> None:
        browser = dashboard.browser()
        state = parse_qs(urlsplit(await _begin_sign_in(browser)).query)["state"][0]

        answer = await browser.get(f"/sign-in/provider/callback?state={state}{query}")

        assert answer.status_code == 401

    @pytest.mark.parametrize(
        "target", ["https://evil.example", "//evil.example", "/\\evil.example"]
    )
    async def test_target_on_another_site_is_replaced_by_home(
        self, dashboard: Dashboard, api: Api, target: str
    ) -> None:
        await a_member(dashboard, api)

        answer = await _sign_in_by_provider(dashboard.browser(), ADA, f"?next={target}")

        assert answer.headers["location"] == "/"


class TestProviderButton:
    async def test_shows_only_where_a_provider_is_configured(
        self, database: Database, api: Api, dashboard: Dashboard
    ) -> None:
        without = Dashboard(database, api, public_url=ADDRESS)

        shown = (await dashboard.browser().get("/sign-in")).text
        hidden = await without.browser().get("/sign-in")
        route = await without.browser().get("/sign-in/provider")
        await without.close()

        assert "Sign in with Shop &lt;login&gt;" in shown
        assert "/sign-in/provider" not in hidden.text
        assert route.status_code == 404

    async def test_returns_503_while_the_provider_is_unavailable(
        self, database: Database, api: Api
    ) -> None:
        away = Dashboard(
            database, api, public_url=ADDRESS, oidc_issuer="http://127.0.0.1:1", **CLIENT
        )

        answer = await away.browser().get("/sign-in/provider")
        await away.close()

        assert answer.status_code == 503

    @pytest.mark.parametrize(
        "group",
        [
            {"oidc_issuer": "https://login.example"},
            {"oidc_issuer": "http://login.example", **CLIENT},
            {"oidc_client_id": "dashboard"},
        ],
    )
    def test_incomplete_provider_settings_are_refused(
        self, group: dict[str, str], database: Database
    ) -> None:
        needed = {
            "database_url": database.url("dashboard"),
            "internal_port": 0,
            "port": 0,
            "public_url": ADDRESS,
            "api_url": "http://127.0.0.1:1",
            "secret_keys": ["a" * 43 + "="],
        }
        with pytest.raises(ValueError, match="OIDC_ISSUER"):
            DashboardSettings.model_validate(
                {"operator": {"token": "t"}, "dashboard": {**needed, **group}}
            )
