"""The list of swaps and one swap: no data of other tenants, and no executed content."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import uuid4

import pytest

from services.dashboard.tests.shop import Api, Browser, Dashboard, a_swap, a_transaction
from swap_contracts.swaps import SwapChanged

pytestmark = pytest.mark.connected
HOSTILE = "\"><script>alert(1)</script><img src=x onerror=alert(2)>'{{7*7}}"


@dataclass(frozen=True, slots=True)
class Tenant:
    browser: Browser
    organization: str
    app: str
    swap: SwapChanged
    hook: str
    message: str

    @property
    def path(self) -> str:
        return f"/apps/{self.app}/swaps"


async def a_tenant(dashboard: Dashboard, api: Api, name: str, role: str = "owner") -> Tenant:
    organization = api.an_organization(name)
    app = api.an_app(organization, f"app of {name}")
    deposit = a_transaction("input")
    swap = a_swap(app, reference_id=f"order of {name}", transactions=(deposit,))
    await api.store(swap)
    hook = api.order(f"/apps/{app}/webhooks", {"url": "http://127.0.0.1:9999/hooks"})["id"]
    message = await api.store_message(hook, app, swap.swap_id, f"answer to {name}")
    browser = dashboard.browser()
    await browser.join(api.invite(organization, role), f"{uuid4().hex}@shop.example")
    return Tenant(browser, organization, app, swap, hook, message)


@pytest.fixture
async def tenant(dashboard: Dashboard, api: Api) -> Tenant:
    return await a_tenant(dashboard, api, f"tenant {uuid4().hex}")


class TestList:
    async def test_shows_the_swaps_of_an_app(self, tenant: Tenant) -> None:
        page = (await tenant.browser.get(tenant.path)).text

        assert str(tenant.swap.swap_id) in page
        assert str(tenant.swap.reference_id) in page
        assert "Waiting for deposit" in page
        assert "2,996" in page

    @pytest.mark.parametrize("what", ["id", "hash"])
    async def test_redirects_to_the_swap_of_an_id_or_hash(self, tenant: Tenant, what: str) -> None:
        named = {
            "id": str(tenant.swap.swap_id).upper(),
            "hash": str(tenant.swap.transactions[0].transaction_hash),
        }
        answer = await tenant.browser.get(tenant.path, params={"q": named[what]})

        assert answer.status_code == 303
        assert answer.headers["location"] == f"{tenant.path}/{tenant.swap.swap_id}"

    async def test_finds_by_address_and_by_reference(self, api: Api, tenant: Tenant) -> None:
        other = a_swap(tenant.app, destination_address="0x" + "7" * 40, reference_id="another")
        await api.store(other)
        by_address = await tenant.browser.get(tenant.path, params={"q": "0x" + "7" * 40})
        by_reference = await tenant.browser.get(
            tenant.path, params={"q": str(tenant.swap.reference_id)}
        )

        for answer, shown, hidden in (
            (by_address, other, tenant.swap),
            (by_reference, tenant.swap, other),
        ):
            assert str(shown.swap_id) in answer.text
            assert str(hidden.swap_id) not in answer.text

    @pytest.mark.parametrize(
        "query",
        [
            {"q": "no such reference"},
            {"q": "0x" + "1" * 64},
            {"q": "00000000-0000-4000-8000-000000000001"},
            {"q": HOSTILE},
            {"status": "completed"},
            {"since": "2999-01-01"},
            {"until": "2020-01-01"},
        ],
    )
    async def test_reports_that_nothing_matches(
        self, tenant: Tenant, query: dict[str, str]
    ) -> None:
        answer = await tenant.browser.get(tenant.path, params=query)

        assert answer.status_code == 200
        assert "Nothing matches" in answer.text

    @pytest.mark.parametrize(
        "query",
        ["status=evil", "since=yesterday", "since=2026-13-45", "q=" + "x" * 5000, "page=-1"],
    )
    async def test_ignores_invalid_filters(self, tenant: Tenant, query: str) -> None:
        assert (await tenant.browser.get(f"{tenant.path}?{query}")).status_code == 200

    async def test_next_page_begins_after_the_last_swap(self, api: Api, tenant: Tenant) -> None:
        more = [a_swap(tenant.app) for _ in range(30)]
        await api.store(*more)
        seen: set[str] = set()
        path: str | None = tenant.path
        pages = 0
        while path:
            page = (await tenant.browser.get(path)).text
            pages += 1
            seen |= {str(s.swap_id) for s in (*more, tenant.swap) if str(s.swap_id) in page}
            before, found, _ = page.partition('" rel="next"')
            path = before.rpartition('href="')[2].replace("&amp;", "&") if found else None

        assert pages == 2
        assert len(seen) == 31


class TestSwap:
    async def test_shows_status_transactions_and_quote(self, api: Api, tenant: Tenant) -> None:
        payout = a_transaction("output", status="pending", block_number=9)
        paid = a_swap(
            tenant.app,
            status="completed",
            transactions=(tenant.swap.transactions[0], payout),
            closed_at=datetime.now(UTC),
        )
        await api.store(paid)

        page = (await tenant.browser.get(f"{tenant.path}/{paid.swap_id}")).text

        assert "Completed" in page
        assert str(payout.transaction_hash) in page
        assert "Quoted and delivered" in page
        assert "curl -H" in page
        assert "svc_user_" not in page

    async def test_shows_the_webhooks_that_were_sent_for_it(self, tenant: Tenant) -> None:
        page = (await tenant.browser.get(f"{tenant.path}/{tenant.swap.swap_id}")).text
        [link] = re.findall(rf'href="([^"]+/messages/{tenant.message})"', page)
        shown = (await tenant.browser.get(link)).text

        assert "http://127.0.0.1:9999/hooks" in page
        assert "12 ms" in page
        assert f"{tenant.path}/{tenant.swap.swap_id}" in shown
        assert "The rest of the body is not stored" in shown

    async def test_is_not_found_in_another_app(self, api: Api, tenant: Tenant) -> None:
        other = api.an_app(tenant.organization)

        answer = await tenant.browser.get(f"/apps/{other}/swaps/{tenant.swap.swap_id}")

        assert answer.status_code == 404

    @pytest.mark.parametrize("path", ["x", "..%2f..%2fme", "00000000-0000-4000-8000-000000000001"])
    async def test_with_an_unknown_or_invalid_id_is_not_found(
        self, tenant: Tenant, path: str
    ) -> None:
        assert (await tenant.browser.get(f"{tenant.path}/{path}")).status_code == 404


class TestHostileText:
    async def test_is_shown_as_text(self, api: Api, dashboard: Dashboard) -> None:
        tenant = await a_tenant(dashboard, api, HOSTILE)
        pages = [
            tenant.path,
            f"{tenant.path}?q={HOSTILE}",
            f"{tenant.path}/{tenant.swap.swap_id}",
            f"/apps/{tenant.app}/webhooks/{tenant.hook}",
            f"/apps/{tenant.app}/webhooks/{tenant.hook}/messages/{tenant.message}",
            "/account",
            f"/sign-in?next={HOSTILE}",
            f"/join?invitation={HOSTILE}",
        ]
        for path in pages:
            text = (await tenant.browser.get(path)).text
            assert "<script>alert" not in text, path
            assert "<img src=x" not in text, path
            assert "49" not in text.partition("{{7*7}}")[0][-20:], path

        assert "&lt;script&gt;" in (await tenant.browser.get(tenant.path)).text


class TestTenants:
    async def test_see_nothing_of_one_another(self, dashboard: Dashboard, api: Api) -> None:
        victim = await a_tenant(dashboard, api, f"victim {uuid4().hex}")
        other = await a_tenant(dashboard, api, f"other {uuid4().hex}")
        marks = {victim.organization, victim.app, str(victim.swap.reference_id), "answer to victim"}
        hooks = f"/apps/{victim.app}/webhooks/{victim.hook}"
        hash_ = victim.swap.transactions[0].transaction_hash
        paths = [
            *("/", "/account", other.path),
            f"{other.path}?q={victim.swap.swap_id}",
            f"{other.path}?q={hash_}",
            f"{other.path}?starting_after={victim.swap.swap_id}",
            f"{other.path}/{victim.swap.swap_id}",
            f"{other.path}/{victim.swap.swap_id}/live",
            victim.path,
            f"{victim.path}/{victim.swap.swap_id}",
            f"{victim.path}/{victim.swap.swap_id}/live",
            hooks,
            f"{hooks}/messages/{victim.message}",
            f"/apps/{other.app}/webhooks/{other.hook}/messages/{victim.message}",
        ]
        for path in paths:
            answer = await other.browser.get(path, follow_redirects=True)
            # Links of the page's own address are the asker's words.
            shown = answer.text.replace(str(victim.swap.swap_id), "")
            assert not [mark for mark in marks if mark in shown], path
        for path in paths[8:]:
            assert (await other.browser.get(path)).status_code == 404, path

    async def test_removed_member_loses_access_at_once(
        self, dashboard: Dashboard, api: Api, tenant: Tenant
    ) -> None:
        [member] = [
            one
            for one in api.operator_get(f"/organizations/{tenant.organization}/members")
            if one["role"] == "owner"
        ]
        api.order(
            f"/organizations/{tenant.organization}/invitations", {"name": "x", "role": "owner"}
        )
        second = dashboard.browser()
        await second.join(api.invite(tenant.organization), f"{uuid4().hex}@shop.example")
        api.order(f"/members/{member['id']}/remove", {})

        page = await tenant.browser.get(tenant.path)
        account = await tenant.browser.get("/account")

        assert (page.status_code, page.headers["location"]) == (303, "/account")
        assert "You are in no organization now" in account.text
        assert str(tenant.swap.swap_id) not in account.text


class TestPaying:
    async def test_shows_the_missing_amount_of_a_partial_deposit(
        self, api: Api, tenant: Tenant
    ) -> None:
        part = a_transaction("input", base_units=str(4 * 10**17))
        swap = a_swap(tenant.app, transactions=(part,))
        await api.store(swap)

        page = (await tenant.browser.get(f"{tenant.path}/{swap.swap_id}")).text

        assert "Paid in part" in page
        assert "goes back if there is a refund address" in page
        assert re.search(r"missing .*?0\.6 ", page)
        assert "Paid in part" not in (await tenant.browser.get(tenant.path)).text

    async def test_shows_the_link_to_the_pay_page(self, tenant: Tenant) -> None:
        page = (await tenant.browser.get(f"{tenant.path}/{tenant.swap.swap_id}")).text

        link = f"https://pay.example/pay/{tenant.swap.swap_id}?token="
        assert f'data-copy="{link}' in page
        assert 'class="qr"' in page

    async def test_explorer_links_are_safe(self, tenant: Tenant) -> None:
        page = (await tenant.browser.get(f"{tenant.path}/{tenant.swap.swap_id}")).text

        assert "javascript:" not in page
        for link in re.findall(r'<a[^>]*target="_blank"[^>]*>', page):
            assert 'rel="noopener' in link
