"""Sign-in: passwords, links, invitations, lockout, sessions, and attacks."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from urllib.parse import urlsplit

import pytest

from services.dashboard.tests.shop import PASSWORD, Api, Browser, Dashboard
from swap_runtime.postgres.sql import sql

pytestmark = pytest.mark.connected
ADA = "ada@shop.example"


@pytest.fixture
async def ada(dashboard: Dashboard, api: Api) -> Browser:
    """A browser with a session of Ada."""
    browser = dashboard.browser()
    organization = api.an_organization("Shop")
    api.an_app(organization)
    await browser.join(api.invite(organization), ADA)
    return browser


def session_of(browser: Browser) -> str | None:
    return browser.client.cookies.get("swap_session")


class TestInvitations:
    async def test_create_an_account_that_is_signed_in(self, ada: Browser) -> None:
        answer = await ada.get("/", follow_redirects=True)

        assert answer.status_code == 200
        assert ADA in answer.text

    async def test_are_accepted_once(self, dashboard: Dashboard, api: Api) -> None:
        invitation = api.invite(api.an_organization("Once"))
        await dashboard.browser().join(invitation, "one@shop.example")

        fields = {"invitation": invitation, "email": "two@shop.example", "password": PASSWORD}
        answer = await dashboard.browser().submit("/join", fields)

        assert answer.status_code == 422
        assert "unknown, taken, revoked or expired" in answer.text

    async def test_to_an_email_admit_only_the_account_of_that_email(
        self, dashboard: Dashboard, api: Api, ada: Browser
    ) -> None:
        invitation = api.invite(api.an_organization("Second"), "admin", name="Bob@Shop.example")
        fields = {"invitation": invitation, "email": "eve@shop.example", "password": PASSWORD}
        bob = dashboard.browser()

        page = (await bob.get(f"/join?invitation={invitation}")).text
        refused = await dashboard.browser().submit("/join", fields)
        of_ada = (await ada.get(f"/join?invitation={invitation}")).text
        signed_in = await ada.submit("/join", {"invitation": invitation}, page="/account")
        await bob.join(invitation, "bob@shop.example")

        for words in ("Second", "admin", "An operator of this service", 'value="bob@shop.example"'):
            assert words in page
        assert "You are signed in as" in of_ada
        assert ">Join<" not in of_ada
        for answer, email in ((refused, "eve@shop.example"), (signed_in, ADA)):
            assert answer.status_code == 422
            assert f"ask for an invitation to {email}" in answer.text
        assert "bob@shop.example" in (await bob.get("/account")).text

    async def test_without_an_email_show_the_members_name(
        self, dashboard: Dashboard, api: Api
    ) -> None:
        invitation = api.invite(api.an_organization("Second"), name="<b>Eve</b>")

        page = (await dashboard.browser().get(f"/join?invitation={invitation}")).text

        assert "will call you <bdi>&lt;b&gt;Eve&lt;/b&gt;</bdi>" in page

    async def test_cannot_create_a_second_account_of_an_email(
        self, dashboard: Dashboard, api: Api, ada: Browser
    ) -> None:
        invitation = api.invite(api.an_organization("Second"))
        fields = {"invitation": invitation, "email": ADA, "password": "another password!"}

        outsider = await dashboard.browser().submit("/join", fields)
        owner = await ada.submit("/join", {"invitation": invitation})

        assert outsider.status_code == 422
        assert owner.status_code == 303
        assert "Second" in (await ada.get("/account")).text

    async def test_stay_open_after_a_weak_password(self, dashboard: Dashboard, api: Api) -> None:
        invitation = api.invite(api.an_organization("Weak"))
        fields = {"invitation": invitation, "email": "weak@shop.example", "password": "short"}

        refused = await dashboard.browser().submit("/join", fields)
        await dashboard.browser().join(invitation, "weak@shop.example")

        assert refused.status_code == 422


class TestPasswords:
    async def test_open_a_session(self, dashboard: Dashboard, ada: Browser) -> None:
        browser = dashboard.browser()

        answer = await browser.sign_in(ADA, next="/account")

        assert (answer.status_code, answer.headers["location"]) == (303, "/account")
        assert (await browser.get("/account")).status_code == 200

    async def test_that_are_wrong_are_answered_as_for_an_unknown_account(
        self, dashboard: Dashboard, ada: Browser
    ) -> None:
        wrong = await dashboard.browser().sign_in(ADA, "another password")
        unknown = await dashboard.browser().sign_in("bob@shop.example", "another password")

        assert wrong.status_code == unknown.status_code == 401
        assert wrong.text.count("No account has this email") == 1
        assert unknown.text.count("No account has this email") == 1

    async def test_are_stored_as_argon2_hashes(self, dashboard: Dashboard, ada: Browser) -> None:
        async with dashboard.service.engine.connect() as connection:
            stored = await connection.scalar(sql("SELECT password_hash FROM account"))
            token = await connection.scalar(sql("SELECT sealed_token FROM membership"))
            hashes = await connection.scalars(sql("SELECT token_hash FROM session"))

        assert stored.startswith("$argon2id$")
        assert PASSWORD not in stored
        assert "svc_user_" not in token
        assert session_of(ada) is not None
        assert str(session_of(ada)).encode() not in hashes

    async def test_change_needs_the_present_password_and_ends_other_sessions(
        self, dashboard: Dashboard, ada: Browser
    ) -> None:
        other = dashboard.browser()
        await other.sign_in(ADA)
        fields = {"known": "not this one", "wanted": "a longer new password"}
        wrong = await ada.submit("/account/password", fields, page="/account")
        fields["known"] = PASSWORD
        changed = await ada.submit("/account/password", fields, page="/account")

        assert (wrong.status_code, changed.status_code) == (422, 200)
        assert (await other.get("/account")).status_code == 303
        assert (await ada.get("/account")).status_code == 200
        assert (await other.sign_in(ADA, "a longer new password")).status_code == 303


class TestLockout:
    async def test_grows_with_failures_and_holds_for_the_right_password(
        self, dashboard: Dashboard, ada: Browser
    ) -> None:
        browser = dashboard.browser()
        answers = [(await browser.sign_in(ADA, "wrong")).status_code for _ in range(6)]
        right = await browser.sign_in(ADA)
        dashboard.ahead += timedelta(minutes=1)
        later = await browser.sign_in(ADA)

        assert answers == [401] * 6
        assert right.status_code == 429
        assert later.status_code == 303

    async def test_counts_concurrent_attempts(self, dashboard: Dashboard, ada: Browser) -> None:
        browser = dashboard.browser()
        await browser.get("/sign-in")  # the cookie of its forms

        answers = await asyncio.gather(*(browser.sign_in(ADA, f"wrong {n}") for n in range(20)))

        statuses = [answer.status_code for answer in answers]
        assert statuses.count(401) == 6
        assert statuses.count(429) == 14

    async def test_counts_one_address_for_all_accounts(
        self, dashboard: Dashboard, ada: Browser
    ) -> None:
        browser = dashboard.browser("203.0.113.99")
        for number in range(31):
            await browser.sign_in(f"{number}@shop.example", "wrong")

        assert (await browser.sign_in("new@shop.example", "wrong")).status_code == 429
        assert (await dashboard.browser().sign_in(ADA)).status_code == 303

    async def test_is_the_same_for_an_unknown_email(self, dashboard: Dashboard) -> None:
        browser = dashboard.browser()
        answers = [(await browser.sign_in("x@y.example", "wrong")).status_code for _ in range(7)]

        assert answers == [401] * 6 + [429]

    async def test_pause_is_bounded_after_very_many_failures(
        self, dashboard: Dashboard, ada: Browser
    ) -> None:
        browser = dashboard.browser()
        await browser.sign_in(ADA, "wrong")
        async with dashboard.service.engine.begin() as connection:
            await connection.execute(sql("UPDATE sign_in_failure SET failures = 2000"))

        wrong = await browser.sign_in(ADA, "wrong")
        dashboard.ahead += timedelta(minutes=14)
        within_the_pause = await browser.sign_in(ADA)
        dashboard.ahead += timedelta(minutes=2)
        after_the_pause = await browser.sign_in(ADA)

        assert wrong.status_code == 401
        assert within_the_pause.status_code == 429
        assert after_the_pause.status_code == 303

    async def test_is_reset_after_a_success(self, dashboard: Dashboard, ada: Browser) -> None:
        browser = dashboard.browser()
        for _ in range(4):
            await browser.sign_in(ADA, "wrong")
            await browser.sign_in(ADA, "wrong")
            assert (await browser.sign_in(ADA)).status_code == 303
            browser.client.cookies.clear()


class TestSessions:
    async def test_have_a_new_token_at_every_sign_in(
        self, dashboard: Dashboard, ada: Browser
    ) -> None:
        """A token that an attacker planted is not signed in."""
        browser = dashboard.browser()
        planted = "planted-by-somebody"
        browser.client.cookies.set("swap_session", planted, domain="dashboard.test")
        await browser.sign_in(ADA)

        thief = dashboard.browser()
        thief.client.cookies.set("swap_session", planted)
        assert (await thief.get("/account")).status_code == 303

    async def test_end_at_a_new_sign_in_of_the_same_browser(
        self, dashboard: Dashboard, ada: Browser
    ) -> None:
        before = session_of(ada)
        link = await dashboard.parts.make_sign_in_link(ADA)
        assert link is not None
        token = link.rpartition("=")[2]
        answer = await ada.submit(
            "/sign-in/link", {"token": token}, page=f"/sign-in/link?token={token}"
        )

        old = dashboard.browser()
        old.client.cookies.set("swap_session", str(before))
        assert answer.status_code == 303
        assert session_of(ada) != before
        assert (await old.get("/account")).status_code == 303

    async def test_end_at_sign_out(self, dashboard: Dashboard, ada: Browser) -> None:
        token = str(session_of(ada))
        answer = await ada.submit("/sign-out", {}, page="/account")

        old = dashboard.browser()
        old.client.cookies.set("swap_session", token)
        assert (answer.status_code, answer.headers["location"]) == (303, "/sign-in")
        assert (await old.get("/account")).status_code == 303

    async def test_are_listed_and_end_one_by_one_or_all(
        self, dashboard: Dashboard, ada: Browser
    ) -> None:
        others = [dashboard.browser() for _ in range(2)]
        for other in others:
            await other.sign_in(ADA)
        page = (await ada.get("/account")).text
        paths = [part.partition('"')[0] for part in page.split('action="/account/sessions/')[1:]]
        await ada.submit(f"/account/sessions/{paths[0]}", {}, page="/account")
        left = [(await one.get("/account")).status_code for one in (ada, *others)]
        await ada.submit("/account/sign-out-everywhere", {}, page="/account")
        none = [(await one.get("/account")).status_code for one in (ada, *others)]

        assert len(paths) == 2
        assert sorted(left) == [200, 200, 303]
        assert none == [303, 303, 303]

    async def test_of_another_account_cannot_be_ended(
        self, dashboard: Dashboard, api: Api, ada: Browser
    ) -> None:
        bob = dashboard.browser()
        await bob.join(api.invite(api.an_organization("Bobs")), "bob@shop.example")
        async with dashboard.service.engine.connect() as connection:
            statement = sql(
                "SELECT session.id FROM session JOIN account ON account.id = account_id "
                "WHERE email = :email"
            )
            adas = await connection.scalar(statement, {"email": ADA})

        await bob.submit(f"/account/sessions/{adas}/end", {}, page="/account")

        assert (await ada.get("/account")).status_code == 200

    async def test_end_after_the_idle_time(self, dashboard: Dashboard, ada: Browser) -> None:
        dashboard.ahead += timedelta(hours=11)
        used = await ada.get("/account")
        dashboard.ahead += timedelta(hours=13)
        unused = await ada.get("/account")

        assert (used.status_code, unused.status_code) == (200, 303)

    async def test_cookies_are_http_only_and_same_site(
        self, dashboard: Dashboard, ada: Browser
    ) -> None:
        answer = await dashboard.browser().sign_in(ADA)
        [cookie] = [c for c in answer.headers.get_list("set-cookie") if "swap_session" in c]

        assert "HttpOnly" in cookie
        assert "SameSite=lax" in cookie
        assert "Domain" not in cookie


class TestLinks:
    async def test_sign_in_once(self, dashboard: Dashboard, ada: Browser) -> None:
        link = await dashboard.parts.make_sign_in_link(ADA)
        assert link is not None
        path, token = urlsplit(link).path + "?" + urlsplit(link).query, link.rpartition("=")[2]
        browser, thief = dashboard.browser(), dashboard.browser()
        looked = await thief.get(path)  # a program that opens links takes nothing
        signed_in = await browser.submit("/sign-in/link", {"token": token}, page=path)
        again = await thief.submit("/sign-in/link", {"token": token}, page="/sign-in")

        assert looked.status_code == 200
        assert signed_in.status_code == 303
        assert again.status_code == 410
        assert (await browser.get("/account")).status_code == 200
        assert (await thief.get("/account")).status_code == 303

    async def test_expire(self, dashboard: Dashboard, ada: Browser) -> None:
        link = await dashboard.parts.make_sign_in_link(ADA)
        assert link is not None
        dashboard.ahead += timedelta(minutes=16)

        answer = await dashboard.browser().get(urlsplit(link).path + "?" + urlsplit(link).query)

        assert answer.status_code == 410

    async def test_are_not_created_without_an_account(self, dashboard: Dashboard) -> None:
        assert await dashboard.parts.make_sign_in_link("nobody@shop.example") is None


class TestForms:
    @pytest.mark.parametrize(
        "path",
        [
            "/sign-out",
            "/account/password",
            "/account/sign-out-everywhere",
            "/account/organization",
            "/account/sessions/00000000-0000-4000-8000-000000000001/end",
            "/join",
        ],
    )
    async def test_without_a_form_token_are_refused(self, ada: Browser, path: str) -> None:
        for fields in ({}, {"form_token": ""}, {"form_token": "x" * 44}):
            answer = await ada.client.post(path, data=fields)
            assert answer.status_code == 403, path
        assert (await ada.get("/account")).status_code == 200

    async def test_with_the_token_of_another_session_are_refused(
        self, dashboard: Dashboard, api: Api, ada: Browser
    ) -> None:
        bob = dashboard.browser()
        await bob.join(api.invite(api.an_organization("Other")), "bob@shop.example")
        page = (await bob.get("/account")).text
        token = page.partition('name="form_token" value="')[2].partition('"')[0]

        answer = await ada.client.post("/sign-out", data={"form_token": token})

        assert answer.status_code == 403

    @pytest.mark.parametrize(
        "headers",
        [
            {"origin": "https://evil.example"},
            {"origin": "null"},
            {"sec-fetch-site": "cross-site"},
            {"sec-fetch-site": "same-site"},
        ],
    )
    async def test_from_another_site_are_refused(
        self, ada: Browser, headers: dict[str, str]
    ) -> None:
        page = (await ada.get("/account")).text
        token = page.partition('name="form_token" value="')[2].partition('"')[0]

        answer = await ada.client.post("/sign-out", data={"form_token": token}, headers=headers)

        assert answer.status_code == 403

    async def test_to_sign_in_are_bound_to_the_browser(
        self, dashboard: Dashboard, ada: Browser
    ) -> None:
        """Otherwise another site could sign a visitor in to the attacker's account."""
        attacker = dashboard.browser()
        page = (await attacker.get("/sign-in")).text
        token = page.partition('name="form_token" value="')[2].partition('"')[0]

        fields = {"email": ADA, "password": PASSWORD, "form_token": token}
        answer = await dashboard.browser().client.post("/sign-in", data=fields)

        assert answer.status_code == 403

    async def test_that_are_too_large_are_refused(self, ada: Browser) -> None:
        answer = await ada.client.post("/sign-out", data={"x": "y" * 70_000})

        assert answer.status_code == 403


class TestRedirects:
    @pytest.mark.parametrize(
        "target", ["https://evil.example", "//evil.example", "/\\evil.example", "/%09/evil.example"]
    )
    async def test_stay_on_this_site(self, dashboard: Dashboard, ada: Browser, target: str) -> None:
        after = await dashboard.browser().sign_in(ADA, next=target)
        already = await ada.get("/sign-in", params={"next": target})

        for answer in (after, already):
            parts = urlsplit(answer.headers["location"])
            assert answer.status_code == 303
            assert (parts.scheme, parts.netloc) == ("", "")
            assert not answer.headers["location"].startswith(("//", "/\\"))

    async def test_name_the_requested_page_as_the_target_of_the_sign_in(
        self, dashboard: Dashboard
    ) -> None:
        answer = await dashboard.browser().get("/apps/1/swaps?q=a b")

        assert answer.status_code == 303
        assert answer.headers["location"] == "/sign-in?next=/apps/1/swaps%3Fq%3Da%2520b"


class TestHeaders:
    @pytest.mark.parametrize("path", ["/sign-in", "/nowhere", "/static/dashboard.css", "/account"])
    async def test_allow_no_script_and_no_frame(self, dashboard: Dashboard, path: str) -> None:
        answer = await dashboard.browser().get(path)
        policy = answer.headers["content-security-policy"]

        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "form-action 'self'" in policy
        assert "unsafe" not in policy
        assert answer.headers["x-frame-options"] == "DENY"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "same-origin"

    async def test_pages_are_not_cached(self, ada: Browser) -> None:
        assert (await ada.get("/account")).headers["cache-control"] == "no-store"
