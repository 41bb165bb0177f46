"""Every form of the dashboard, from its routes: refusals and their texts."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

import httpx
import pytest

from services.dashboard.tests.payer import a_link
from services.dashboard.tests.shop import (
    FORM_TOKEN,
    PASSWORD,
    Api,
    Browser,
    Dashboard,
    a_bench,
    a_swap,
)
from swap_dashboard.http.visitors import RANKS
from swap_runtime.postgres.sql import sql
from tests.plugins.postgres import Database
from tests.support.walks import form_routes

pytestmark = [pytest.mark.connected, pytest.mark.timeout(300)]
ADDRESS: Final = "http://dashboard.test"
APP: Final = "/apps/{app_id}"
HOOK: Final = f"{APP}/webhooks/{{webhook_id}}"
KEY: Final = f"{APP}/keys/{{key_id}}"
URL: Final = "http://127.0.0.1:9999/hooks"
ORIGIN: Final = {"origins": "https://shop.example"}
FACTOR: Final = "/account/second-factor"


@dataclass(frozen=True, slots=True)
class MemberForm:
    """A form about an object of an organization.

    :ivar role: the lowest role that may send it.
    :ivar params: further parameters of the path.
    """

    route: str
    role: str
    fields: Mapping[str, str] = field(default_factory=dict)
    params: Mapping[str, str] = field(default_factory=dict)


MEMBER_FORMS: Final = (
    MemberForm(f"{APP}/webhooks", "developer", {"url": f"{URL}/more"}),
    MemberForm(f"{HOOK}/events", "developer", {"wants_updates": "on"}),
    MemberForm(f"{HOOK}/rotate", "developer"),
    MemberForm(f"{HOOK}/replay", "developer", {"since": "2026-01-01T00:00"}),
    MemberForm(f"{HOOK}/messages/{{message_id}}/replay", "developer"),
    *(
        MemberForm(f"{HOOK}/{{order}}", "developer", params={"order": order})
        for order in ("enable", "disable", "test", "remove")
    ),
    MemberForm(f"{APP}/keys", "developer", {"kind": "secret"}),
    MemberForm(f"{KEY}/rotate", "developer"),
    MemberForm(f"{KEY}/origins", "developer", ORIGIN),
    MemberForm(f"{KEY}/revoke", "developer"),
    MemberForm(f"{APP}/pay-page", "developer", ORIGIN),
    MemberForm(f"{APP}/bench", "developer", {"outcome": "completed"}),
    MemberForm(f"{APP}/bench/join", "developer"),
    MemberForm(f"{APP}/bench/lifetime", "developer", {"shorten": "1"}),
    MemberForm("/organization", "admin", {"name": "Taken over"}),
    MemberForm("/organization/apps", "developer", {"name": "more"}),
    MemberForm("/organization/apps/{app_id}", "developer", {"name": "Taken over"}),
    MemberForm(
        "/organization/invitations", "admin", {"name": "eve@shop.example", "role": "viewer"}
    ),
    MemberForm("/organization/invitations/{id}/revoke", "admin", params={"id": "invitation_id"}),
    MemberForm("/organization/members/{id}/role", "admin", {"role": "viewer"}, {"id": "member_id"}),
    MemberForm("/organization/members/{id}/remove", "admin", params={"id": "member_id"}),
)
# Forms about the account of who is signed in: no role counts.
ACCOUNT_FORMS: Final[Mapping[str, Mapping[str, str]]] = {
    "/account/password": {"known": PASSWORD, "wanted": "another long password"},
    "/account/first-password": {"wanted": "another long password"},
    "/account/lost-password": {"wanted": "another long password"},
    "/account/sessions/{session_id}/end": {},
    "/account/organization": {"membership": "{membership_id}"},
    f"{FACTOR}/begin": {"password": PASSWORD},
    f"{FACTOR}/confirm": {"code": "000000"},
    f"{FACTOR}/codes": {"password": PASSWORD, "code": "000000"},
    f"{FACTOR}/remove": {"password": PASSWORD, "code": "000000"},
    "/account/sign-out-everywhere": {},
    "/sign-out": {},
}
# Forms before a sign-in: bound to a cookie of the form's page.
SIGN_IN_FORMS: Final[Mapping[str, Mapping[str, str]]] = {
    "/sign-in": {"email": "a@shop.example", "password": PASSWORD},
    "/sign-in/code": {"pending": "none", "code": "000000"},
    "/sign-in/link": {"token": "none"},
    "/join": {"invitation": "none", "email": "a@shop.example", "password": PASSWORD},
}
# Without a cookie: the token of a pay link is the right to send them.
PAY_FORMS: Final[Mapping[str, Mapping[str, str]]] = {
    "/pay": {"link": "none"},
    "/pay/{swap_id}": {"refund_address": "0x" + "7" * 40},
    "/pay/{swap_id}/authorize": {},
}
# What differs between two answers, and says nothing.
INCIDENTAL: Final = re.compile(
    r'<time.*?</time>|Request <code>\w+</code>|value="[^"]*"|[0-9a-f]{8}-[0-9a-f-]{27}'
)


@dataclass(frozen=True, slots=True)
class Shop:
    browser: Browser
    ids: Mapping[str, str]

    async def token(self) -> str:
        found = FORM_TOKEN.search((await self.browser.get("/account")).text)
        assert found is not None
        return found[1]

    def path(self, form: MemberForm, ids: Mapping[str, str]) -> str:
        params = {name: ids.get(value, value) for name, value in form.params.items()}
        return form.route.format_map({**ids, **params})

    async def send(self, form: MemberForm, ids: Mapping[str, str], token: str) -> httpx.Response:
        fields = {**form.fields, "form_token": token}
        return await self.browser.client.post(self.path(form, ids), data=fields)


@pytest.fixture
async def dashboard(database: Database, api: Api, tmp_path: Path) -> AsyncIterator[Dashboard]:
    async with a_bench(api, tmp_path) as url:
        made = Dashboard(database, api, public_url=ADDRESS, bench_url=url)
        yield made
        await made.close()


async def a_shop(
    dashboard: Dashboard, api: Api, role: str = "owner", *, environment: str = "test"
) -> Shop:
    """Create an organization with one object of each kind, and a signed-in member."""
    organization = api.an_organization(f"Shop {uuid4().hex}")
    app = api.an_app(organization, environment=environment)
    browser = dashboard.browser()
    colleague = await a_colleague(dashboard, api, organization)
    await browser.join(api.invite(organization, role), f"{uuid4().hex}@shop.example")
    hook = api.order(f"/apps/{app}/webhooks", {"url": URL})["id"]
    invited = api.order(
        f"/organizations/{organization}/invitations", {"name": "Ida", "role": "viewer"}
    )
    swap = a_swap(app)
    await api.store(swap)
    ids = {
        "organization_id": organization,
        "app_id": app,
        "webhook_id": hook,
        "message_id": api.order(f"/webhooks/{hook}/test", {})["message_id"],
        "key_id": api.order(f"/apps/{app}/keys", {"kind": "publishable"})["id"],
        "invitation_id": str(invited["id"]),
        "member_id": colleague,
        "swap_id": str(swap.swap_id),
    }
    return Shop(browser, ids)


async def a_colleague(dashboard: Dashboard, api: Api, organization: str) -> str:
    """Add another owner, and return the member's id: members may remove themselves."""
    await dashboard.browser().join(api.invite(organization), f"{uuid4().hex}@shop.example")
    [member] = api.operator_get(f"/organizations/{organization}/members")
    return str(member["id"])


def state_of(api: Api, ids: Mapping[str, str]) -> list[Any]:
    """Return the objects of an organization, from the operators' API."""
    app, organization = f"/apps/{ids['app_id']}", f"/organizations/{ids['organization_id']}"
    paths = (app, f"{app}/keys", f"{app}/webhooks", organization, f"{organization}/apps")
    more = (f"{organization}/members", f"{organization}/invitations")
    return [api.operator_get(path) for path in (*paths, *more)]


def shown(answer: httpx.Response, *ids: Mapping[str, str]) -> tuple[int, str]:
    """Return an answer without the values of the path."""
    text = answer.text
    for one in (value for named in ids for value in named.values()):
        text = text.replace(one, "")
    return answer.status_code, INCIDENTAL.sub("", text)


def test_every_form_route_is_in_a_table_of_forms(dashboard: Dashboard) -> None:
    tables = {one.route for one in MEMBER_FORMS} | {*ACCOUNT_FORMS, *SIGN_IN_FORMS, *PAY_FORMS}

    assert form_routes(dashboard.parts.site.routes) == tables


async def test_forms_without_the_form_token_of_the_session_are_refused(
    dashboard: Dashboard, api: Api
) -> None:
    shop, other = await a_shop(dashboard, api), await a_shop(dashboard, api)
    before, stolen = state_of(api, shop.ids), await other.token()
    member = [(shop.path(one, shop.ids), one.fields) for one in MEMBER_FORMS]
    ids = {**shop.ids, "session_id": str(uuid4()), "membership_id": str(uuid4())}
    account = [(route.format_map(ids), fields) for route, fields in ACCOUNT_FORMS.items()]
    accepted = []
    for path, fields in (*member, *account, *SIGN_IN_FORMS.items()):
        for token in ({}, {"form_token": ""}, {"form_token": stolen}):
            answer = await shop.browser.client.post(path, data={**fields, **token})
            if answer.status_code != 403:
                accepted.append((path, token, answer.status_code))

    assert not accepted, accepted
    assert state_of(api, shop.ids) == before
    assert (await shop.browser.get("/account")).status_code == 200


async def test_forms_without_a_session_lead_to_the_sign_in(dashboard: Dashboard, api: Api) -> None:
    shop, signed_out = await a_shop(dashboard, api), dashboard.browser()
    token, before = await shop.token(), state_of(api, shop.ids)
    ids = {**shop.ids, "session_id": str(uuid4()), "membership_id": str(uuid4())}
    paths = [shop.path(one, shop.ids) for one in MEMBER_FORMS]
    paths += [route.format_map(ids) for route in ACCOUNT_FORMS]
    for path in paths:
        answer = await signed_out.client.post(path, data={"form_token": token})
        assert answer.headers.get("location") == "/sign-in?next=/", path

    assert state_of(api, shop.ids) == before


@pytest.mark.parametrize("role", RANKS[:-2])
async def test_forms_above_the_members_role_are_refused(
    dashboard: Dashboard, api: Api, role: str
) -> None:
    shop = await a_shop(dashboard, api, role)
    token, before = await shop.token(), state_of(api, shop.ids)
    forms = [one for one in MEMBER_FORMS if RANKS.index(one.role) > RANKS.index(role)]
    accepted = []
    for form in forms:
        answer = await shop.send(form, shop.ids, token)
        if answer.status_code != 422 or "This needs the role" not in answer.text:
            accepted.append((form.route, answer.status_code))

    assert not accepted, accepted
    assert state_of(api, shop.ids) == before


async def test_ids_of_another_organization_are_answered_like_unknown_ids(
    dashboard: Dashboard, api: Api
) -> None:
    victim, other = await a_shop(dashboard, api), await a_shop(dashboard, api)
    token, before = await other.token(), state_of(api, victim.ids)
    missing = {name: str(uuid4()) for name in victim.ids}
    differing = []
    for form in MEMBER_FORMS:
        named = set(re.findall(r"{(\w+)}", form.route)) - set(form.params)
        named |= {value for value in form.params.values() if value in victim.ids}
        # Each id alone beside own ones, and all of them.
        for names in [*({name} for name in named), named] if named else ():
            others = {**other.ids, **{name: victim.ids[name] for name in names}}
            nothing = {**other.ids, **{name: missing[name] for name in names}}
            answers = [await other.send(form, ids, token) for ids in (others, nothing)]
            first, second = (shown(one, victim.ids, missing) for one in answers)
            if first != second or first[0] not in (404, 422):
                differing.append((form.route, sorted(names), first, second))

    assert not differing, differing
    assert state_of(api, victim.ids) == before


async def test_session_and_organization_of_another_account_are_not_changed(
    dashboard: Dashboard, api: Api
) -> None:
    victim = await a_shop(dashboard, api)
    async with dashboard.service.engine.connect() as connection:
        sessions = list(await connection.scalars(sql("SELECT id FROM session")))
    other = await a_shop(dashboard, api)
    account = (await victim.browser.get("/account")).text
    [membership] = set(re.findall(r'name="membership" value="([^"]+)"', account))
    post, guard = other.browser.client.post, {"form_token": await other.token()}
    chosen = [
        await post("/account/organization", data={"membership": id, **guard})
        for id in (membership, str(uuid4()))
    ]
    ended = [await post(f"/account/sessions/{id}/end", data=guard) for id in (*sessions, uuid4())]

    assert shown(chosen[0]) == shown(chosen[1])
    assert chosen[0].status_code == 404
    assert {(one.status_code, one.headers["location"]) for one in ended} == {(303, "/account")}
    assert (await victim.browser.get("/account")).status_code == 200


async def test_pay_forms_need_the_token_of_the_swaps_link(dashboard: Dashboard, api: Api) -> None:
    link, other = await a_link(api), await a_link(api)
    browser, differing = dashboard.browser(), []
    for route, fields in PAY_FORMS.items():
        if "{swap_id}" not in route:
            continue
        answers = [
            await browser.client.post(f"{route.format(swap_id=id)}?token={token}", data=fields)
            for id, token in (
                (link.swap.swap_id, other.token),
                (uuid4(), other.token),
                (link.swap.swap_id, "none"),
            )
        ]
        first, *rest = (one.status_code for one in answers)
        differing += [(route, first, one) for one in rest if one != first or first != 404]
    wrong = await browser.client.post("/pay", data=PAY_FORMS["/pay"])

    assert differing == []
    assert wrong.status_code == 422
