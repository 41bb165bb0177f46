"""Changes by members in the dashboard: webhooks, keys, members, apps; and refused roles."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from uuid import uuid4

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from services.dashboard.tests.shop import Api, Browser, Dashboard, a_swap
from tests.support.serving import serve
from tests.support.waiting import until

pytestmark = pytest.mark.connected
HOOK = "http://127.0.0.1:9999/hooks"
SECRET = re.compile(r"whsec_[A-Za-z0-9+/=]+")
KEY = re.compile(r"svc_test_[0-9a-f]{64}")
HOSTILE = "<script>alert(1)</script>"


@dataclass(frozen=True, slots=True)
class Shop:
    browser: Browser
    organization: str
    app: str

    async def submit(self, path: str, fields: dict[str, str]) -> httpx.Response:
        return await self.browser.submit(path, fields, page="/organization")

    async def send(self, path: str, fields: dict[str, str]) -> httpx.Response:
        """Send a form that is carried out, and return the page that the browser is sent to."""
        answer = await self.submit(path, fields)
        assert answer.status_code == 303, answer.text
        return await self.browser.get(answer.headers["location"])


@asynccontextmanager
async def a_receiver(text: str) -> AsyncIterator[str]:
    """Receive webhooks, and answer each with the text."""

    async def receive(_: Request) -> Response:
        return PlainTextResponse(text, headers={"x-receiver": "test"})

    async with serve(Starlette(routes=[Route("/", receive, methods=["POST"])])) as url:
        yield f"{url}/"


async def page_with(browser: Browser, path: str, words: str) -> str:
    """Return the page once it has the words."""

    async def text() -> str | None:
        found = (await browser.get(path)).text
        return found if words in found else None

    return await until(text, what=words)


async def a_shop(dashboard: Dashboard, api: Api, role: str = "owner") -> Shop:
    organization = api.an_organization(f"Shop {uuid4().hex}")
    app = api.an_app(organization)
    browser = dashboard.browser()
    await browser.join(api.invite(organization, role), f"{uuid4().hex}@shop.example")
    return Shop(browser, organization, app)


@pytest.fixture
async def shop(dashboard: Dashboard, api: Api) -> Shop:
    return await a_shop(dashboard, api)


class TestWebhooks:
    async def test_show_their_secret_once_and_are_tested_rotated_and_removed(
        self, shop: Shop
    ) -> None:
        path = f"/apps/{shop.app}/webhooks"
        added = await shop.send(path, {"url": HOOK})
        [webhook] = set(re.findall(rf"{path}/([0-9a-f-]+)/test", added.text))
        tested = await shop.submit(f"{path}/{webhook}/test", {})
        shown = await shop.browser.get(f"{path}/{webhook}")
        rotated = await shop.send(f"{path}/{webhook}/rotate", {})
        await shop.submit(f"{path}/{webhook}/disable", {})
        disabled = await shop.browser.get(path)
        await shop.submit(f"{path}/{webhook}/remove", {})
        removed = await shop.browser.get(path)

        assert SECRET.search(added.text)
        assert tested.status_code == 303
        assert "/replay" in shown.text
        assert not SECRET.search(shown.text)
        assert SECRET.findall(rotated.text) != SECRET.findall(added.text)
        assert "Disabled: owner" in disabled.text
        assert "No endpoint yet" in removed.text

    async def test_have_events_that_are_changed_later(self, shop: Shop, api: Api) -> None:
        path = f"/apps/{shop.app}/webhooks"
        added = await shop.send(path, {"url": HOOK})
        one = f"{path}/" + re.findall(rf"{path}/([0-9a-f-]+)/test", added.text)[0]

        changed = await shop.send(f"{one}/events", {"wants_updates": "1"})
        [webhook] = api.operator_get(path)
        await shop.submit(f"{one}/events", {"wants_notices": "1"})
        [later] = api.operator_get(path)

        assert "The events are changed" in changed.text
        assert "progress within a status" in changed.text
        assert (webhook["wants_updates"], webhook["wants_notices"]) == (True, False)
        assert (later["wants_updates"], later["wants_notices"]) == (False, True)

    async def test_resend_one_message_or_all_since_a_time(self, shop: Shop) -> None:
        path = f"/apps/{shop.app}/webhooks"
        added = await shop.send(path, {"url": HOOK})
        one = f"{path}/" + re.findall(rf"{path}/([0-9a-f-]+)/test", added.text)[0]
        await shop.submit(f"{one}/test", {})
        message = re.findall(rf"{one}(/messages/[^/]+/replay)", (await shop.browser.get(one)).text)

        resent = await shop.submit(one + message[0], {})
        again = await shop.browser.get(resent.headers["location"])
        since = await shop.send(f"{one}/replay", {"since": "2026-01-01T00:00"})
        wrong = await shop.submit(f"{one}/replay", {"since": "yesterday"})

        assert resent.headers["location"].startswith(one + message[0].removesuffix("/replay"))
        assert "The message is sent again" in again.text
        assert "will be sent again" in since.text
        assert wrong.status_code == 422

    async def test_show_the_request_and_the_response_of_a_message(self, shop: Shop) -> None:
        async with a_receiver(HOSTILE) as url:
            path = f"/apps/{shop.app}/webhooks"
            added = await shop.send(path, {"url": url})
            one = f"{path}/" + re.findall(rf"{path}/([0-9a-f-]+)/test", added.text)[0]
            await shop.submit(f"{one}/test", {})
            page = await page_with(shop.browser, one, "delivered")
            [message] = set(re.findall(rf'href="({one}/messages/[^/"]+)"', page))
            shown = (await shop.browser.get(message)).text

        assert "webhook-signature" in shown
        assert "x-receiver" in shown
        assert "&lt;script&gt;" in shown
        assert HOSTILE not in shown
        assert "deposit_actions" in shown
        for path in (f"{message}0", f"{one}/messages/{HOSTILE}"):
            assert (await shop.browser.get(path)).status_code == 404

    async def test_secret_is_absent_after_a_reload_and_from_the_url(self, shop: Shop) -> None:
        path = f"/apps/{shop.app}/webhooks"
        added = await shop.submit(path, {"url": HOOK})
        one = added.headers["location"]
        [secret] = [v for k, v in shop.browser.client.cookies.items() if k.endswith("flash")]

        elsewhere = (await shop.browser.get(path)).text
        first, second = [(await shop.browser.get(one)).text for _ in range(2)]

        assert added.status_code == 303
        assert [bool(SECRET.search(text)) for text in (elsewhere, first, second)] == [
            False,
            True,
            False,
        ]
        assert "whsec" not in one + secret
        assert not [name for name in shop.browser.client.cookies if name.endswith("flash")]

    async def test_with_a_url_in_use_need_a_confirmation(self, shop: Shop, api: Api) -> None:
        path = f"/apps/{shop.app}/webhooks"
        one = (await shop.submit(path, {"url": HOOK})).headers["location"]
        warned = await shop.submit(path, {"url": HOOK, "wants_updates": "1"})
        added = await shop.submit(path, {"url": HOOK, "again": "1"})
        await shop.submit(f"{added.headers['location']}/disable", {})
        await shop.submit(f"{one}/disable", {})
        beside_disabled = await shop.submit(path, {"url": HOOK})

        assert warned.status_code == 422
        assert "would arrive there twice" in warned.text
        assert 'name="wants_updates" value="1" checked' in warned.text
        assert added.status_code == beside_disabled.status_code == 303
        assert len(api.operator_get(path)) == 3

    async def test_form_urls_redirect_to_their_pages(self, shop: Shop, api: Api) -> None:
        hook = api.order(f"/apps/{shop.app}/webhooks", {"url": HOOK})["id"]
        one = f"/apps/{shop.app}/webhooks/{hook}"
        keys = f"/apps/{shop.app}/keys"
        for form, page in (
            (f"{one}/rotate", one),
            (f"{keys}/{uuid4()}/revoke", keys),
            ("/organization/invitations", "/organization"),
            (f"/organization/invitations/{uuid4()}/revoke", "/organization"),
            ("/sign-out", "/"),
        ):
            answer = await shop.browser.get(form)
            assert (answer.status_code, answer.headers["location"]) == (303, page)

    async def test_destructive_forms_have_a_confirmation(self, shop: Shop, api: Api) -> None:
        hook = api.order(f"/apps/{shop.app}/webhooks", {"url": HOOK})["id"]
        key = api.order(f"/apps/{shop.app}/keys", {"kind": "secret"})["id"]
        for page, form in (
            (f"/apps/{shop.app}/webhooks/{hook}", f"webhooks/{hook}/remove"),
            (f"/apps/{shop.app}/keys", f"keys/{key}/revoke"),
        ):
            before, found, _ = (await shop.browser.get(page)).text.partition(form)
            assert found
            assert before.rfind('<details class="confirm">') > before.rfind("</details>")

    async def test_with_an_invalid_url_are_refused(self, shop: Shop) -> None:
        answer = await shop.submit(f"/apps/{shop.app}/webhooks", {"url": f"ftp://{HOSTILE}"})

        assert answer.status_code == 422
        assert HOSTILE not in answer.text


class TestKeys:
    async def test_are_shown_once_rotated_and_revoked(self, shop: Shop) -> None:
        path = f"/apps/{shop.app}/keys"
        made = await shop.send(path, {"kind": "secret", "label": HOSTILE})
        [key_id] = set(re.findall(rf"{path}/([0-9a-f-]+)/rotate", made.text))
        rotated = await shop.send(f"{path}/{key_id}/rotate", {})
        revoked = await shop.submit(f"{path}/{key_id}/revoke", {})
        listed = await shop.browser.get(path)

        assert KEY.search(made.text)
        assert KEY.findall(rotated.text)[0] != KEY.findall(made.text)[0]
        assert revoked.status_code == 303
        assert "Revoked" in listed.text
        assert not KEY.search(listed.text)
        assert HOSTILE not in listed.text

    async def test_are_created_with_allowed_origins(self, shop: Shop, api: Api) -> None:
        path = f"/apps/{shop.app}/keys"
        fields = {
            "kind": "publishable",
            "origins": "https://shop.example/\r\nhttp://localhost:3000",
        }

        made = await shop.submit(path, fields)
        refused = await shop.submit(path, {**fields, "kind": "secret"})

        assert made.status_code == 303
        assert refused.status_code == 422
        assert "https://shop.example/\nhttp://localhost:3000" in refused.text.replace("\r", "")
        [key] = api.operator_get(path)
        assert key["allowed_origins"] == ["https://shop.example", "http://localhost:3000"]

    async def test_allowed_origins_of_publishable_keys_are_replaced(
        self, shop: Shop, api: Api
    ) -> None:
        path = f"/apps/{shop.app}/keys"
        made = api.order(path, {"kind": "publishable"})
        secret = api.order(path, {"kind": "secret"})["id"]
        form = f"{path}/{made['id']}/origins"

        saved = await shop.submit(
            form, {"origins": "https://shop.example/\r\n\r\n http://localhost:3000\r\n"}
        )
        shown = (await shop.browser.get(path)).text
        refused = await shop.submit(form, {"origins": f"https://shop.example/{HOSTILE}"})
        of_secret = await shop.submit(
            f"{path}/{secret}/origins", {"origins": "https://shop.example"}
        )

        assert (saved.status_code, saved.headers["location"]) == (303, f"{path}#origins")
        assert "https://shop.example\nhttp://localhost:3000</textarea>" in shown
        assert "2 origins" in shown
        assert refused.status_code == of_secret.status_code == 422
        assert "must be scheme and host" in refused.text
        assert '<details class="origins" open>' in refused.text
        assert HOSTILE not in refused.text
        assert f"{path}/{secret}/origins" not in shown
        origins = [key["allowed_origins"] for key in api.operator_get(path)]
        assert origins == [[], ["https://shop.example", "http://localhost:3000"]]


class TestOrganization:
    async def test_invitation_link_admits_a_member_with_its_role(
        self, dashboard: Dashboard, api: Api, shop: Shop
    ) -> None:
        email = f"{uuid4().hex}@shop.example"
        fields = {"name": email.upper(), "role": "viewer"}
        made = await shop.send("/organization/invitations", fields)
        invitation = re.findall(r"/join\?invitation=(svc_invite_[0-9a-f]+)", made.text)[0]
        eve = dashboard.browser()
        await eve.join(invitation, email)
        api.order(f"/apps/{shop.app}/keys", {"kind": "publishable"})

        page = (await eve.get(f"/apps/{shop.app}/keys")).text

        assert "Create a key" not in page
        assert "Any request may use it" in page
        assert "<textarea" not in page
        assert "Your role, viewer" in page
        assert email in (await shop.browser.get("/organization")).text
        assert "member.joined" in (await shop.browser.get("/organization/changes")).text

    async def test_shows_the_settings_of_an_app_and_renames_it(self, shop: Shop, api: Api) -> None:
        settings = {"name": "web", "swap_lifetime_seconds": 900}
        api.order(f"/apps/{shop.app}", settings)
        api.order(f"/apps/{shop.app}/fee", {"fee_basis_points": 25})
        api.order(f"/apps/{shop.app}/limits", {"creates_per_minute": 1500})
        api.order(f"/apps/{shop.app}/frame_origins", {"origins": ["https://shop.example"]})

        page = (await shop.browser.get("/organization")).text
        renamed = await shop.submit(f"/organization/apps/{shop.app}", {"name": HOSTILE})

        for text in ("0.25 %", "1,500", "https://shop.example", "900", "An operator"):
            assert text in page
        assert renamed.status_code == 303
        app = api.operator_get(f"/apps/{shop.app}")
        assert (app["name"], app["swap_lifetime_seconds"]) == (HOSTILE, 900)
        assert HOSTILE not in (await shop.browser.get("/organization")).text

    async def test_refuses_to_invite_a_name_that_is_no_email(self, shop: Shop) -> None:
        answer = await shop.submit("/organization/invitations", {"name": "Eve", "role": "viewer"})

        assert answer.status_code == 422
        assert "This is not an email address." in answer.text

    async def test_creates_an_app_and_redirects_to_its_keys(self, shop: Shop) -> None:
        answer = await shop.submit("/organization/apps", {"name": HOSTILE, "environment": "test"})
        page = await shop.browser.get(answer.headers["location"])

        assert answer.status_code == 303
        assert "No key yet" in page.text
        assert HOSTILE not in page.text

    async def test_refuses_to_remove_the_last_owner(self, shop: Shop, api: Api) -> None:
        [owner] = api.operator_get(f"/organizations/{shop.organization}/members")

        answer = await shop.submit(f"/organization/members/{owner['id']}/remove", {})

        assert answer.status_code == 422
        assert "owner" in answer.text


async def test_origins_that_may_frame_the_pay_page_are_saved(
    dashboard: Dashboard, api: Api
) -> None:
    shop = await a_shop(dashboard, api)
    path = f"/apps/{shop.app}/pay-page"

    saved = await shop.submit(
        path, {"origins": "https://shop.example/\r\n\r\n http://localhost:3000\r\n"}
    )
    shown = (await shop.browser.get(path)).text
    refused = await shop.submit(path, {"origins": f"https://shop.example/{HOSTILE}"})

    assert saved.status_code == 303
    assert "https://shop.example\nhttp://localhost:3000</textarea>" in shown
    assert refused.status_code == 422
    assert "must be scheme and host" in refused.text
    assert HOSTILE not in refused.text
    origins = api.operator_get(f"/apps/{shop.app}")["frame_origins"]
    assert origins == ["https://shop.example", "http://localhost:3000"]


async def test_listener_pages_say_that_messages_are_stored(dashboard: Dashboard, api: Api) -> None:
    shop = await a_shop(dashboard, api)
    listener = api.order(f"/apps/{shop.app}/webhooks", {"url": "listen:"})["id"]
    path = f"/apps/{shop.app}/webhooks/{listener}"

    tested = await shop.submit(f"{path}/test", {})
    message = (await shop.browser.get(tested.headers["location"])).text
    resent = await shop.send(f"{tested.headers['location']}/replay", {})
    page = (await shop.browser.get(path)).text
    home = (await shop.browser.get(f"/apps/{shop.app}")).text

    assert "The test event is stored. A running swapctl listen forwards it." in message
    assert "The message is stored. A running swapctl listen forwards it." in resent.text
    assert ">stored<" in message
    assert "Stored, and sent nowhere" in message
    assert "was disabled" not in message
    assert ">listen:<" not in message
    assert "First delivered" not in message  # it is not known
    assert "swapctl listen" in page
    assert ">stored<" in page
    assert "Rotate the secret" not in page
    assert listener not in home  # whether its messages were forwarded is not known


async def test_a_swap_shows_messages_of_a_listener_as_stored(
    dashboard: Dashboard, api: Api
) -> None:
    shop = await a_shop(dashboard, api)
    swap = a_swap(shop.app)
    await api.store(swap)
    listener = api.order(f"/apps/{shop.app}/webhooks", {"url": "listen:"})["id"]
    await api.store_message(listener, shop.app, swap.swap_id, "a text", attempts=0)

    page = (await shop.browser.get(f"/apps/{shop.app}/swaps/{swap.swap_id}")).text

    assert ">stored<" in page
    assert ">Listener<" in page
    assert "discarded" not in page


async def test_message_with_a_cut_log_names_no_first_attempt(
    dashboard: Dashboard, api: Api
) -> None:
    shop = await a_shop(dashboard, api)
    hook = api.order(f"/apps/{shop.app}/webhooks", {"url": HOOK})["id"]
    message = await api.store_message(hook, shop.app, uuid4(), "a text", attempts=21)

    page = (await shop.browser.get(f"/apps/{shop.app}/webhooks/{hook}/messages/{message}")).text

    assert "not known: only the latest 20 attempts are shown" in page
    assert "Oldest attempt shown" in page
    assert "First attempt" not in page


@pytest.mark.parametrize(
    ("attempts", "text"),
    [(0, "The first one is under way."), (1, "Another attempt is under way.")],
)
async def test_the_end_of_a_claim_is_not_shown_as_the_next_attempt(
    dashboard: Dashboard, api: Api, attempts: int, text: str
) -> None:
    shop = await a_shop(dashboard, api)
    hook = api.order(f"/apps/{shop.app}/webhooks", {"url": HOOK})["id"]
    path = f"/apps/{shop.app}/webhooks/{hook}"
    message = await api.store_message(hook, shop.app, uuid4(), "a text", attempts=attempts)
    await api.claim_message(message)

    page = (await shop.browser.get(f"{path}/messages/{message}")).text
    listed = (await shop.browser.get(path)).text

    assert text in page
    assert " is due " not in page
    for shown in (page, listed):
        assert ">being sent<" in shown
        assert "in 59 min" not in shown


async def test_endpoint_disabled_by_an_operator_cannot_be_enabled_by_a_member(
    dashboard: Dashboard, api: Api
) -> None:
    shop = await a_shop(dashboard, api)
    by_operator, by_member = [
        f"/apps/{shop.app}/webhooks/"
        + api.order(f"/apps/{shop.app}/webhooks", {"url": f"{HOOK}/{number}"})["id"]
        for number in range(2)
    ]
    api.order(f"/webhooks/{by_operator.rpartition('/')[2]}/disable", {})
    await shop.submit(f"{by_member}/disable", {})

    operators, members = [(await shop.browser.get(path)).text for path in (by_operator, by_member)]

    assert "only an operator can enable it again" in operators
    assert "once it is enabled, send again" in operators
    assert ">Enable<" not in operators
    assert "enable it, then send again" in members
    assert ">Enable<" in members


@pytest.mark.parametrize("role", ["viewer", "developer"])
async def test_forms_about_a_live_app_are_refused_below_admin(
    dashboard: Dashboard, api: Api, role: str
) -> None:
    shop = await a_shop(dashboard, api, role)
    live = api.an_app(shop.organization, "live", "live")
    key = api.order(f"/apps/{live}/keys", {"kind": "publishable"})["id"]
    orders: list[tuple[str, dict[str, str]]] = [
        ("/organization/invitations", {"name": "eve@shop.example", "role": "owner"}),
        ("/organization", {"name": "Taken over"}),
        (f"/organization/apps/{live}", {"name": "taken over"}),
        (f"/apps/{live}/keys", {"kind": "secret"}),
        (f"/apps/{live}/keys/{key}/origins", {"origins": "https://shop.example"}),
        (f"/apps/{live}/webhooks", {"url": "https://shop.example"}),
        (f"/apps/{live}/pay-page", {"origins": "https://shop.example"}),
    ]
    for path, fields in orders:
        answer = await shop.submit(path, fields)
        assert answer.status_code == 422, path
        assert "This needs the role" in answer.text, path


async def test_objects_of_another_organization_are_not_changed(
    dashboard: Dashboard, api: Api
) -> None:
    victim, other = await a_shop(dashboard, api), await a_shop(dashboard, api)
    hook = api.order(f"/apps/{victim.app}/webhooks", {"url": HOOK})["id"]
    message = api.order(f"/webhooks/{hook}/test", {})["message_id"]
    own = api.order(f"/apps/{other.app}/webhooks", {"url": HOOK})["id"]
    key = api.order(f"/apps/{victim.app}/keys", {"kind": "publishable"})["id"]
    [owner] = api.operator_get(f"/organizations/{victim.organization}/members")
    paths = [
        f"/apps/{victim.app}/webhooks",
        f"/apps/{victim.app}/webhooks/{hook}/remove",
        f"/apps/{other.app}/webhooks/{hook}/remove",
        f"/apps/{other.app}/webhooks/{hook}/rotate",
        f"/apps/{other.app}/webhooks/{hook}/events",
        f"/apps/{victim.app}/webhooks/{hook}/events",
        f"/apps/{other.app}/webhooks/{hook}/replay",
        f"/apps/{other.app}/webhooks/{hook}/messages/{message}/replay",
        f"/apps/{victim.app}/webhooks/{hook}/messages/{message}/replay",
        f"/apps/{victim.app}/keys",
        f"/apps/{victim.app}/pay-page",
        f"/apps/{other.app}/keys/{key}/revoke",
        f"/apps/{other.app}/keys/{key}/rotate",
        f"/apps/{other.app}/keys/{key}/origins",
        f"/apps/{victim.app}/keys/{key}/origins",
        f"/organization/apps/{victim.app}",
        f"/organization/members/{owner['id']}/remove",
        f"/organization/members/{owner['id']}/role",
    ]
    for path in paths:
        fields = {"role": "viewer", "since": "2026-01-01T00:00", "origins": "https://eve.example"}
        answer = await other.submit(path, fields)
        assert answer.status_code in (404, 422), path
    for path in (
        f"/apps/{victim.app}/webhooks",
        f"/apps/{victim.app}/keys",
        f"/apps/{victim.app}/requests",
        f"/apps/{victim.app}/pay-page",
        f"/apps/{victim.app}/webhooks/{hook}/messages/{message}",
        f"/apps/{other.app}/webhooks/{hook}/messages/{message}",
        f"/apps/{other.app}/webhooks/{own}/messages/{message}",
    ):
        assert (await other.browser.get(path)).status_code == 404, path

    [still] = api.operator_get(f"/organizations/{victim.organization}/members")
    assert still == owner
    assert len(api.operator_get(f"/apps/{victim.app}/webhooks")) == 1
    [unchanged] = api.operator_get(f"/apps/{victim.app}/keys")
    assert (unchanged["revoked_at"], unchanged["allowed_origins"]) == (None, [])
