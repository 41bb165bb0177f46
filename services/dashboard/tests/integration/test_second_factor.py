"""Codes of a device and recovery codes, from their activation to a sign-in."""

from __future__ import annotations

import base64
import json
import os
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID, uuid4

import httpx
import pyotp
import pytest

from services.dashboard.tests.screens import BY_LINK
from services.dashboard.tests.shop import (
    PASSWORD,
    SEALING_KEY,
    Api,
    Browser,
    Dashboard,
    served_dashboard,
)
from swap_dashboard.adapters.device_codes import TimeCodes
from swap_dashboard.adapters.second_factors import PostgresSecondFactors
from swap_runtime.operators.identities import Operator, Role
from swap_runtime.postgres.sql import sql
from swap_runtime.sealing import Sealing, Unreadable
from tests.plugins.internal_port import internal_port
from tests.plugins.postgres import Database
from tests.support.browser import Page, find_browser, open_page
from tests.support.screens import AXE, WIDE, guide_image, look
from tests.support.walks import Walk, is_status

pytestmark = [pytest.mark.connected, pytest.mark.timeout(300)]
GUIDE = os.environ.get("GUIDE_PICTURES")
ADDRESS = "http://dashboard.test"
OTHER_KEY = base64.b64encode(bytes(range(32))).decode()
ADA = "ada@shop.example"
WHERE = "/account/second-factor"
SECRET = re.compile(r"<code>([A-Z2-7]{32})</code>")
CODES = re.compile(r"<li><code>([a-z2-7-]{19})</code></li>")
PENDING = re.compile(r'name="pending" value="([^"]+)"')
REMOVE = "/second-factors/remove"
OPERATORS = {f"token of {name}": Operator(name, Role.OPERATOR) for name in ("ann", "ben")}
FORM = re.compile(r'name="form_token" value="([^"]+)"')
# What a page shows once, under the name that the table of screens has for it.
SHOWN_ONCE = """
JSON.stringify({
  secret: document.querySelector(".secret code")?.textContent,
  recovery: document.querySelector(".codes code")?.textContent,
})
"""


class Device:
    """An authenticator app."""

    def __init__(self, dashboard: Dashboard, secret: str) -> None:
        self._dashboard = dashboard
        self._codes = pyotp.TOTP(secret)

    def code(self) -> str:
        """Return the next code: each is used once, so the clock advances."""
        self._dashboard.ahead += timedelta(seconds=30)
        return self._codes.at(self._dashboard.clock())


@pytest.fixture
async def ada(api: Api, dashboard: Dashboard) -> Browser:
    browser = dashboard.browser()
    await browser.join(api.invite(api.an_organization("Shop")), ADA)
    return browser


@asynccontextmanager
async def with_keys(
    database: Database, api: Api, before: Dashboard, *keys: str
) -> AsyncIterator[Dashboard]:
    """A dashboard that restarts with other keys; its clock continues."""
    made = Dashboard(database, api, public_url=ADDRESS, secret_keys=list(keys))
    made.ahead = before.ahead
    yield made
    await made.close()


async def account_of(dashboard: Dashboard) -> UUID:
    async with dashboard.service.engine.connect() as connection:
        found: UUID = await connection.scalar(sql("SELECT id FROM account"))
    return found


async def begin_enrolment(dashboard: Dashboard, browser: Browser) -> Device:
    shown = await browser.submit(f"{WHERE}/begin", {"password": PASSWORD}, page=WHERE)
    found = SECRET.search(shown.text)
    assert found is not None, shown.text
    return Device(dashboard, found[1])


async def switch_on(dashboard: Dashboard, browser: Browser) -> tuple[Device, list[str]]:
    shown = await browser.submit(f"{WHERE}/begin", {"password": PASSWORD}, page=WHERE)
    found = SECRET.search(shown.text)
    assert found is not None, shown.text
    device = Device(dashboard, found[1])
    token = FORM.search(shown.text)
    assert token is not None
    fields = {"code": device.code(), "form_token": token[1]}
    done = await browser.client.post(f"{WHERE}/confirm", data=fields)
    codes = CODES.findall(done.text)
    assert len(codes) == 10, done.text
    return device, codes


async def enter_code(browser: Browser, page: httpx.Response, code: str) -> httpx.Response:
    pending, token = PENDING.search(page.text), FORM.search(page.text)
    assert pending is not None, page.text
    assert token is not None
    fields = {"pending": pending[1], "next": "/account", "code": code, "form_token": token[1]}
    return await browser.client.post("/sign-in/code", data=fields)


async def test_codes_match_the_test_vector_of_rfc_6238() -> None:
    """RFC 6238, appendix B, in six digits, also for the adjacent half minutes."""
    secret = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ"
    at = datetime.fromtimestamp(59, UTC)

    assert TimeCodes().step_of(secret, "287082", at) == 1
    assert TimeCodes().step_of(secret, "287082", at + timedelta(seconds=30)) == 1
    assert TimeCodes().step_of(secret, "287082", at + timedelta(seconds=61)) is None
    assert TimeCodes().step_of(secret, "000000", at) is None


async def test_sign_in_needs_a_code_before_it_opens_a_session(
    dashboard: Dashboard, ada: Browser
) -> None:
    device, _ = await switch_on(dashboard, ada)
    browser = dashboard.browser()

    page = await browser.sign_in(ADA)
    assert page.status_code == 200
    assert "swap_session" not in browser.client.cookies
    wrong = await enter_code(browser, page, "000000")
    done = await enter_code(browser, page, device.code())

    assert wrong.status_code == 401
    assert (done.status_code, done.headers["location"]) == (303, "/account")
    assert (await browser.get("/account")).status_code == 200


async def test_a_used_code_opens_no_second_session(dashboard: Dashboard, ada: Browser) -> None:
    device, _ = await switch_on(dashboard, ada)
    first, second = dashboard.browser(), dashboard.browser()
    page, second_page = await first.sign_in(ADA), await second.sign_in(ADA)
    code = device.code()

    assert (await enter_code(first, page, code)).status_code == 303
    assert (await enter_code(second, second_page, code)).status_code == 401
    assert (await enter_code(first, page, device.code())).status_code == 401  # that sign-in is over


async def test_a_recovery_code_signs_in_once(dashboard: Dashboard, ada: Browser) -> None:
    _, codes = await switch_on(dashboard, ada)
    browser = dashboard.browser()
    typed = codes[0].upper().replace("-", " ")

    assert (await enter_code(browser, await browser.sign_in(ADA), typed)).status_code == 303
    other = dashboard.browser()
    assert (await enter_code(other, await other.sign_in(ADA), codes[0])).status_code == 401
    assert "9 recovery codes" in (await browser.get(WHERE)).text


async def test_sign_in_link_needs_a_code(dashboard: Dashboard, ada: Browser) -> None:
    device, _ = await switch_on(dashboard, ada)
    link = await dashboard.parts.make_sign_in_link(ADA)
    assert link is not None
    token = link.partition("token=")[2]
    browser = dashboard.browser()

    where = f"/sign-in/link?token={token}"
    page = await browser.submit("/sign-in/link", {"token": token}, page=where)

    assert page.status_code == 200
    assert "swap_session" not in browser.client.cookies
    assert (await enter_code(browser, page, device.code())).status_code == 303


async def test_pending_sign_in_expires_after_five_minutes(
    dashboard: Dashboard, ada: Browser
) -> None:
    device, _ = await switch_on(dashboard, ada)
    browser = dashboard.browser()
    page = await browser.sign_in(ADA)
    dashboard.ahead += timedelta(minutes=6)

    answer = await enter_code(browser, page, device.code())

    assert answer.status_code == 401
    assert "Sign in again" in answer.text


async def test_new_password_ends_pending_sign_ins(dashboard: Dashboard, ada: Browser) -> None:
    device, _ = await switch_on(dashboard, ada)
    thief = dashboard.browser()
    page = await thief.sign_in(ADA)

    fields = {"known": PASSWORD, "wanted": "correct horse battery staple nine"}
    await ada.submit("/account/password", fields, page="/account")
    answer = await enter_code(thief, page, device.code())

    assert answer.status_code == 401
    assert "Sign in again" in answer.text
    assert (await ada.get("/account")).status_code == 200


async def test_wrong_codes_are_throttled(dashboard: Dashboard, ada: Browser) -> None:
    device, _ = await switch_on(dashboard, ada)
    browser = dashboard.browser()
    page = await browser.sign_in(ADA)

    statuses = [(await enter_code(browser, page, f"00000{n}")).status_code for n in range(7)]

    assert statuses[0] == 401
    assert statuses[-1] == 429
    assert (await enter_code(browser, page, device.code())).status_code in (303, 429)


async def test_activation_needs_the_password_and_ends_other_sessions(
    dashboard: Dashboard, ada: Browser
) -> None:
    other = dashboard.browser()
    await other.sign_in(ADA)
    wrong = await ada.submit(f"{WHERE}/begin", {"password": "another one entirely"}, page=WHERE)
    assert SECRET.search(wrong.text) is None

    await switch_on(dashboard, ada)

    assert (await other.get("/account")).status_code == 303
    assert (await ada.get("/account")).status_code == 200


async def test_wrong_first_code_is_refused_without_showing_the_secret(
    dashboard: Dashboard, ada: Browser
) -> None:
    device = await begin_enrolment(dashboard, ada)

    wrong = await ada.submit(f"{WHERE}/confirm", {"code": "000000"}, page=WHERE)
    right = await ada.submit(f"{WHERE}/confirm", {"code": device.code()}, page=WHERE)

    assert "The code is wrong" in wrong.text
    assert 'name="code"' in wrong.text
    assert not re.search(r"[A-Z2-7]{32}|otpauth|QR code", wrong.text)
    assert len(CODES.findall(right.text)) == 10


async def test_secret_cannot_be_confirmed_by_another_session(
    dashboard: Dashboard, ada: Browser
) -> None:
    other = dashboard.browser()
    await other.sign_in(ADA)
    device = await begin_enrolment(dashboard, ada)

    answer = await other.submit(f"{WHERE}/confirm", {"code": device.code()}, page=WHERE)

    assert CODES.findall(answer.text) == []
    assert "another began" in answer.text
    assert (await dashboard.browser().sign_in(ADA)).status_code == 303


async def test_unconfirmed_secret_expires_after_ten_minutes(
    dashboard: Dashboard, ada: Browser
) -> None:
    device = await begin_enrolment(dashboard, ada)
    dashboard.ahead += timedelta(minutes=11)

    answer = await ada.submit(f"{WHERE}/confirm", {"code": device.code()}, page=WHERE)

    assert CODES.findall(answer.text) == []
    assert "ten minutes passed" in answer.text


async def test_replaced_secret_is_not_confirmed_by_the_code_of_the_earlier_one(
    dashboard: Dashboard, ada: Browser
) -> None:
    await begin_enrolment(dashboard, ada)
    factors = PostgresSecondFactors(dashboard.service.engine, Sealing.with_keys([SEALING_KEY]))
    account_id = await account_of(dashboard)
    checked = await factors.find(account_id)
    assert checked is not None
    await begin_enrolment(dashboard, ada)

    now = dashboard.clock()

    assert not await factors.confirm(account_id, checked, 1, codes=[], at=now)


async def test_sign_in_needs_no_code_while_the_secret_is_unconfirmed(
    dashboard: Dashboard, ada: Browser
) -> None:
    await ada.submit(f"{WHERE}/begin", {"password": PASSWORD}, page=WHERE)

    assert (await dashboard.browser().sign_in(ADA)).status_code == 303


async def test_removal_needs_the_password_and_a_code(dashboard: Dashboard, ada: Browser) -> None:
    device, codes = await switch_on(dashboard, ada)
    fields = {"password": PASSWORD, "code": "000000"}
    refused = await ada.submit(f"{WHERE}/remove", fields, page=WHERE)
    assert "wrong" in refused.text

    made = await ada.submit(f"{WHERE}/codes", {**fields, "code": device.code()}, page=WHERE)
    fresh = CODES.findall(made.text)
    assert not set(fresh) & set(codes)
    await ada.submit(f"{WHERE}/remove", {**fields, "code": fresh[0]}, page=WHERE)

    assert (await dashboard.browser().sign_in(ADA)).status_code == 303


async def test_recovery_codes_sign_in_while_the_secret_is_unreadable(
    database: Database, api: Api, dashboard: Dashboard, ada: Browser
) -> None:
    device, codes = await switch_on(dashboard, ada)
    async with with_keys(database, api, dashboard, OTHER_KEY) as rotated:
        browser = rotated.browser()

        page = await browser.sign_in(ADA)
        refused = await enter_code(browser, page, device.code())
        done = await enter_code(browser, page, codes[0])
        fields = {"password": PASSWORD, "code": codes[1]}
        removed = await browser.submit(f"{WHERE}/remove", fields, page=WHERE)

    assert page.status_code == 200
    assert "Use a recovery code" in page.text
    assert refused.status_code == 401
    assert "Use a recovery code" in refused.text
    assert done.status_code == 303
    assert "The second factor is off" in removed.text


async def test_secret_is_sealed_again_with_the_first_key_at_a_sign_in(
    database: Database, api: Api, dashboard: Dashboard, ada: Browser
) -> None:
    device, _ = await switch_on(dashboard, ada)
    async with with_keys(database, api, dashboard, OTHER_KEY, SEALING_KEY) as rotated:
        assert (await rotated.browser().sign_in(ADA)).status_code == 200
    async with with_keys(database, api, dashboard, OTHER_KEY) as rotated:
        browser = rotated.browser()
        page = await browser.sign_in(ADA)
        code = device.code()
        rotated.ahead = dashboard.ahead
        done = await enter_code(browser, page, code)

    assert "Use a recovery code" not in page.text
    assert done.status_code == 303


async def test_the_secret_is_sealed_and_bound_to_its_account(
    dashboard: Dashboard, ada: Browser
) -> None:
    await switch_on(dashboard, ada)
    async with dashboard.service.engine.connect() as connection:
        statement = sql("SELECT account_id, sealed_secret FROM second_factor")
        row = (await connection.execute(statement)).one()

    sealing = Sealing.with_keys([SEALING_KEY])
    secret = sealing.open(row.sealed_secret, owner_id=row.account_id)

    assert len(secret) == 32
    assert secret not in row.sealed_secret
    with pytest.raises(Unreadable):
        sealing.open(row.sealed_secret, owner_id=uuid4())


@pytest.fixture
async def site(database: Database, api: Api) -> AsyncIterator[tuple[str, str]]:
    async with served_dashboard(database, api) as made:
        await made.browser().join(api.invite(api.an_organization("Shop"), name=ADA), ADA)
        link = await made.parts.make_sign_in_link(ADA)
        assert link is not None
        yield made.public_url, link


async def guide_picture(page: Page) -> None:
    """Write the image of docs/dashboard.md, where images are enabled."""
    if not GUIDE:
        return
    await look(page, "light", WIDE)
    await page.value("document.activeElement.blur()")
    (Path(GUIDE) / "factor.webp").write_bytes(await guide_image(page, height=520))


async def sign_in_by_link(page: Page) -> None:
    await page.until("!!document.querySelector('button.primary')")
    await page.value("document.querySelector('button.primary').click()")
    await page.until("!!document.querySelector('.shell')")


@pytest.mark.skipif(find_browser() is None, reason="there is no Chromium here")
@pytest.mark.skipif(not AXE.exists(), reason="axe-core is not installed")
async def test_second_factor_screens_pass_the_screen_checks(
    site: tuple[str, str], tmp_path: Path
) -> None:
    program, (url, link) = find_browser(), site
    assert program is not None
    ids: dict[str, str] = {}
    async with open_page(program, tmp_path, link) as page:
        await sign_in_by_link(page)
        walk = Walk(page, url, ids={"": ids})
        for screen in BY_LINK:
            if secret := ids.get("secret"):
                ids["code"] = pyotp.TOTP(secret).now()
            await walk.over([screen])
            ids |= json.loads(await page.value(SHOWN_ONCE))
            if screen.name == "factor-device":
                await guide_picture(page)
        ended = await page.value("document.querySelector('[role=status]').innerText")
        complaints = [one for one in page.complaints if not is_status(one)]

    assert not walk.faults, walk.report
    assert complaints == []
    assert ended == "The second factor is off."


class TestRemovalByOperators:
    @pytest.fixture
    async def port(self, dashboard: Dashboard) -> AsyncIterator[str]:
        service = dashboard.service
        dashboard.parts.admin.add_to(service)
        async with service.engine.begin() as connection:
            await connection.execute(sql("DELETE FROM operator_proposal"))
        internal = internal_port(service.engine, OPERATORS, orders=service.order_routes)
        number = await internal.start("127.0.0.1", 0)
        yield f"http://127.0.0.1:{number}/admin"
        await internal.stop()

    async def test_needs_a_reason_and_a_second_operator_and_is_logged(
        self, dashboard: Dashboard, ada: Browser, port: str
    ) -> None:
        await switch_on(dashboard, ada)

        assert (await order(port, "ann", REMOVE, email=ADA)).status_code == 422
        proposed = await order(port, "ann", REMOVE, email=ADA, reason="called back")
        code_page = await dashboard.browser().sign_in(ADA)
        approved = await order(port, "ben", approval_of(proposed))

        assert proposed.status_code == 202
        assert PENDING.search(code_page.text) is not None
        assert (approved.status_code, approved.json()) == (200, {"removed": True})
        assert (await dashboard.browser().sign_in(ADA)).status_code == 303
        async with dashboard.service.engine.connect() as connection:
            [newest] = await connection.execute(
                sql(
                    "SELECT operator, outcome, reason, parameters FROM operator_order "
                    "ORDER BY id DESC LIMIT 1"
                )
            )
        assert (newest.operator, newest.outcome, newest.reason) == ("ben", "done", "called back")
        assert newest.parameters["email"] == ADA

    async def test_keeps_a_factor_enrolled_after_the_order(
        self, dashboard: Dashboard, ada: Browser, port: str
    ) -> None:
        _, codes = await switch_on(dashboard, ada)
        proposed = await order(port, "ann", REMOVE, email=ADA, reason="called back")
        fields = {"password": PASSWORD, "code": codes[0]}
        await ada.submit(f"{WHERE}/remove", fields, page=WHERE)
        await switch_on(dashboard, ada)

        approved = await order(port, "ben", approval_of(proposed))

        assert approved.status_code == 409
        assert "order it again" in approved.json()["error"]
        assert PENDING.search((await dashboard.browser().sign_in(ADA)).text) is not None

    async def test_is_refused_for_an_account_without_a_second_factor(
        self, ada: Browser, port: str
    ) -> None:
        refused = await order(port, "ann", REMOVE, email=ADA, reason="called back")

        assert ada is not None
        assert refused.status_code == 409


async def order(port: str, name: str, path: str, **body: str) -> httpx.Response:
    headers = {"Authorization": f"Bearer token of {name}"}
    async with httpx.AsyncClient(headers=headers) as client:
        return await client.post(f"{port}{path}", json=body)


def approval_of(proposed: httpx.Response) -> str:
    return f"/approvals/{proposed.json()['proposal']['id']}/approve"
