"""The link of one swap: the rights of its holder, and data that only the partner sees."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from api_factories import ALICE, a_body, a_message, a_swap, an_input
from api_harness import App, Harness, start
from api_settler_swaps import INSERT_SWAPS, OTHER_COLUMNS
from people import BASE, a_colleague, an_owner

from swap_api.model.keys import KeyKind
from swap_api.model.members import Role
from swap_api.swaps.store.history import PostgresHistory
from swap_contracts.swaps import SwapChanged
from tests.plugins.postgres import Database

pytestmark = pytest.mark.connected

PAY = "/pay/v1/swaps"
# The partner's data, which must not be in an answer, regardless of the model.
HIDDEN = ("fee", "reference", "order-1", "app_id", "sequence_number", "path", "slippage")


# As the settler stores a swap, its quote, and another one.
REQUOTED = (
    f"{INSERT_SWAPS} VALUES (%(id)s, %(id)s, 1, 'key', %(sequence)s, 'completed', {OTHER_COLUMNS})",
    "UPDATE settler.swap SET quote = %(quote)s WHERE id = %(id)s",
    "UPDATE settler.swap SET quote = %(part)s, quote_revision = 1 WHERE id = %(id)s",
)


async def stored(api: Harness, app: App, **members: object) -> SwapChanged:
    swap = a_swap(app_id=app.id, **members)
    await api.parts.swaps.store_swaps([a_message(swap)])
    return swap


async def a_link(api: Harness, app: App, swap_id: UUID | str, query: str = "") -> dict[str, str]:
    """Return the headers of a holder of the link."""
    answer = await api.get(app, f"/swaps/{swap_id}/pay_link{query}")
    assert answer.status_code == 200, answer.text
    return {"Authorization": f"Bearer {answer.json()['data']['read_token']}"}


def members_of(value: object) -> set[str]:
    """Return the names of all members, at every depth."""
    if isinstance(value, Mapping):
        return {*value} | {name for one in value.values() for name in members_of(one)}
    if isinstance(value, list):
        return {name for one in value for name in members_of(one)}
    return set()


class TestFrames:
    async def test_are_those_that_the_swaps_app_names(self, api: Harness) -> None:
        owner = await an_owner(api)
        app_id = await owner.an_app()
        await owner.post_ok(f"/apps/{app_id}/frame_origins", {"origins": ["https://shop.example"]})
        issued = await api.parts.management.manage_keys.issue(UUID(app_id), KeyKind.SECRET)
        app = App(UUID(app_id), issued.key, issued.id, UUID(owner.organization_id))
        swap = await stored(api, app)
        headers = await a_link(api, app, swap.swap_id)

        answer = await api.client.get(f"{PAY}/{swap.swap_id}", headers=headers)

        assert answer.json()["data"]["frame_origins"] == ["https://shop.example"]


class TestLinks:
    async def test_are_the_same_for_the_key_and_for_a_member(self, api: Harness) -> None:
        owner = await an_owner(api)
        app_id = await owner.an_app()
        viewer = await a_colleague(owner, Role.VIEWER)
        issued = await api.parts.management.manage_keys.issue(UUID(app_id), KeyKind.SECRET)
        app = App(UUID(app_id), issued.key, issued.id, UUID(owner.organization_id))
        swap = await stored(api, app)

        by_key = await api.get(app, f"/swaps/{swap.swap_id}/pay_link")
        by_member = await viewer.get(f"/apps/{app_id}/swaps/{swap.swap_id}/pay_link")

        assert by_key.json()["data"] == by_member.json()["data"]
        assert by_key.headers["cache-control"] == "no-store"  # the link is a credential
        assert by_member.headers["cache-control"] == "no-store"
        assert by_key.json()["data"]["url"] is None  # no pay page URL is configured here
        assert by_key.json()["data"]["read_token"].startswith("svc_pay_")

    async def test_that_set_a_refund_address_need_a_secret_key_or_a_role(
        self, api: Harness
    ) -> None:
        owner = await an_owner(api)
        app_id = await owner.an_app()
        viewer = await a_colleague(owner, Role.VIEWER)
        publishable = await api.parts.management.manage_keys.issue(
            UUID(app_id), KeyKind.PUBLISHABLE
        )
        app = App(UUID(app_id), publishable.key, publishable.id, UUID(owner.organization_id))
        swap = await stored(api, app)
        query = "pay_link?may_set_refund_address=true"

        by_key = await api.get(app, f"/swaps/{swap.swap_id}/{query}")
        by_viewer = await viewer.get(f"/apps/{app_id}/swaps/{swap.swap_id}/{query}")
        by_owner = await owner.get(f"/apps/{app_id}/swaps/{swap.swap_id}/{query}")

        assert by_key.json()["error"]["code"] == "API_KEY_FORBIDDEN"
        assert by_viewer.json()["error"]["code"] == "ROLE_TOO_LOW"
        assert by_owner.json()["data"]["may_set_refund_address"] is True

    async def test_of_another_tenants_swap_are_unknown(self, api: Harness) -> None:
        mine, other = await api.an_app(), await api.an_app()
        swap = await stored(api, mine)

        answer = await api.get(other, f"/swaps/{swap.swap_id}/pay_link")

        assert answer.status_code == 404


class TestReads:
    async def test_show_the_swap_without_data_of_the_partner(self, api: Harness) -> None:
        app = await api.an_app()
        swap = await stored(api, app, refund_address=ALICE, transactions=(an_input(),))
        link = await a_link(api, app, swap.swap_id)

        answer = await api.client.get(f"{PAY}/{swap.swap_id}", headers=link)

        read = answer.json()["data"]
        assert read["id"] == str(swap.swap_id)
        assert read["status"] == "user_transfer_pending"
        assert read["refund_address"].lower() == ALICE.lower()
        assert read["may_set_refund_address"] is False
        assert [one["type"] for one in read["transactions"]] == ["input"]
        names = members_of(read) - {"fee_token"}  # the network's gas asset, in the action
        assert not [name for name in names if any(hidden in name for hidden in HIDDEN)]
        assert "order-1" not in answer.text
        assert str(app.id) not in answer.text

    async def test_have_the_requested_amount_of_the_first_quote(
        self, api: Harness, database: Database
    ) -> None:
        """A part was swapped at a new price: the swap's own amount is what came."""
        owner = await an_owner(api)
        app_id = await owner.an_app()
        issued = await api.parts.management.manage_keys.issue(UUID(app_id), KeyKind.SECRET)
        app = App(UUID(app_id), issued.key, issued.id, UUID(owner.organization_id))
        as_asked = a_swap(app_id=app.id)
        part = as_asked.quote.model_copy(update={"requested_base_units": str(6 * 10**17)})
        swap = await stored(api, app, swap_id=as_asked.swap_id, quote=part, quote_revision=1)
        link = await a_link(api, app, swap.swap_id)
        with psycopg.connect(database.superuser_url) as connection:
            values = {"id": swap.swap_id, "sequence": swap.sequence}
            values |= {"quote": as_asked.quote.model_dump_json(), "part": part.model_dump_json()}
            for statement in REQUOTED:
                connection.execute(statement, values)
        try:
            answer = await api.client.get(f"{PAY}/{swap.swap_id}", headers=link)
            quotes = await owner.get(f"/apps/{app_id}/swaps/{swap.swap_id}/quotes")
        finally:
            with psycopg.connect(database.superuser_url) as connection:
                connection.execute("TRUNCATE settler.swap CASCADE")

        read, [first, second] = answer.json()["data"], quotes.json()["data"]
        assert (read["first_requested_amount"], read["requested_amount"]) == (1.0, 0.6)
        assert (first["revision"], second["revision"]) == (0, 1)
        assert first["requested_in_base_units"] == as_asked.quote.requested_base_units
        assert second["total_fee_in_base_units"] == part.total_fee_base_units

    @pytest.mark.parametrize("revision", [0, 1])
    async def test_have_no_first_amount_of_a_quote_that_holds_or_is_not_known(
        self, api: Harness, database: Database, revision: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A first quote that was replaced before it was stored is not known."""
        queried: list[UUID] = []
        query_quotes = PostgresHistory.quotes

        async def record(history: PostgresHistory, swap_id: UUID) -> Any:
            queried.append(swap_id)
            return await query_quotes(history, swap_id)

        monkeypatch.setattr(PostgresHistory, "quotes", record)
        app = await api.an_app()
        swap = await stored(api, app, quote_revision=revision)
        link = await a_link(api, app, swap.swap_id)
        quote = swap.quote.model_dump_json()
        values = {"id": swap.swap_id, "sequence": swap.sequence, "quote": quote, "part": quote}
        with psycopg.connect(database.superuser_url) as connection:
            connection.execute("SET LOCAL session_replication_role = replica")  # no trigger
            for statement in REQUOTED[: 2 + revision]:
                connection.execute(statement, values)
        try:
            answer = await api.client.get(f"{PAY}/{swap.swap_id}", headers=link)
        finally:
            with psycopg.connect(database.superuser_url) as connection:
                connection.execute("TRUNCATE settler.swap CASCADE")

        assert answer.json()["data"]["first_requested_amount"] is None
        assert queried == [swap.swap_id] * revision

    async def test_have_the_next_action(self, api: Harness) -> None:
        app = await api.an_app()
        swap_id = (await api.create(app, a_body())).json()["data"]["swap"]["id"]
        link = await a_link(api, app, swap_id)
        whole = (await api.get(app, f"/swaps/{swap_id}")).json()["data"]

        read = (await api.client.get(f"{PAY}/{swap_id}", headers=link)).json()["data"]

        assert read["next_action"]["action"] == whole["deposit_actions"][0]
        assert read["expires_at"]

    async def test_need_the_token_of_the_swap(self, api: Harness) -> None:
        app = await api.an_app()
        one, other = await stored(api, app), await stored(api, app)
        link = await a_link(api, app, other.swap_id)

        answers = [
            await api.client.get(f"{PAY}/{swap_id}", headers=headers)
            for swap_id, headers in (
                (one.swap_id, link),
                (one.swap_id, {}),
                (one.swap_id, app.headers),
                (one.swap_id, {"Authorization": f"Bearer {app.key}"}),
                (uuid4(), link),
            )
        ]

        assert {answer.status_code for answer in answers} == {404}
        assert len({answer.json()["error"]["message"] for answer in answers}) == 1

    async def test_open_no_other_read(self, api: Harness) -> None:
        app = await api.an_app()
        swap = await stored(api, app)
        link = await a_link(api, app, swap.swap_id)
        token = link["Authorization"].removeprefix("Bearer ")

        answers = [
            await api.client.get(f"/api/v2/swaps/{swap.swap_id}", headers={"X-SVC-APIKEY": token}),
            await api.client.get(f"{BASE}/me", headers=link),
        ]

        assert [answer.status_code for answer in answers] == [403, 403]

    async def test_return_304_until_something_changes(self, api: Harness) -> None:
        app = await api.an_app()
        swap = await stored(api, app)
        link = await a_link(api, app, swap.swap_id)
        path = f"{PAY}/{swap.swap_id}"
        first = await api.client.get(path, headers=link)
        known = {**link, "If-None-Match": first.headers["etag"]}

        same = await api.client.get(path, headers=known)
        newer = swap.model_copy(update={"sequence": 2, "transactions": (an_input(),)})
        await api.parts.swaps.store_swaps([a_message(newer)])
        changed = await api.client.get(path, headers=known)

        assert (same.status_code, changed.status_code) == (304, 200)

    async def test_are_counted_by_address(self, api: Harness) -> None:
        app = await api.an_app()
        swap = await stored(api, app)
        link = await a_link(api, app, swap.swap_id)

        answer = await api.client.get(f"{PAY}/{swap.swap_id}", headers=link)

        of_one_client = 2 * 1200  # the limit of two minutes
        assert answer.headers["ratelimit-limit"] == str(of_one_client)
        assert int(answer.headers["ratelimit-remaining"]) < of_one_client

    async def test_with_wrong_tokens_are_counted_only_for_their_address(
        self, database_url: str, redis_url: str, catalogue_file: Path
    ) -> None:
        rates = {"reads": 1, "ceiling_factor": 2}  # a burst of two: one read of a swap
        harness = start(database_url, redis_url, catalogue_file, rates=rates)
        app = await harness.an_app()
        swap = await stored(harness, app)
        link = await a_link(harness, app, swap.swap_id)
        path, wrong = f"{PAY}/{swap.swap_id}", {"Authorization": "Bearer svc_pay_garbage"}

        unknown = []
        for n in range(5):
            harness.client._transport.client = (f"198.51.100.{n}", 1)  # type: ignore[attr-defined]
            unknown += [await harness.client.get(path, headers=wrong) for _ in range(3)]
        payers = [await harness.client.get(path, headers=link) for _ in range(2)]
        await harness.stop()

        assert [one.status_code for one in unknown] == [404, 404, 429] * 5
        assert [one.status_code for one in payers] == [200, 429]

    async def test_of_one_swap_do_not_count_for_another(
        self, database_url: str, redis_url: str, catalogue_file: Path
    ) -> None:
        rates = {"reads": 1, "ceiling_factor": 2}
        harness = start(database_url, redis_url, catalogue_file, rates=rates)
        app = await harness.an_app()
        one, other = await stored(harness, app), await stored(harness, app)

        statuses = []
        for n in range(4):
            harness.client._transport.client = (f"198.51.100.{n}", 1)  # type: ignore[attr-defined]
            swap_id = one.swap_id if n < 3 else other.swap_id
            link = await a_link(harness, app, swap_id)
            answer = await harness.client.get(f"{PAY}/{swap_id}", headers=link)
            statuses.append(answer.status_code)
        await harness.stop()

        assert statuses == [200] * 2 + [429, 200]

    async def test_with_a_wrong_token_send_no_statement(self, api: Harness) -> None:
        app = await api.an_app()
        swap = await stored(api, app)
        wrong = {"Authorization": "Bearer svc_pay_garbage"}

        with api.statements() as statements:
            answer = await api.client.get(f"{PAY}/{swap.swap_id}", headers=wrong)

        assert answer.status_code == 404
        assert statements.texts == []

    async def test_list_events_only_with_the_header_token(self, api: Harness) -> None:
        app = await api.an_app()
        swap = await stored(api, app)
        link = await a_link(api, app, swap.swap_id)
        path = f"{PAY}/{swap.swap_id}/events"
        live = {"Accept": "text/event-stream"}

        listed = await api.client.get(path, headers=link)
        refused = await api.client.get(path, headers=live)

        assert listed.json()["data"] == []
        assert refused.status_code == 404


class TestRefundAddresses:
    async def post(self, api: Harness, swap_id: object, link: Mapping[str, str]) -> Any:
        return await api.client.post(
            f"{PAY}/{swap_id}/refund_address", json={"refund_address": ALICE}, headers=dict(link)
        )

    async def test_are_set_once_by_a_link_that_may(self, api: Harness) -> None:
        app = await api.an_app()
        swap = await stored(api, app)
        link = await a_link(api, app, swap.swap_id, "?may_set_refund_address=true")
        before = (await api.client.get(f"{PAY}/{swap.swap_id}", headers=link)).json()["data"]

        answer = await self.post(api, swap.swap_id, link)

        read = (await api.client.get(f"{PAY}/{swap.swap_id}", headers=link)).json()["data"]
        assert answer.json() == {"error": None}
        assert (before["refund_address"], before["may_set_refund_address"]) == (None, True)
        assert read["refund_address"].lower() == ALICE.lower()
        assert read["may_set_refund_address"] is False

    async def test_are_not_set_by_another_link(self, api: Harness) -> None:
        app = await api.an_app()
        swap = await stored(api, app)
        link = await a_link(api, app, swap.swap_id)

        answer = await self.post(api, swap.swap_id, link)
        read = (await api.client.get(f"{PAY}/{swap.swap_id}", headers=link)).json()["data"]

        assert answer.status_code == 404
        assert (read["refund_address"], read["may_set_refund_address"]) == (None, False)


async def test_a_signature_of_a_swap_that_is_not_gasless_is_refused(api: Harness) -> None:
    app = await api.an_app()
    swap = await stored(api, app)
    link = await a_link(api, app, swap.swap_id)
    body = {"signature": "0x" + "11" * 65, "signer_address": ALICE}

    answers = [
        await api.client.post(f"{PAY}/{swap.swap_id}/authorize", json=body, headers=headers)
        for headers in (link, {})
    ]

    codes = [answer.json()["error"]["code"] for answer in answers]
    assert codes == ["AUTHORIZATION_NOT_REQUESTED", "NOT_FOUND"]
