"""The pay page over HTTP: a payer's view and requests, and access by the right link only."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

import psycopg
import pytest

from services.dashboard.tests.payer import a_link, read
from services.dashboard.tests.shop import PAYER, RECEIVER, Api, Dashboard, a_transaction
from tests.plugins.postgres import Database

pytestmark = pytest.mark.connected
ADDRESS = "http://dashboard.test"
TRANSITIONS = """
INSERT INTO settler.swap_transition (swap_id, sequence, from_status, to_status, at, cause) VALUES
  (%(id)s, 1, NULL, 'user_transfer_pending', now(), NULL),
  (%(id)s, 2, 'user_transfer_pending', 'ls_transfer_pending', now(), 'deposit_confirmed')
"""
HOSTILE = "\"><script>alert(1)</script>'{{7*7}}"


class TestPage:
    async def test_shows_amounts_receiver_and_qr_code_for_a_wallet(
        self, dashboard: Dashboard, api: Api
    ) -> None:
        link = await a_link(api)

        page = (await read(dashboard, link.path())).text

        assert "Pay with a wallet" in page
        assert "Waiting for your payment" in page
        assert "2,996" in page
        assert RECEIVER in page
        assert 'class="qr"' in page

    async def test_shows_a_deposit_address_with_its_uri(
        self, dashboard: Dashboard, api: Api
    ) -> None:
        link = await a_link(api, method="deposit_address")

        page = (await read(dashboard, link.path())).text
        data = (await read(dashboard, link.path("data"))).json()["data"]

        address = data["next_action"]["action"]["to_address"]
        assert data["next_action"]["detail"].startswith(f"ethereum:{address}@31337")
        assert "Send to this address" in page
        assert page.count(address) >= 2  # shown whole, and to be copied

    async def test_shows_both_transactions_with_confirmations(
        self, dashboard: Dashboard, api: Api
    ) -> None:
        paid = (a_transaction("input"), a_transaction("output"))
        link = await a_link(api, status="completed", transactions=paid)

        page = (await read(dashboard, link.path())).text

        assert "The money has arrived" in page
        assert "3 / 3" in page
        for one in paid:
            assert str(one.transaction_hash) in page

    async def test_says_who_acted_and_why_where_it_is_known(
        self, dashboard: Dashboard, api: Api, database: Database
    ) -> None:
        link = await a_link(api, status="ls_transfer_pending")
        with psycopg.connect(database.superuser_url) as connection:
            connection.execute("SET LOCAL session_replication_role = replica")
            connection.execute(TRANSITIONS, {"id": link.swap.swap_id})

        page = (await read(dashboard, link.path())).text
        german = (await read(dashboard, link.path(lang="de"))).text

        assert "Network: payment final" in page
        assert "Partner:" not in page  # of the first event no cause is known
        assert "Netzwerk: Zahlung endgültig" in german

    @pytest.mark.parametrize(
        ("status", "says"),
        [
            ("ls_transfer_pending", "Your payment was seen"),
            ("expired", "Do not send anything now"),
            ("failed", "could not be completed"),
            ("pending_refund", "on its way back"),
            ("refunded", "went back"),
        ],
    )
    async def test_explains_a_status(
        self, dashboard: Dashboard, api: Api, status: str, says: str
    ) -> None:
        link = await a_link(api, status=status)

        page = (await read(dashboard, link.path())).text

        assert says in page
        assert "Pay with a wallet" not in page
        assert ("You receive" in page) is (status == "ls_transfer_pending")
        assert ("Was to be received" in page) is (status != "ls_transfer_pending")

    async def test_of_an_expired_swap_promises_no_payout(
        self, dashboard: Dashboard, api: Api
    ) -> None:
        link = await a_link(api, status="expired", refund_address=PAYER)

        page = (await read(dashboard, link.path())).text

        assert "No transactions." in page
        assert "A late payment goes back to" in page
        for promise in ("once it is detected", "If the swap cannot be completed"):
            assert promise not in page

    async def test_of_a_completed_swap_hides_the_refund(
        self, dashboard: Dashboard, api: Api
    ) -> None:
        paid = (a_transaction("input"), a_transaction("output"))
        link = await a_link(api, status="completed", transactions=paid, refund_address=PAYER)

        page = (await read(dashboard, link.path())).text

        assert re.search(r'id="refund"[^>]* hidden', page)

    async def test_offers_no_payment_after_the_deadline(
        self, dashboard: Dashboard, api: Api
    ) -> None:
        link = await a_link(api, method="deposit_address")
        dashboard.ahead = timedelta(hours=7)

        page = (await read(dashboard, link.path())).text

        assert "The time to pay is over" in page
        assert "Send to this address" not in page
        assert 'id="wallet"' not in page

    async def test_hides_data_of_the_partner(self, dashboard: Dashboard, api: Api) -> None:
        link = await a_link(api)

        answers = [await read(dashboard, path) for path in (link.path(), link.path("data"))]

        for answer in answers:
            assert answer.status_code == 200
            for hidden in ("order 4711", link.app, "checkout of the shop", "fee_amount"):
                assert hidden not in answer.text

    async def test_uses_the_readers_language(self, dashboard: Dashboard, api: Api) -> None:
        link = await a_link(api)

        by_browser = await read(dashboard, link.path(), **{"accept-language": "fr, de-CH;q=0.9"})
        by_address = await read(dashboard, link.path(lang="de"), **{"accept-language": "en"})
        unknown = await read(dashboard, link.path(lang="xx"), **{"accept-language": "xx"})

        for answer in (by_browser, by_address):
            assert '<html lang="de">' in answer.text
            assert "Mit einer Wallet bezahlen" in answer.text
            assert "2.996" in answer.text
        assert '<html lang="en">' in unknown.text


class TestLinks:
    async def test_with_a_wrong_token_or_swap_id_are_not_found(
        self, dashboard: Dashboard, api: Api
    ) -> None:
        one, other = await a_link(api), await a_link(api)
        wrong = [
            f"/pay/{one.swap.swap_id}",
            f"/pay/{one.swap.swap_id}?token=",
            f"/pay/{one.swap.swap_id}?token={other.token}",
            f"/pay/{one.swap.swap_id}?token={'x' * 1000}",
            f"/pay/{uuid4()}?token={one.token}",
            f"/pay/not-an-id?token={one.token}",
        ]

        answers = [await read(dashboard, path) for path in wrong]

        assert {answer.status_code for answer in answers} == {404}
        assert all("There is no such swap" in answer.text for answer in answers)

    async def test_are_opened_from_the_start_page(self, dashboard: Dashboard, api: Api) -> None:
        link = await a_link(api)
        pasted = f"  {ADDRESS}{link.path()}&utm=mail "

        page = await read(dashboard, "/pay?lang=de")
        opened = await dashboard.browser().client.post("/pay?lang=de", data={"link": pasted})
        shown = await read(dashboard, opened.headers["location"])

        assert page.status_code == 200
        assert "Zahlungsseite öffnen" in page.text
        assert page.headers["x-robots-tag"] == "noindex"
        assert opened.status_code == 303
        assert opened.headers["location"] == link.path(lang="de")
        assert "Mit einer Wallet bezahlen" in shown.text

    @pytest.mark.parametrize("pasted", ["", "hello", HOSTILE, "https://[", "/pay/x?token=x",
                                        f"{ADDRESS}/pay/{UUID(int=7)}"])  # fmt: skip
    async def test_that_are_invalid_are_refused(self, dashboard: Dashboard, pasted: str) -> None:
        answer = await dashboard.browser().client.post("/pay", data={"link": pasted})

        assert answer.status_code == 422
        assert "not the whole link" in answer.text
        assert HOSTILE not in answer.text

    async def test_are_required_where_only_the_swap_id_is_given(
        self, dashboard: Dashboard, api: Api
    ) -> None:
        link = await a_link(api)

        pasted = {"link": str(link.swap.swap_id)}
        answer = await dashboard.browser().client.post("/pay", data=pasted)
        unknown = await read(dashboard, f"/pay/{link.swap.swap_id}")

        assert answer.status_code == 422
        assert "ask the seller for the whole link" in answer.text
        assert 'href="/pay?lang=en"' in unknown.text

    async def test_redirect_only_to_this_host(self, dashboard: Dashboard) -> None:
        pasted = f"https://thief.example//evil.example/pay/{uuid4()}?token=a%0d%0ab"

        answer = await dashboard.browser().client.post("/pay", data={"link": pasted})

        assert answer.headers["location"].startswith("/pay/")

    async def test_are_hidden_from_referrers_and_search_engines(
        self, dashboard: Dashboard, api: Api
    ) -> None:
        link = await a_link(api)

        for path in (link.path(), link.path("data")):
            headers = (await read(dashboard, path)).headers
            assert headers["referrer-policy"] == "no-referrer"
            assert headers["x-robots-tag"] == "noindex"

    async def test_tokens_open_no_dashboard_page(self, dashboard: Dashboard, api: Api) -> None:
        link = await a_link(api)

        answer = await read(dashboard, f"/apps/{link.app}/swaps?token={link.token}")

        assert answer.status_code == 303
        assert answer.headers["location"].startswith("/sign-in")


class TestData:
    async def test_is_answered_with_304_until_it_changes(
        self, dashboard: Dashboard, api: Api
    ) -> None:
        link = await a_link(api)
        first = await read(dashboard, link.path("data"))

        known = {"if-none-match": first.headers["etag"]}
        same = await read(dashboard, link.path("data"), **known)
        await api.store(
            link.swap.model_copy(
                update={"sequence": 2, "status": "expired", "closed_at": datetime.now(UTC)}
            )
        )
        changed = await read(dashboard, link.path("data"), **known)

        assert (same.status_code, same.content) == (304, b"")
        assert changed.json()["data"]["status"] == "expired"

    async def test_has_the_error_codes_of_the_api(self, dashboard: Dashboard, api: Api) -> None:
        link = await a_link(api)
        wrong = link.path("data").replace(link.token, "x")
        sent = {"signature": "0x" + "11" * 65, "signer_address": PAYER}

        read_wrong = await read(dashboard, wrong)
        signed = await dashboard.browser().client.post(link.path("authorize"), data=sent)

        assert read_wrong.json()["error"]["code"] == "NOT_FOUND"
        assert signed.json()["error"]["code"] == "AUTHORIZATION_NOT_REQUESTED"


class TestRefundAddress:
    async def test_is_set_once_by_a_link_with_the_right(
        self, dashboard: Dashboard, api: Api
    ) -> None:
        link = await a_link(api, may_set_refund_address=True)
        browser = dashboard.browser()
        before = (await browser.get(link.path())).text

        wrong = await browser.client.post(link.path(), data={"refund_address": HOSTILE})
        done = await browser.client.post(link.path(), data={"refund_address": PAYER})
        after = (await browser.get(link.path())).text

        assert 'name="refund_address"' in before
        assert wrong.status_code == 422
        assert "This is not an address on the network" in wrong.text
        assert "<script>alert" not in wrong.text
        assert done.status_code == 303
        assert done.headers["location"] == f"{link.path()}#refund"
        assert 'name="refund_address"' not in after
        assert PAYER.lower() in after.lower()

    async def test_cannot_be_set_by_a_link_without_the_right(
        self, dashboard: Dashboard, api: Api
    ) -> None:
        link = await a_link(api)
        browser = dashboard.browser()

        page = (await browser.get(link.path())).text
        sent = await browser.client.post(link.path(), data={"refund_address": PAYER})
        after = (await browser.get(link.path("data"))).json()["data"]

        assert 'name="refund_address"' not in page
        assert sent.status_code == 422
        assert 'name="refund_address"' not in sent.text
        assert after["refund_address"] is None


class TestFrames:
    async def test_are_refused_without_a_setting_of_the_app(
        self, dashboard: Dashboard, api: Api
    ) -> None:
        link = await a_link(api)

        page = (await read(dashboard, link.path())).headers
        sign_in = (await read(dashboard, "/sign-in")).headers

        assert "frame-ancestors 'none'" in page["content-security-policy"]
        assert sign_in["x-frame-options"] == "DENY"

    async def test_are_allowed_for_the_origins_of_the_swaps_app(
        self, dashboard: Dashboard, api: Api
    ) -> None:
        link, of_another_app = await a_link(api), await a_link(api)
        origins = {"origins": ["https://shop.example", "https://[2001:db8::1]:8443"]}
        api.order(f"/apps/{link.app}/frame_origins", origins)

        page = (await read(dashboard, link.path())).headers
        other = (await read(dashboard, of_another_app.path())).headers
        unknown = (await read(dashboard, link.path().replace(link.token, "x"))).headers
        sign_in = (await read(dashboard, "/sign-in")).headers

        policy = page["content-security-policy"]
        assert policy.endswith("frame-ancestors https://shop.example https://[2001:db8::1]:8443")
        for closed in (other, unknown):
            assert closed["content-security-policy"].endswith("frame-ancestors 'none'")
        assert "x-frame-options" not in page
        assert "'unsafe" not in policy
        assert "frame-ancestors 'none'" in sign_in["content-security-policy"]
        assert sign_in["x-frame-options"] == "DENY"


async def test_events_need_the_token(dashboard: Dashboard, api: Api) -> None:
    link = await a_link(api)

    answer = await read(dashboard, link.path("events").replace(link.token, "x"))

    assert answer.status_code == 404
    assert answer.json()["error"]["code"] == "NOT_FOUND"
