"""The operator console before real services: who may, what is sent, and how often."""

from __future__ import annotations

import asyncio
import html
import re
from collections.abc import Iterator
from datetime import timedelta
from uuid import uuid4

import pytest

from swap_dashboard.console.ports import ServiceName
from tests.console.operator_services import (
    ADDRESS,
    BAD,
    HOSTILE,
    OWNER,
    TOKENS,
    Browser,
    Console,
    Services,
    serve_operators,
)
from tests.plugins.postgres import Database

pytestmark = [pytest.mark.connected, pytest.mark.timeout(300)]
PAGES = (
    "/",
    "/approvals",
    "/stuck",
    "/parked",
    "/claimables",
    "/rescues",
    "/payments",
    "/balances",
    "/losses",
    "/stops",
    "/caps",
    "/blocked",
    "/signers",
    "/invariants",
    "/recovery",
    "/log",
    "/sessions",
)
PROPOSAL = re.compile(r'href="(/approvals/settler/[0-9a-f-]+)"')


@pytest.fixture(scope="module")
def services(database: Database, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Services]:
    with serve_operators(database, tmp_path_factory.mktemp("services")) as made:
        asyncio.run(made.seed())
        yield made


class TestSignIn:
    async def test_every_page_redirects_to_the_sign_in(self, console: Console) -> None:
        browser = console.browser()
        for path in PAGES:
            answer = await browser.get(path)
            assert (answer.status_code, answer.headers["location"]) == (
                303,
                f"/sign-in?next={path}",
            )

    async def test_session_does_not_contain_the_operators_token(self, console: Console) -> None:
        browser = await console.sign_in_as("ann")

        cookie = browser.client.cookies["swap_console_session"]
        page = (await browser.get("/")).text

        assert TOKENS["ann"] not in page + cookie
        assert TOKENS["ann"] not in repr(console.parts.sessions.list_of("ann", console.clock()))
        assert "ann" in page

    @pytest.mark.parametrize("token", ["", "guessed", TOKENS["hook"], TOKENS["ann"] + "0", "é"])
    async def test_other_tokens_open_no_session(self, console: Console, token: str) -> None:
        answer = await console.browser().sign_in(token)

        assert answer.status_code == 401
        assert "swap_console_session" not in answer.cookies

    async def test_failures_block_only_their_own_address(self, console: Console) -> None:
        browser = console.browser()
        statuses = [(await browser.sign_in("guessed")).status_code for _ in range(8)]
        right = await browser.sign_in(TOKENS["ann"])
        other = await console.browser("198.51.100.1").sign_in(TOKENS["ben"])
        console.ahead = timedelta(minutes=16)
        later = await browser.sign_in(TOKENS["ann"])

        assert statuses[0] == 401
        assert statuses[-1] == right.status_code == 429
        assert other.status_code == later.status_code == 303

    async def test_sign_in_replaces_the_session_of_the_browser(self, console: Console) -> None:
        first = await console.sign_in_as("ann")
        planted = first.client.cookies["swap_console_session"]
        other = console.browser()
        other.client.cookies.set("swap_console_session", "planted", domain="console.test")
        await other.sign_in(TOKENS["ann"])

        assert other.client.cookies["swap_console_session"] not in ("planted", planted)

    async def test_session_ends_after_its_idle_time_and_its_lifetime(
        self, console: Console
    ) -> None:
        browser = await console.sign_in_as("ann")
        for _ in range(20):
            console.ahead += timedelta(minutes=25)
            answer = await browser.get("/sessions")
            if answer.status_code == 303:
                break
        assert console.ahead > timedelta(hours=8)
        idle = await console.sign_in_as("ann")
        console.ahead += timedelta(minutes=31)

        assert (await idle.get("/")).status_code == 303

    async def test_sign_out_ends_the_session_on_the_server(self, console: Console) -> None:
        browser, other = [await console.sign_in_as("ann") for _ in range(2)]
        cookie = browser.client.cookies["swap_console_session"]
        await browser.submit("/sign-out", {}, page="/sessions")
        browser.client.cookies.set("swap_console_session", cookie, domain="console.test")

        assert (await browser.get("/sessions")).status_code == 303
        assert (await other.get("/sessions")).status_code == 200
        await other.submit("/sessions/end-all", {}, page="/sessions")
        assert console.parts.sessions.list_of("ann", console.clock()) == []

    async def test_session_of_another_operator_cannot_be_ended(self, console: Console) -> None:
        ann, ben = await console.sign_in_as("ann"), await console.sign_in_as("ben")
        [session] = console.parts.sessions.list_of("ann", console.clock())

        await ben.submit(f"/sessions/{session.id}/end", {}, page="/sessions")

        assert (await ann.get("/sessions")).status_code == 200

    @pytest.mark.parametrize("target", ["//evil.example", "https://evil.example", "/\\evil"])
    async def test_redirects_only_to_this_site(self, console: Console, target: str) -> None:
        answer = await console.browser().sign_in(TOKENS["ann"], next=target)

        assert answer.headers["location"] == "/"


class TestForms:
    async def test_form_of_another_site_or_session_is_refused(self, console: Console) -> None:
        ann, ben = await console.sign_in_as("ann"), await console.sign_in_as("ben")
        fields = {"network": "*", "reason": "no", "form_token": "guessed"}
        guessed = await ann.client.post("/stops/add", data=fields)
        page = (await ben.get("/stops")).text
        token = re.search(r'name="form_token" value="([^"]+)"', page)
        assert token is not None
        stolen = await ann.client.post("/stops/add", data={**fields, "form_token": token[1]})
        cross_origin = await ben.client.post(
            "/stops/add",
            data={**fields, "form_token": token[1]},
            headers={"origin": "https://evil.example"},
        )

        assert [one.status_code for one in (guessed, stolen, cross_origin)] == [403, 403, 403]

    async def test_pages_forbid_frames_and_foreign_scripts(self, console: Console) -> None:
        browser = await console.sign_in_as("ann")
        for path in (*PAGES, "/sign-in", "/nowhere"):
            headers = (await browser.get(path)).headers
            assert headers["x-frame-options"] == "DENY"
            assert "frame-ancestors 'none'" in headers["content-security-policy"]
            assert "unsafe" not in headers["content-security-policy"]
            assert headers["cache-control"] == "no-store"

    async def test_cookie_is_http_only_and_has_its_own_name(self, services: Services) -> None:
        console = Console(services, public_url="https://console.test")
        answer = await console.browser().sign_in(TOKENS["ann"])

        [session] = [
            one for one in answer.headers.get_list("set-cookie") if "console_session" in one
        ]
        assert session.startswith("__Host-swap_console_session=")
        assert {"HttpOnly", "Secure", "Path=/"} <= {part.strip() for part in session.split(";")}
        await console.http.close()


class TestRoles:
    async def test_viewer_reads_every_page_without_order_forms(self, console: Console) -> None:
        browser = await console.sign_in_as("vic")
        for path in PAGES:
            answer = await browser.get(path)
            assert answer.status_code == 200, answer.text
            assert 'name="reason"' not in answer.text

    async def test_order_of_a_viewer_is_refused(self, console: Console, services: Services) -> None:
        browser = await console.sign_in_as("vic")

        answer = await browser.submit(
            "/stops/add", {"network": "*", "reason": "no"}, page="/sessions"
        )

        assert answer.status_code == 403
        assert services.signing_stops() == []

    async def test_revoked_token_ends_its_session(
        self, services: Services, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        console = Console(services, public_url=ADDRESS)
        browser = await console.sign_in_as("ann")
        [session] = console.parts.sessions.list_of("ann", console.clock())
        session.token = "revoked"

        answer = await browser.get("/stuck")

        assert answer.headers["location"].startswith("/sign-in")
        assert console.parts.sessions.list_of("ann", console.clock()) == []
        await console.http.close()


class TestOrders:
    async def test_order_is_sent_once_and_only_after_its_confirmation(
        self, console: Console, services: Services
    ) -> None:
        browser = await console.sign_in_as("ann")
        blocked = services.call("vic", "/blocked")["blocked"]
        order = await browser.review(
            "/blocked/add", {"addresses": BAD, "network": ""}, page="/blocked"
        )
        assert BAD in (await browser.get(order)).text
        assert services.call("vic", "/blocked")["blocked"] == blocked
        before = len(services.call("vic", "/audit")["orders"])

        answers = await asyncio.gather(*(browser.submit(order, {}) for _ in range(5)))
        again = await browser.confirm(order)

        assert {answer.status_code for answer in answers} == {303}
        assert "Done." in again
        rows = services.call("vic", "/audit")["orders"]
        assert len(rows) == before + 1
        assert (rows[0]["operator"], rows[0]["reason"]) == ("ann", "as agreed")

    async def test_repeated_form_gives_one_order(
        self, console: Console, services: Services
    ) -> None:
        browser = await console.sign_in_as("ann")
        reason = f"the form is sent twice, {uuid4()}"
        fields = {"addresses": BAD, "network": "", "reason": reason}
        form = {**fields, **await browser.hidden_fields("/blocked")}

        twice = await asyncio.gather(
            *(browser.client.post("/blocked/add", data=form) for _ in "12")
        )
        [order] = {answer.headers["location"] for answer in twice}
        assert "Done." in await browser.confirm(order)
        again = await browser.client.post("/blocked/add", data=form)
        other = await browser.client.post("/blocked/add", data={**form, "addresses": OWNER})

        assert again.headers["location"] == order
        assert "Done." in (await browser.get(order)).text
        assert (other.status_code, "with other values" in other.text) == (422, True)
        rows = services.call("vic", "/audit")["orders"]
        assert [row["action"] for row in rows if row["reason"] == reason] == ["POST /blocked"]

    async def test_confirmation_of_an_order_that_was_corrected_since_is_refused(
        self, console: Console, services: Services
    ) -> None:
        browser = await console.sign_in_as("ann")
        form = {
            "addresses": BAD,
            "network": "",
            "reason": "a typo",
            **await browser.hidden_fields("/blocked"),
        }
        order = (await browser.client.post("/blocked/add", data=form)).headers["location"]
        earlier = await browser.hidden_fields(order)
        corrected = {**form, "addresses": OWNER}
        assert (await browser.client.post("/blocked/add", data=corrected)).is_redirect

        unseen = await browser.client.post(order, data=earlier)

        assert (unseen.status_code, "look again" in unseen.text) == (422, True)
        assert OWNER in (await browser.get(order)).text
        assert "Done." in await browser.confirm(order)

    async def test_form_without_its_id_is_refused(self, console: Console) -> None:
        browser = await console.sign_in_as("ann")
        hidden = await browser.hidden_fields("/stops")
        fields = {"network": "*", "reason": "no", "form_token": hidden["form_token"]}

        answer = await browser.client.post("/stops/add", data=fields)

        assert (answer.status_code, "Load the page again" in answer.text) == (422, True)

    async def test_every_order_needs_a_reason(self, console: Console) -> None:
        browser = await console.sign_in_as("ann")
        answer = await browser.submit("/stops/add", {"network": "*", "reason": " "}, page="/stops")

        assert answer.status_code == 422

    async def test_order_that_is_not_confirmed_in_time_is_not_sent(
        self, console: Console, services: Services
    ) -> None:
        browser = await console.sign_in_as("ann")
        order = await browser.review("/stops/add", {"network": "*"}, page="/stops")
        token = re.search(r'value="([^"]+)"', (await browser.get(order)).text)
        assert token is not None
        console.ahead = timedelta(minutes=6)

        page = await browser.confirm(order)

        assert "Expired." in page
        assert services.signing_stops() == []

    async def test_order_of_another_session_is_not_found(self, console: Console) -> None:
        ann, ben = await console.sign_in_as("ann"), await console.sign_in_as("ben")
        order = await ann.review("/stops/add", {"network": "*"}, page="/stops")

        assert (await ben.get(order)).status_code == 404
        assert (await ben.submit(order, {}, page="/stops")).status_code == 404

    async def test_stop_is_lifted_by_two_operators_and_only_if_it_is_unchanged(
        self, console: Console, services: Services
    ) -> None:
        ann, ben = await console.sign_in_as("ann"), await console.sign_in_as("ben")
        stop = await ann.review("/stops/add", {"network": "BASE_DEVNET"}, page="/stops")
        assert "Done." in await ann.confirm(stop)
        page = "/stops/lift?kind=signing&network=BASE_DEVNET"
        [shown] = services.signing_stops()
        fields = {"kind": "signing", "network": "BASE_DEVNET", "at": shown["at"]}
        lift = await ann.review("/stops/lift", fields, page=page)
        confirmed = await ann.confirm(lift)
        proposal = PROPOSAL.search(confirmed)
        assert proposal is not None, confirmed
        assert "A different operator approves it" in confirmed

        own = await ann.get(proposal[1])
        assert "/approve" not in own.text
        forced = await ann.review(f"{proposal[1]}/approve", {}, page=proposal[1])
        assert "A different operator must approve" in await ann.confirm(forced)
        assert services.signing_stops() != []

        approve = await ben.review(f"{proposal[1]}/approve", {}, page=proposal[1])
        assert "BASE_DEVNET" in (await ben.get(approve)).text
        assert "Done." in await ben.confirm(approve)
        assert services.signing_stops() == []
        stale = await ann.submit("/stops/lift", {**fields, "reason": "again"}, page="/stops")
        assert stale.status_code == 404

    async def test_claimable_balance_is_paid_once_by_two_operators(
        self, console: Console, services: Services
    ) -> None:
        ann, ben = await console.sign_in_as("ann"), await console.sign_in_as("ben")
        id = await services.receive_without_swap(91)
        page = f"/claimables/{id}"
        assert "1.23456789" in (await ann.get(page)).text
        pay = {"to_address": OWNER, "base_units": "1234567890123456789"}
        stale = {**pay, "base_units": "1", "reason": "as agreed"}
        assert (await ann.submit(f"{page}/pay", stale, page=page)).status_code == 422
        order = await ann.review(f"{page}/pay", pay, page=page)
        assert "1.234567890123456789" in (await ann.get(order)).text
        proposal = PROPOSAL.search(await ann.confirm(order))
        assert proposal is not None

        approve = await ben.review(f"{proposal[1]}/approve", {}, page=proposal[1])
        review = (await ben.get(approve)).text
        assert OWNER in review
        assert "1.234567890123456789 ETH" in review
        assert "Done." in await ben.confirm(approve)

        assert (await ben.get(page)).status_code == 404
        count = "SELECT count(*) FROM intent WHERE kind = 'claim'"
        assert await services.scalar(count) == 1

    async def test_invalid_address_is_refused_with_the_services_message(
        self, console: Console, services: Services
    ) -> None:
        ann, ben = await console.sign_in_as("ann"), await console.sign_in_as("ben")
        id = await services.receive_without_swap(92)
        page = f"/claimables/{id}"
        pay = {"to_address": HOSTILE, "base_units": "1234567890123456789"}
        order = await ann.review(f"{page}/pay", pay, page=page)
        proposal = PROPOSAL.search(await ann.confirm(order))
        assert proposal is not None
        approve = await ben.review(f"{proposal[1]}/approve", {}, page=proposal[1])

        shown = await ben.confirm(approve)

        assert "Refused." in shown
        assert HOSTILE not in shown
        reject = await ben.review(f"{proposal[1]}/reject", {}, page=proposal[1])
        assert "Done." in await ben.confirm(reject)

    async def test_parked_message_is_shown_decoded_and_released(
        self, console: Console, services: Services
    ) -> None:
        id = await services.park(f"it cannot be applied {HOSTILE}")
        browser = await console.sign_in_as("ann")
        page = f"/parked/settler/{id}"
        shown = await browser.get(page)
        assert "confirmed" in shown.text
        assert HOSTILE not in shown.text

        order = await browser.review(f"{page}/release", {}, page=page)
        assert "Done." in await browser.confirm(order)

        state = await services.scalar(f"SELECT state FROM parked WHERE id = {id}")
        assert state in ("releasing", "released", "parked")
        rows = services.call("vic", "/audit")["orders"]
        assert (rows[0]["action"], rows[0]["reason"]) == (
            "POST /parked/{id}/release",
            "as agreed",
        )

    async def test_cap_that_changed_since_it_was_shown_is_not_lifted(
        self, console: Console, services: Services
    ) -> None:
        body = {"network": "BASE_DEVNET", "units": "5000000", "seconds": 60, "reason": "first"}
        services.call("ann", "/caps", body)
        [cap] = services.call("vic", "/caps")["caps"]
        browser = await console.sign_in_as("ann")
        fields = {"network": "BASE_DEVNET", "set_at": cap["set_at"]}
        order = await browser.review("/caps/lift", fields, page="/caps/one?network=BASE_DEVNET")
        services.call("ann", "/caps", {**body, "units": "4000000", "reason": "second"})

        shown = await browser.confirm(order)

        assert "has changed since" in shown
        assert len(services.call("vic", "/caps")["caps"]) == 1

    async def test_resume_order_names_the_halt_that_was_shown(
        self, console: Console, services: Services
    ) -> None:
        await services.halt_signer("nonce 7 was used elsewhere")
        [signer] = services.call("vic", "/signers")["signers"]
        browser = await console.sign_in_as("ann")
        page = f"/signers/{signer['network']}/{signer['address']}"
        assert "nonce 7" in (await browser.get(page)).text
        fields = {"halt": "another halt", "used_by": ""}
        order = await browser.review(f"{page}/resume", fields, page=page)

        proposal = PROPOSAL.search(await browser.confirm(order))

        assert proposal is not None
        open_ones = services.call("vic", "/approvals")["approvals"]
        stored = next(one for one in open_ones if proposal[1].endswith(one["id"]))
        assert stored["order"]["halts"] == {signer["address"]: "another halt"}
        services.call("ben", f"/approvals/{stored['id']}/reject", {})

    async def test_shown_halt_equals_the_settlers_name_of_it(
        self, console: Console, services: Services
    ) -> None:
        """No node answers here; it is asked once the halts are found to be the same."""
        await services.halt_signer("nonce 8 was used elsewhere")
        [signer] = services.call("vic", "/signers")["signers"]
        ann, ben = await console.sign_in_as("ann"), await console.sign_in_as("ben")
        page = f"/signers/{signer['network']}/{signer['address']}"
        halt = re.search(r'name="halt" value="([^"]+)"', (await ann.get(page)).text)
        assert halt is not None
        fields = {"halt": html.unescape(halt[1]), "used_by": ""}
        order = await ann.review(f"{page}/resume", fields, page=page)
        proposal = PROPOSAL.search(await ann.confirm(order))
        assert proposal is not None
        approve = await ben.review(f"{proposal[1]}/approve", {}, page=proposal[1])

        assert "halts changed" not in await ben.confirm(approve)


class TestApprovals:
    async def test_proposals_of_all_services_are_in_one_list_with_their_facts(
        self, console: Console, services: Services
    ) -> None:
        email = f"{uuid4().hex}@shop.example"
        await services.add_second_factor(email)
        reason = f"called back {'at length ' * 150}to the last word"
        services.call(
            "ann",
            "/second-factors/remove",
            {"email": email, "reason": reason},
            service=ServiceName.DASHBOARD,
        )
        claim = await services.receive_without_swap(93)
        pay = {"to_address": OWNER, "base_units": "1234567890123456789", "reason": "as agreed"}
        services.call("ann", f"/claimable/{claim}/pay", pay)
        browser = await console.sign_in_as("ben")

        page = (await browser.get("/approvals")).text

        for shown in (email, reason, OWNER, "Pay a claimable balance", "ann"):
            assert shown in page
        proposal = re.search(r'href="(/approvals/dashboard/[0-9a-f-]+)"', page)
        assert proposal is not None
        assert reason in (await browser.get(proposal[1])).text
        approve = await browser.review(f"{proposal[1]}/approve", {}, page=proposal[1])
        assert reason in (await browser.get(approve)).text
        assert "Done." in await browser.confirm(approve)
        ended = (await browser.get(proposal[1])).text
        assert "approved by ben" in ended
        assert 'name="reason"' not in ended

    async def test_proposals_are_paged_to_the_last_one(
        self, console: Console, services: Services
    ) -> None:
        ids = set()
        for _ in range(60):
            body = {"network": "BASE_DEVNET", "used_by": [], "halts": {}, "reason": "paging"}
            answer = services.call("ann", "/signers/BASE_DEVNET/resume", body)
            ids.add(answer["proposal"]["id"])
        browser = await console.sign_in_as("vic")
        shown, path = "", "/approvals"
        for _ in range(5):
            page = (await browser.get(path)).text
            shown += page
            following = re.search(r'href="(/approvals\?[^"]+)" rel="next"', page)
            if following is None:
                break
            path = html.unescape(following[1])

        assert path != "/approvals"
        assert all(id in shown for id in ids)
        for id in ids:
            services.call("ben", f"/approvals/{id}/reject", {})

    async def test_invalid_place_in_the_list_is_reported_as_a_refusal(
        self, console: Console
    ) -> None:
        browser = await console.sign_in_as("vic")

        page = (await browser.get(f"/approvals?after_at=yesterday&after_id={uuid4()}")).text

        assert "settler refuses the request: after_at must be a time" in page
        assert "No answer from" not in page

    @pytest.mark.parametrize(
        "path", ["/approvals/settler/none", "/approvals/api/", "/approvals/x/1"]
    )
    async def test_unknown_proposal_is_not_found(self, console: Console, path: str) -> None:
        browser = await console.sign_in_as("vic")

        assert (await browser.get(path)).status_code == 404


async def test_overview_names_services_that_do_not_answer(console: Console) -> None:
    browser = await console.sign_in_as("ann")
    page = (await browser.get("/")).text

    assert "No answer from notifier, quoter" in page


async def test_unavailable_settler_hides_no_other_service(services: Services) -> None:
    unavailable = Services(
        services.database, {**services.urls, ServiceName.SETTLER: "http://127.0.0.1:1"}
    )
    console = Console(unavailable, public_url=ADDRESS)
    browser = await console.sign_in_as("ann")

    assert (await browser.get("/")).status_code == 200
    assert (await browser.get("/log?service=api")).status_code == 200
    refused = await browser.get("/claimables")
    assert refused.status_code == 503
    assert int(refused.headers["retry-after"]) > 0
    await console.http.close()


async def test_balances_invariants_and_losses_are_shown_with_their_rows(console: Console) -> None:
    browser: Browser = await console.sign_in_as("vic")

    losses = (await browser.get("/losses")).text
    invariants = (await browser.get("/invariants")).text
    balances = (await browser.get("/balances")).text

    assert "$3,000.00" in losses
    assert "I-08" in invariants
    assert "broken" in invariants  # no watcher wrote the deposits of these tests
    assert "ETH" in balances


@pytest.mark.parametrize(
    "path", ["/swaps/none", "/swaps?id=none", "/payments/queue/1", "/orders/x"]
)
async def test_unknown_address_is_not_found(console: Console, path: str) -> None:
    browser = await console.sign_in_as("vic")

    assert (await browser.get(path)).status_code == 404


async def test_swap_is_found_by_its_id_with_its_ledger(
    console: Console, services: Services
) -> None:
    browser = await console.sign_in_as("vic")
    id = await services.scalar("SELECT id::text FROM swap LIMIT 1")

    answer = await browser.get(f"/swaps?id={id}")

    assert answer.headers["location"] == f"/swaps/{id}"
    page = (await browser.get(f"/swaps/{id}")).text
    ledger = page.partition("Ledger</h2>")[2].partition("</h2>")[0]  # up to the balances
    assert re.search(r'class="end">.*title="-?[0-9.,]+ ETH"', ledger)  # an amount of a posting
