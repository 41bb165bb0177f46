"""Every page of a member, from its routes: forms by role, and ids of another organization."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Final
from uuid import uuid4

import pytest

from services.dashboard.tests.integration.test_forms import (
    ACCOUNT_FORMS,
    ADDRESS,
    APP,
    HOOK,
    KEY,
    MEMBER_FORMS,
    MemberForm,
    Shop,
    a_shop,
    shown,
)
from services.dashboard.tests.shop import Api, Browser, Dashboard, a_bench
from swap_dashboard.http.visitors import RANKS
from tests.plugins.postgres import Database
from tests.support.walks import page_routes, shape

pytestmark = [pytest.mark.connected, pytest.mark.timeout(300)]
MESSAGE: Final = f"{HOOK}/messages/{{message_id}}"
MEMBER: Final = "/organization/members"
BENCH: Final = f"{APP}/bench"
CHANGES: Final = "/organization/changes"  # for admins
# The pages of a member, with the forms that an owner finds on each in one of its states.
MEMBER_PAGES: Final[Mapping[str, frozenset[str]]] = {
    "/": frozenset(),
    APP: frozenset(),
    f"{APP}/swaps": frozenset(),
    f"{APP}/swaps.csv": frozenset(),
    f"{APP}/swaps/{{swap_id}}": frozenset(),
    f"{APP}/swaps/{{swap_id}}/transactions": frozenset(),
    f"{APP}/requests": frozenset(),
    f"{APP}/limits": frozenset(),
    f"{APP}/fees": frozenset(),
    f"{APP}/webhooks": frozenset({f"{APP}/webhooks"}),
    HOOK: frozenset(
        {
            *(f"{HOOK}/{one}" for one in ("test", "rotate", "enable", "disable", "remove")),
            *(f"{HOOK}/events", f"{HOOK}/replay", f"{MESSAGE}/replay"),
        }
    ),
    MESSAGE: frozenset({f"{MESSAGE}/replay"}),
    f"{APP}/keys": frozenset({f"{APP}/keys", f"{KEY}/rotate", f"{KEY}/origins", f"{KEY}/revoke"}),
    f"{APP}/pay-page": frozenset({f"{APP}/pay-page"}),
    BENCH: frozenset({BENCH, f"{BENCH}/join", f"{BENCH}/lifetime"}),
    "/organization": frozenset(
        {
            *("/organization", "/organization/apps", "/organization/apps/{app_id}"),
            *("/organization/invitations", "/organization/invitations/{invitation_id}/revoke"),
            *(f"{MEMBER}/{{member_id}}/role", f"{MEMBER}/{{member_id}}/remove"),
            *(f"{MEMBER}/{{owner_id}}/role", f"{MEMBER}/{{owner_id}}/remove"),
        }
    ),
    CHANGES: frozenset(),
    "/account": frozenset(),
    "/account/second-factor": frozenset(),
}
# Without an end, so no test reads them to it.
STREAMS: Final = (f"{APP}/swaps/live", f"{APP}/swaps/{{swap_id}}/live")
# The token of a pay link is the right to read them.
PAY_PAGES: Final = ("/pay/{swap_id}", "/pay/{swap_id}/data", "/pay/{swap_id}/events")
PUBLIC_PAGES: Final = (
    *("/sign-in", "/sign-in/link", "/join", "/pay", "/status", "/robots.txt", "/static"),
)
ACTION: Final = re.compile(r'\s(?:form)?action="([^"]*)"|\shx-(?:post|put|patch|delete)="([^"]*)"')
# A stream that is opened by mistake ends the test instead of blocking it.
ANSWER_SECONDS: Final = 20


@pytest.fixture
async def dashboard(database: Database, api: Api, tmp_path: Path) -> AsyncIterator[Dashboard]:
    async with a_bench(api, tmp_path) as url:
        made = Dashboard(database, api, public_url=ADDRESS, bench_url=url)
        yield made
        await made.close()


async def a_member(dashboard: Dashboard, api: Api, shop: Shop, role: str) -> Browser:
    browser = dashboard.browser()
    invitation = api.invite(shop.ids["organization_id"], role)
    await browser.join(invitation, f"{uuid4().hex}@shop.example")
    return browser


def name_of(form: MemberForm) -> str:
    """Return the route of a form, with the name of the id that each parameter has."""
    params = {
        name: f"{{{value}}}" if value.endswith("_id") else value
        for name, value in form.params.items()
    }
    return re.sub(r"{(\w+)}", lambda found: params.get(found[1], found[0]), form.route)


def permitted_forms(role: str, environment: str) -> set[str]:
    """Return the forms that a role may send; live apps need an admin for those of a developer."""
    roles = {name_of(one): one.role for one in MEMBER_FORMS}
    for order in ("role", "remove"):
        roles[f"{MEMBER}/{{owner_id}}/{order}"] = "owner"
    if environment == "live":
        in_apps = (one for one in roles if "{app_id}" in one)
        roles |= dict.fromkeys(in_apps, "admin")
    return {one for one, needed in roles.items() if RANKS.index(role) >= RANKS.index(needed)}


def names_of_ids(api: Api, ids: Mapping[str, str]) -> dict[str, str]:
    """Return the name of each id that an action may have."""
    names = {value: name for name, value in ids.items()}
    for one in api.operator_get(f"/organizations/{ids['organization_id']}/members"):
        names[one["id"]] = "owner_id" if one["role"] == "owner" else "member_id"
    for one in api.operator_get(f"/apps/{ids['app_id']}/keys"):
        names[one["id"]] = "key_id"
    return names


async def forms_shown(shop: Shop, names: Mapping[str, str], route: str, role: str) -> set[str]:
    """Return the forms of a page, without those about the account.

    :param names: of the ids in actions.
    """
    answer = await shop.browser.get(route.format_map(shop.ids))
    is_refused = route == CHANGES and RANKS.index(role) < RANKS.index("admin")
    expected = 403 if is_refused else 303 if route == "/" else 200
    assert answer.status_code == expected, (route, answer.status_code)
    actions = {one or other for one, other in ACTION.findall(answer.text)}
    found = set()
    for action in actions:
        parts = action.partition("?")[0].split("/")
        found.add("/".join(f"{{{names[one]}}}" if one in names else one for one in parts))
    return {one for one in found if one not in ACCOUNT_FORMS and not one.startswith("/account/")}


def test_every_page_route_is_in_a_table_of_pages(dashboard: Dashboard) -> None:
    tables = (*MEMBER_PAGES, *STREAMS, *PAY_PAGES, *PUBLIC_PAGES)

    assert page_routes(dashboard.parts.site.routes) == {shape(one) for one in tables}


def test_every_form_of_a_member_is_on_a_page() -> None:
    assert set().union(*MEMBER_PAGES.values()) == permitted_forms("owner", "test")


@pytest.mark.parametrize("environment", ["test", "live"])
@pytest.mark.parametrize("role", RANKS)
async def test_pages_show_the_forms_that_the_role_permits(
    dashboard: Dashboard, api: Api, role: str, environment: str
) -> None:
    shop = await a_shop(dashboard, api, role, environment=environment)
    owner = await a_member(dashboard, api, shop, "owner")
    await a_member(dashboard, api, shop, "viewer")
    app, hook = f"/apps/{shop.ids['app_id']}", f"/webhooks/{shop.ids['webhook_id']}"
    # The bench answers for test apps alone.
    pages = {one for one in MEMBER_PAGES if environment == "test" or one != BENCH}
    names = names_of_ids(api, shop.ids)
    found = {one: await forms_shown(shop, names, one, role) for one in pages}
    await owner.submit(f"{app}{hook}/disable", {}, page="/organization")
    if environment == "test":
        await owner.submit(f"{app}/bench/join", {}, page="/organization")
    names = names_of_ids(api, shop.ids)  # the bench may have made a key
    for one in pages:
        found[one] |= await forms_shown(shop, names, one, role)

    permitted = permitted_forms(role, environment)
    assert found == {one: MEMBER_PAGES[one] & permitted for one in pages}


async def test_pages_of_another_organization_are_answered_like_unknown_ids(
    dashboard: Dashboard, api: Api
) -> None:
    victim, other = await a_shop(dashboard, api), await a_shop(dashboard, api)
    missing = {name: str(uuid4()) for name in victim.ids}
    differing = []
    for route in (*MEMBER_PAGES, *STREAMS, *PAY_PAGES):
        named = set(re.findall(r"{(\w+)}", route))
        # Each id alone beside own ones, and all of them.
        for names in [*({name} for name in named), named] if named else ():
            answers = []
            for ids in (victim.ids, missing):
                path = route.format_map({**other.ids, **{name: ids[name] for name in names}})
                query = "?token=none" if route in PAY_PAGES else ""
                async with asyncio.timeout(ANSWER_SECONDS):
                    answers.append(await other.browser.get(path + query))
            first, second = (shown(one, victim.ids, missing) for one in answers)
            if first != second or first[0] != 404:
                differing.append((route, sorted(names), first, second))

    assert not differing, differing
