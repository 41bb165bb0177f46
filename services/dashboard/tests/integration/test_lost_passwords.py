"""A lost password: a sign-in link permits one new password within ten minutes."""

from __future__ import annotations

from datetime import timedelta

import pytest

from services.dashboard.tests.integration.test_second_factor import enter_code, switch_on
from services.dashboard.tests.shop import PASSWORD, Api, Browser, Dashboard
from swap_dashboard.adapters.passwords import Argon2Passwords

pytestmark = [pytest.mark.connected, pytest.mark.timeout(300)]
ADA = "ada@shop.example"
NEW = "another horse battery"
WHERE = "/account/lost-password"


@pytest.fixture
async def ada(api: Api, dashboard: Dashboard) -> Browser:
    browser = dashboard.browser()
    await browser.join(api.invite(api.an_organization("Shop")), ADA)
    return browser


async def follow_link(dashboard: Dashboard, browser: Browser) -> str:
    """Sign a browser in with a new link, and return its session's token."""
    link = await dashboard.parts.make_sign_in_link(ADA)
    assert link is not None
    token = link.rpartition("=")[2]
    page = f"/sign-in/link?token={token}"
    answer = await browser.submit("/sign-in/link", {"token": token}, page=page)
    assert answer.status_code == 303, answer.text
    return session_of(browser)


def session_of(browser: Browser) -> str:
    [token] = [one.value for one in browser.client.cookies.jar if one.name == "swap_session"]
    return str(token)


async def replace_password(browser: Browser, wanted: str = NEW) -> int:
    answer = await browser.submit(WHERE, {"wanted": wanted}, page="/account")
    return answer.status_code


async def can_sign_in(dashboard: Dashboard, password: str) -> bool:
    return (await dashboard.browser().sign_in(ADA, password)).status_code == 303


async def test_session_opened_by_a_link_sets_a_new_password_once(
    dashboard: Dashboard, ada: Browser, capsys: pytest.CaptureFixture[str]
) -> None:
    browser = dashboard.browser()
    await follow_link(dashboard, browser)
    other_link = await dashboard.parts.make_sign_in_link(ADA)
    assert other_link is not None
    offered = (await browser.get("/account")).text

    done = await browser.submit(WHERE, {"wanted": NEW}, page="/account")
    again = await replace_password(browser, "a third horse battery")

    assert WHERE in offered
    assert done.status_code == 200
    assert WHERE not in done.text
    assert again == 422
    assert [await can_sign_in(dashboard, one) for one in (PASSWORD, NEW)] == [False, True]
    assert (await browser.get("/account")).status_code == 200
    assert (await ada.get("/account")).status_code == 303  # every other session ended
    link_path = other_link.removeprefix(dashboard.public_url)
    assert (await browser.get(link_path)).status_code == 410
    assert "lost password replaced" in capsys.readouterr().out


async def test_session_opened_by_a_password_cannot_replace_the_password(
    dashboard: Dashboard, ada: Browser
) -> None:
    by_password = dashboard.browser()
    await by_password.sign_in(ADA)

    assert [await replace_password(one) for one in (ada, by_password)] == [422, 422]
    assert WHERE not in (await by_password.get("/account")).text
    assert [await can_sign_in(dashboard, one) for one in (PASSWORD, NEW)] == [True, False]


async def test_session_opened_by_a_link_cannot_replace_the_password_after_ten_minutes(
    dashboard: Dashboard, ada: Browser
) -> None:
    browser = dashboard.browser()
    await follow_link(dashboard, browser)
    dashboard.ahead += timedelta(minutes=10, seconds=1)

    assert WHERE not in (await browser.get("/account")).text
    assert await replace_password(browser) == 422
    assert not await can_sign_in(dashboard, NEW)


async def test_session_from_before_the_link_cannot_replace_the_password(
    dashboard: Dashboard, ada: Browser
) -> None:
    """A session that was planted in the browser is not the one that the link opens."""
    planted = session_of(ada)
    opened = await follow_link(dashboard, ada)
    thief = dashboard.browser()
    thief.client.cookies.set("swap_session", planted)

    assert opened != planted
    assert await replace_password(thief) == 303  # the planted session ended: it has to sign in
    assert not await can_sign_in(dashboard, NEW)


async def test_replacement_with_a_forged_form_token_is_refused(
    dashboard: Dashboard, ada: Browser
) -> None:
    browser = dashboard.browser()
    await follow_link(dashboard, browser)

    answer = await browser.client.post(WHERE, data={"wanted": NEW, "form_token": "forged"})

    assert answer.status_code == 403
    assert not await can_sign_in(dashboard, NEW)


async def test_replacement_needs_the_second_factor_first(
    dashboard: Dashboard, ada: Browser
) -> None:
    device, _ = await switch_on(dashboard, ada)
    link = await dashboard.parts.make_sign_in_link(ADA)
    assert link is not None
    browser, token = dashboard.browser(), link.rpartition("=")[2]
    where = f"/sign-in/link?token={token}"
    page = await browser.submit("/sign-in/link", {"token": token}, page=where)

    before = await browser.client.post(WHERE, data={"wanted": NEW})
    entered = await enter_code(browser, page, device.code())
    after = await replace_password(browser)

    assert before.status_code == 303  # there is no session yet
    assert entered.status_code == 303
    assert after == 200


@pytest.mark.parametrize("weak", ["short", "ada" * 5, "a" * 20])
async def test_weak_password_is_refused_and_a_strong_one_is_still_accepted(
    dashboard: Dashboard, ada: Browser, weak: str
) -> None:
    browser = dashboard.browser()
    await follow_link(dashboard, browser)

    assert await replace_password(browser, weak) == 422
    assert await replace_password(browser) == 200


@pytest.mark.parametrize("has_factor", [False, True], ids=["password", "second factor"])
async def test_sign_in_begun_before_the_replacement_opens_no_session(
    dashboard: Dashboard, ada: Browser, monkeypatch: pytest.MonkeyPatch, *, has_factor: bool
) -> None:
    if has_factor:
        device, _ = await switch_on(dashboard, ada)
        owner, thief = ada, dashboard.browser()
        link = await dashboard.parts.make_sign_in_link(ADA)
        assert link is not None
        token = link.rpartition("=")[2]
        form = f"/sign-in/link?token={token}"
        page = await owner.submit("/sign-in/link", {"token": token}, page=form)
        await enter_code(owner, page, device.code())
    else:
        owner, thief = dashboard.browser(), dashboard.browser()
        await follow_link(dashboard, owner)
    matches, replaced = Argon2Passwords.matches, []

    async def matches_after_replacement(
        self: Argon2Passwords, password_hash: str | None, password: str
    ) -> bool:
        outcome = await matches(self, password_hash, password)
        if not replaced:
            replaced.append(await replace_password(owner))
        return outcome

    monkeypatch.setattr(Argon2Passwords, "matches", matches_after_replacement)
    late = await thief.sign_in(ADA, PASSWORD)

    assert replaced == [200]
    assert late.status_code == 401
    assert (await thief.get("/account")).status_code == 303
    assert (await owner.get("/account")).status_code == 200
