"""Organizations manage their apps, keys and members, and see only their own."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import httpx
import psycopg
import pytest
from api_harness import Harness
from people import BASE, Person, a_colleague, an_owner
from pydantic import TypeAdapter

from swap_api.model.members import OPERATOR, Role
from swap_contracts.public.management import (
    AppModel,
    AuditEntryModel,
    JoinedModel,
    KeyModel,
    MemberModel,
    MeModel,
    NewAccessTokenModel,
    NewInvitationModel,
    NewKeyModel,
    OrganizationModel,
)
from tests.plugins.postgres import Database

pytestmark = pytest.mark.connected
MANY_CHANGES = """
INSERT INTO api.audit_entry (partner_id, at, actor, request_id, action, subject_id, details)
SELECT %s, now(), 'owner', 'request', 'app.added', gen_random_uuid(), '{}'
FROM generate_series(1, 10000)
"""


def code(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]["code"]


def valid(model: Any, content: Any) -> Any:
    return TypeAdapter(model).validate_python(content)


@pytest.fixture
async def owner(api: Harness) -> Person:
    return await an_owner(api)


class TestMembers:
    async def test_join_by_an_invitation_that_is_accepted_once(
        self, api: Harness, owner: Person
    ) -> None:
        path = f"/organizations/{owner.organization_id}/invitations"
        invited = await owner.post_ok(path, {"name": "ada@shop.example", "role": "developer"})
        valid(NewInvitationModel, invited)

        both = await asyncio.gather(
            *(
                api.client.post(f"{BASE}/invitations/accept", json={"token": invited["token"]})
                for _ in range(2)
            )
        )

        joined, refused = sorted(both, key=lambda answer: answer.status_code)
        valid(JoinedModel, joined.json()["data"])
        assert code(refused) == (400, "INVITATION_INVALID")
        assert joined.headers["cache-control"] == "no-store"
        members = (await owner.get(f"/organizations/{owner.organization_id}/members")).json()
        assert [m["role"] for m in valid(list[Any], members["data"])] == ["owner", "developer"]

    async def test_get_the_same_answer_for_every_unusable_invitation(
        self, api: Harness, owner: Person
    ) -> None:
        path = f"/organizations/{owner.organization_id}/invitations"
        invited = await owner.post_ok(path, {"name": "ada", "role": "viewer"})
        await owner.post_ok(f"/invitations/{invited['id']}/revoke")

        answers = [
            await api.client.post(f"{BASE}/invitations/accept", json={"token": token})
            for token in (invited["token"], "svc_invite_" + "0" * 64)
        ]

        messages = [answer.json()["error"]["message"] for answer in answers]
        assert [code(a) for a in answers] == [(400, "INVITATION_INVALID")] * 2
        assert messages[0] == messages[1]

    async def test_that_leave_take_their_tokens_and_invitations_with_them(
        self, api: Harness, owner: Person
    ) -> None:
        admin = await a_colleague(owner, Role.ADMIN)
        path = f"/organizations/{owner.organization_id}/invitations"
        invited = await admin.post_ok(path, {"name": "eve", "role": "admin"})

        await owner.post_ok(f"/members/{admin.id}/remove")

        assert code(await admin.get("/me")) == (403, "ACCESS_TOKEN_FORBIDDEN")
        answer = await api.client.post(
            f"{BASE}/invitations/accept", json={"token": invited["token"]}
        )
        assert code(answer) == (400, "INVITATION_INVALID")

    async def test_always_include_an_owner(self, owner: Person) -> None:
        demoted = await owner.post(f"/members/{owner.id}/role", {"role": "admin"})
        gone = await owner.post(f"/members/{owner.id}/remove")

        assert [code(demoted), code(gone)] == [(409, "LAST_OWNER")] * 2

    async def test_that_own_it_cannot_both_leave_at_once(self, owner: Person) -> None:
        other = await a_colleague(owner, Role.OWNER)

        answers = await asyncio.gather(
            *(person.post(f"/members/{person.id}/remove") for person in (owner, other))
        )

        assert sorted(answer.status_code for answer in answers) == [200, 409]

    async def test_show_their_identity(self, owner: Person) -> None:
        me = valid(MeModel, (await owner.get("/me")).json()["data"])

        assert (str(me.id), me.role, me.organization.name) == (owner.id, "owner", "Shop")

    async def test_have_tokens_of_their_own_that_end(self, api: Harness, owner: Person) -> None:
        made = await owner.post_ok("/me/tokens", {"label": "laptop"})
        valid(NewAccessTokenModel, made)
        laptop = Person(owner.id, owner.organization_id, made["token"], api)
        assert (await laptop.get("/me")).status_code == 200

        await owner.post_ok(f"/me/tokens/{made['id']}/revoke")

        assert code(await laptop.get("/me")) == (403, "ACCESS_TOKEN_FORBIDDEN")
        far = datetime.now(UTC) + timedelta(days=400)
        late = await owner.post("/me/tokens", {"label": "x", "expires_at": far.isoformat()})
        assert "expires_at" in late.json()["error"]["metadata"]["field_errors"]
        listed = (await owner.get("/me/tokens")).json()["data"]
        assert [token["label"] for token in listed] == ["first"]
        assert listed[0]["last_used_at"] is not None

    async def test_without_a_token_are_anonymous(self, api: Harness) -> None:
        app = await api.an_app()
        missing = await api.client.get(f"{BASE}/me")
        wrong = await api.client.get(f"{BASE}/me", headers={"Authorization": "Bearer x"})
        by_key = await api.client.get(f"{BASE}/me", headers={"Authorization": f"Bearer {app.key}"})

        assert code(missing) == (401, "ACCESS_TOKEN_REQUIRED")
        assert [code(wrong), code(by_key)] == [(403, "ACCESS_TOKEN_FORBIDDEN")] * 2


class TestRoles:
    @pytest.mark.parametrize("role", list(Role))
    async def test_decide_who_works_on_what(self, owner: Person, role: Role) -> None:
        person = await a_colleague(owner, role)
        test_app, live_app = await owner.an_app("test"), await owner.an_app("live")
        own = f"/organizations/{owner.organization_id}"

        allowed = {
            what: (await person.post(path, body)).status_code == 200
            for what, path, body in (
                ("test key", f"/apps/{test_app}/keys", {}),
                ("live key", f"/apps/{live_app}/keys", {}),
                ("test app", f"{own}/apps", {"name": "a", "environment": "test"}),
                ("live app", f"{own}/apps", {"name": "a", "environment": "live"}),
                ("rename", own, {"name": "Other"}),
                ("invite viewer", f"{own}/invitations", {"name": "v", "role": "viewer"}),
                ("invite owner", f"{own}/invitations", {"name": "o", "role": "owner"}),
            )
        }
        audit = await person.get(f"{own}/changes")

        works, admins, owns = role != Role.VIEWER, role.rank >= Role.ADMIN.rank, role == Role.OWNER
        assert allowed == {
            "test key": works,
            "live key": admins,
            "test app": works,
            "live app": admins,
            "rename": admins,
            "invite viewer": admins,
            "invite owner": owns,
        }
        assert (audit.status_code == 200) == admins
        assert (await person.get(f"/apps/{live_app}/keys")).status_code == 200

    async def test_are_never_raised_above_the_own_one(self, owner: Person) -> None:
        admin = await a_colleague(owner, Role.ADMIN)

        raised = await admin.post(f"/members/{admin.id}/role", {"role": "owner"})
        lowered = await admin.post(f"/members/{owner.id}/role", {"role": "viewer"})
        removed = await admin.post(f"/members/{owner.id}/remove")

        assert [code(a) for a in (raised, lowered, removed)] == [(403, "ROLE_TOO_LOW")] * 3

    async def test_take_no_invitation_back_that_is_above_the_own(self, owner: Person) -> None:
        admin = await a_colleague(owner, Role.ADMIN)
        path = f"/organizations/{owner.organization_id}/invitations"
        invited = await owner.post_ok(path, {"name": "o", "role": "owner"})

        refused = await admin.post(f"/invitations/{invited['id']}/revoke")

        assert code(refused) == (403, "ROLE_TOO_LOW")
        await owner.post_ok(f"/invitations/{invited['id']}/revoke")

    async def test_change_at_once(self, owner: Person) -> None:
        colleague = await a_colleague(owner, Role.ADMIN)
        valid(MemberModel, await owner.post_ok(f"/members/{colleague.id}/role", {"role": "viewer"}))

        app = await owner.an_app()

        assert code(await colleague.post(f"/apps/{app}/keys")) == (403, "ROLE_TOO_LOW")


class TestKeys:
    async def test_are_shown_once_with_their_label(self, owner: Person) -> None:
        app = await owner.an_app()
        made = await owner.post_ok(f"/apps/{app}/keys", {"label": "shop 1", "kind": "publishable"})
        valid(NewKeyModel, made)

        answer = await owner.get(f"/apps/{app}/keys")

        (key,) = answer.json()["data"]
        valid(KeyModel, key)
        assert made["key"].startswith("svc_test_pub_")
        assert (key["label"], key["last_four"]) == ("shop 1", made["key"][-4:])
        assert made["key"] not in answer.text

    async def test_are_replaced_without_a_moment_in_which_none_opens(
        self, api: Harness, owner: Person
    ) -> None:
        app = await owner.an_app()
        old = await owner.post_ok(f"/apps/{app}/keys", {"label": "a"})
        new = await owner.post_ok(f"/keys/{old['id']}/rotate", {"overlap_seconds": 3600})

        both = [await opens(api, key["key"]) for key in (old, new)]
        again = await owner.post_ok(f"/keys/{new['id']}/rotate", {"overlap_seconds": 0})

        assert both == [True, True]
        assert new["label"] == "a"
        newest, middle, first = (await owner.get(f"/apps/{app}/keys")).json()["data"]
        assert newest["id"] == again["id"]
        assert newest["expires_at"] is None
        assert moment(middle["expires_at"]) <= datetime.now(UTC)
        assert moment(first["expires_at"]) > datetime.now(UTC) + timedelta(minutes=50)

    async def test_that_end_stay_ended(self, api: Harness, owner: Person) -> None:
        app = await owner.an_app()
        key = await owner.post_ok(f"/apps/{app}/keys")
        soon = datetime.now(UTC) + timedelta(hours=1)
        ending = await owner.post_ok(f"/keys/{key['id']}/expire", {"expires_at": soon.isoformat()})
        assert moment(ending["expires_at"]) == soon
        assert await opens(api, key["key"])

        await owner.post_ok(f"/keys/{key['id']}/revoke")

        later = {"expires_at": (soon + timedelta(days=1)).isoformat()}
        assert code(await owner.post(f"/keys/{key['id']}/expire", later)) == (409, "KEY_CLOSED")
        assert code(await owner.post(f"/keys/{key['id']}/rotate")) == (409, "KEY_CLOSED")

    async def test_name_the_origins_of_pages_that_may_use_them(self, owner: Person) -> None:
        app = await owner.an_app()
        body = {"kind": "publishable", "allowed_origins": ["https://shop.example"]}
        key = await owner.post_ok(f"/apps/{app}/keys", body)
        origins = ["https://Shop.example:0443", "http://localhost:03000", "http://[::1]:80"]

        changed = await owner.post_ok(f"/keys/{key['id']}/allowed_origins", {"origins": origins})
        rotated = await owner.post_ok(f"/keys/{key['id']}/rotate")
        emptied = await owner.post_ok(f"/keys/{key['id']}/allowed_origins", {"origins": []})

        valid(KeyModel, changed)
        assert key["allowed_origins"] == ["https://shop.example"]
        as_sent = ["https://shop.example", "http://localhost:3000", "http://[::1]"]
        assert changed["allowed_origins"] == rotated["allowed_origins"] == as_sent
        assert emptied["allowed_origins"] == []
        changes = await owner.get(f"/organizations/{owner.organization_id}/changes")
        entry = changes.json()["data"][0]
        assert entry["action"] == "key.allowed_origins_set"
        assert (entry["subject_id"], entry["details"]) == (key["id"], {"allowed_origins": []})

    @pytest.mark.parametrize(
        "origins",
        [
            ["*"],
            ["null"],
            ["https://*.shop.example"],
            ["https://shop.example/"],
            ["http://shop.example"],
            ["http://localhost.shop.example"],
            ["https://shop.example:99999"],
            [f"https://{number}.shop.example" for number in range(21)],
        ],
    )
    async def test_name_exact_and_few_origins(self, owner: Person, origins: list[str]) -> None:
        app = await owner.an_app()
        key = await owner.post_ok(f"/apps/{app}/keys", {"kind": "publishable"})

        refused = await owner.post(f"/keys/{key['id']}/allowed_origins", {"origins": origins})

        assert code(refused) == (400, "VALIDATION_ERROR")
        assert "origins" in refused.json()["error"]["metadata"]["field_errors"]
        assert (await self.only(owner, app))["allowed_origins"] == []

    async def test_that_are_secret_have_no_origins(self, owner: Person) -> None:
        app = await owner.an_app()
        key = await owner.post_ok(f"/apps/{app}/keys")
        origins = ["https://shop.example"]

        refused = await owner.post(f"/keys/{key['id']}/allowed_origins", {"origins": origins})
        unmade = await owner.post(f"/apps/{app}/keys", {"allowed_origins": origins})

        assert "publishable" in refused.json()["error"]["metadata"]["field_errors"]["origins"]
        assert "allowed_origins" in unmade.json()["error"]["metadata"]["field_errors"]
        assert (await self.only(owner, app))["id"] == key["id"]

    async def test_get_their_origins_while_they_are_open_from_who_may(self, owner: Person) -> None:
        developer = await a_colleague(owner, Role.DEVELOPER)
        app = await owner.an_app("live")
        key = await owner.post_ok(f"/apps/{app}/keys", {"kind": "publishable"})
        path, body = f"/keys/{key['id']}/allowed_origins", {"origins": ["https://eve.example"]}

        forbidden = await developer.post(path, body)
        await owner.post_ok(f"/keys/{key['id']}/revoke")

        assert code(forbidden) == (403, "ROLE_TOO_LOW")
        assert code(await owner.post(path, body)) == (409, "KEY_CLOSED")
        assert (await self.only(owner, app))["allowed_origins"] == []

    async def only(self, owner: Person, app: str) -> dict[str, Any]:
        """Return the one key of an app."""
        [key] = (await owner.get(f"/apps/{app}/keys")).json()["data"]
        found: dict[str, Any] = key
        return found

    async def test_end_in_the_future_only(self, owner: Person) -> None:
        app = await owner.an_app()

        past = await owner.post(f"/apps/{app}/keys", {"expires_at": "2020-01-01T00:00:00Z"})

        assert code(past) == (400, "VALIDATION_ERROR")
        assert past.json()["error"]["metadata"]["field_errors"] == {
            "expires_at": "must lie in the future, within a thousand years"
        }

    @pytest.mark.parametrize("end", ["9999-12-31T23:59:59-12:00", "9999-12-31T23:59:59Z"])
    async def test_with_an_end_that_cannot_be_stored_are_refused(
        self, owner: Person, end: str
    ) -> None:
        app = await owner.an_app()

        assert code(await owner.post(f"/apps/{app}/keys", {"expires_at": end})) == (
            400,
            "VALIDATION_ERROR",
        )


class TestApps:
    async def test_of_tests_may_have_swaps_that_live_for_another_time(self, owner: Person) -> None:
        test_app, live_app = await owner.an_app("test"), await owner.an_app("live")
        settings = {"name": "hasty", "swap_lifetime_seconds": 5}

        changed = await owner.post_ok(f"/apps/{test_app}", settings)
        refused = await owner.post(f"/apps/{live_app}", settings)

        valid(AppModel, changed)
        assert (changed["name"], changed["swap_lifetime_seconds"]) == ("hasty", 5)
        assert "swap_lifetime_seconds" in refused.json()["error"]["metadata"]["field_errors"]

    async def test_keep_their_other_settings_when_renamed(self, owner: Person) -> None:
        app = await owner.an_app("test")
        await owner.post_ok(f"/apps/{app}", {"name": "first", "swap_lifetime_seconds": 900})

        renamed = await owner.post_ok(f"/apps/{app}/name", {"name": "second"})
        unnamed = await owner.post_ok(f"/apps/{app}", {"swap_lifetime_seconds": 5})

        valid(AppModel, renamed)
        assert (renamed["name"], renamed["swap_lifetime_seconds"]) == ("second", 900)
        assert (unnamed["name"], unnamed["swap_lifetime_seconds"]) == ("second", 5)

    async def test_name_the_sites_that_may_frame_their_pay_pages(self, owner: Person) -> None:
        test_app, live_app = await owner.an_app("test"), await owner.an_app("live")
        developer = await a_colleague(owner, Role.DEVELOPER)
        shop, here = "https://shop.example:8443", "http://localhost:3000"

        changed = await developer.post_ok(
            f"/apps/{test_app}/frame_origins", {"origins": [shop, here]}
        )
        plain = await owner.post(f"/apps/{live_app}/frame_origins", {"origins": [here]})
        forbidden = await developer.post(f"/apps/{live_app}/frame_origins", {"origins": [shop]})
        emptied = await owner.post_ok(f"/apps/{test_app}/frame_origins", {"origins": []})

        valid(AppModel, changed)
        assert changed["frame_origins"] == [shop, here]
        assert "origins" in plain.json()["error"]["metadata"]["field_errors"]
        assert code(forbidden) == (403, "ROLE_TOO_LOW")
        assert emptied["frame_origins"] == []

    @pytest.mark.parametrize(
        "origin",
        [
            "*",
            "https://*.example",
            "https://shop.example; script-src *",
            "https://shop.example/path",
            "https://shop.example/",
            "https://shop.example https://other.example",
            "https://shop.example\n",
            "shop.example",
            "https://user@shop.example",
            "https://",
            "https://shop.example:٣",
        ],
    )
    async def test_accept_only_origins_of_frames(self, owner: Person, origin: str) -> None:
        app = await owner.an_app("test")

        refused = await owner.post(f"/apps/{app}/frame_origins", {"origins": [origin]})

        assert refused.status_code == 400
        assert (await owner.get(f"/apps/{app}")).json()["data"]["frame_origins"] == []

    async def test_get_their_limits_only_from_the_operator(
        self, api: Harness, owner: Person
    ) -> None:
        app = await owner.an_app()

        answer = await owner.post(f"/apps/{app}/limits", {"limits_lifted": True})

        assert code(answer) == (405, "METHOD_NOT_ALLOWED")
        assert "POST" in {
            method
            for method, path, _ in api.parts.operator_routes.routes()
            if path.endswith("/limits")
        }

    async def test_get_their_fee_only_from_the_operator(self, api: Harness, owner: Person) -> None:
        app = await owner.an_app()

        answer = await owner.post(f"/apps/{app}/fee", {"fee_basis_points": 25})

        assert code(answer) == (404, "NOT_FOUND")
        keep = api.parts.management.manage_partners
        changed = await keep.set_fee(UUID(app), 25, actor=OPERATOR)
        assert changed["fee_basis_points"] == 25

    async def test_are_listed_by_pages(self, owner: Person) -> None:
        for _ in range(3):
            await owner.an_app()
        path = f"/organizations/{owner.organization_id}/apps"

        first = await owner.get(path, params={"page_size": 2})
        second = await owner.get(path, params={"page_size": 2, "page": 2})

        valid(list[AppModel], first.json()["data"])
        assert (len(first.json()["data"]), len(second.json()["data"])) == (2, 1)
        assert first.headers["x-total-count"] == "3"
        assert 'rel="next"' in first.headers["link"]
        assert 'rel="next"' not in second.headers["link"]


class TestChanges:
    async def test_are_written_down_with_who_made_them(self, api: Harness, owner: Person) -> None:
        app = await owner.an_app()
        key = await owner.post_ok(f"/apps/{app}/keys", {"label": "shop"})

        answer = await owner.get(f"/organizations/{owner.organization_id}/changes")

        entries = valid(list[AuditEntryModel], answer.json()["data"])
        assert [entry.action for entry in entries] == [
            "key.added",
            "app.added",
            "token.added",
            "member.joined",
            "invitation.sent",
            "organization.added",
        ]
        assert (entries[0].subject_id, entries[0].member_id) == (UUID(key["id"]), UUID(owner.id))
        assert entries[0].details["label"] == "shop"
        assert entries[0].request_id
        assert entries[-1].actor == "operator"
        assert key["key"][-60:] not in answer.text

    async def test_that_were_refused_are_not(self, owner: Person) -> None:
        viewer = await a_colleague(owner, Role.VIEWER)
        app = await owner.an_app()
        before = await self.count(owner)

        await viewer.post(f"/apps/{app}/keys")
        await owner.post(f"/apps/{uuid4()}/keys")

        assert await self.count(owner) == before

    async def test_continue_after_the_last_counted_page(
        self, owner: Person, database: Database
    ) -> None:
        path = f"/organizations/{owner.organization_id}/changes"
        with psycopg.connect(database.superuser_url) as connection:
            connection.execute(MANY_CHANGES, (owner.organization_id,))

        counted = await owner.get(path, params={"page": 100, "page_size": 100})
        last = await owner.get(path, params={"page": 101, "page_size": 100})

        assert counted.headers["x-total-count"] == "10000"
        assert 'page=101>; rel="next"' in counted.headers["link"]
        assert len(last.json()["data"]) == 4
        assert 'rel="next"' not in last.headers["link"]

    async def test_cannot_be_updated_or_deleted(self, api: Harness, owner: Person) -> None:
        for statement in (
            "UPDATE audit_entry SET actor = 'x'",
            "DELETE FROM audit_entry",
        ):
            with pytest.raises(psycopg.Error, match="only added to"):
                await api.rows(statement)

    async def count(self, owner: Person) -> str:
        answer = await owner.get(f"/organizations/{owner.organization_id}/changes")
        return str(answer.headers["x-total-count"])


class TestSecrets:
    async def test_are_nowhere_in_the_database(self, api: Harness, owner: Person) -> None:
        app = await owner.an_app()
        key = await owner.post_ok(f"/apps/{app}/keys")
        path = f"/organizations/{owner.organization_id}/invitations"
        invited = await owner.post_ok(path, {"name": "ada", "role": "viewer"})

        tables = ("api_key", "access_token", "invitation", "audit_entry")
        stored = repr([tuple(r) for t in tables for r in await api.rows(f"SELECT * FROM {t}")])

        for secret in (key["key"], owner.token, invited["token"]):
            assert secret.rpartition("_")[2] not in stored


class TestOperators:
    async def test_see_every_organization_and_members_only_their_own(
        self, api: Harness, owner: Person
    ) -> None:
        await an_owner(api, "Another")

        own = await owner.get("/organizations")

        assert [valid(OrganizationModel, o).name for o in own.json()["data"]] == ["Shop"]
        rows = await api.rows("SELECT name FROM partner ORDER BY name")
        assert [row.name for row in rows] == ["Another", "Shop"]


def moment(text: str) -> datetime:
    return datetime.fromisoformat(text)


async def opens(api: Harness, key: str) -> bool:
    answer = await api.client.get("/api/v2/health", headers={"X-SVC-APIKEY": key})
    return bool(answer.status_code == 200)


class TestPartsBehindARow:
    """Growing lists are paged after a row, and not after a number of rows."""

    async def test_of_the_log_continue_after_the_last_row(self, api: Harness) -> None:
        owner = await an_owner(api)
        for _ in range(5):
            await owner.an_app()
        path = f"/organizations/{owner.organization_id}/changes"
        all_of_them = [one["id"] for one in (await owner.get(path)).json()["data"]]

        first = await owner.get(path, params={"page_size": 2})
        await owner.an_app()  # a new entry does not change later pages
        parts, behind = [first.json()["data"]], first.json()["data"][-1]["id"]
        while len(parts[-1]) == 2:
            query = {"page_size": 2, "starting_after": behind}
            parts.append((await owner.get(path, params=query)).json()["data"])
            behind = parts[-1][-1]["id"] if parts[-1] else behind

        assert [one["id"] for part in parts for one in part] == all_of_them

    async def test_of_keys_continue_after_the_last_row(self, api: Harness) -> None:
        owner = await an_owner(api)
        app, other = await owner.an_app(), await owner.an_app()
        path = f"/apps/{app}/keys"
        for _ in range(5):
            await owner.post_ok(path, {})
        of_other = (await owner.post_ok(f"/apps/{other}/keys", {}))["id"]
        all_of_them = [one["id"] for one in (await owner.get(path)).json()["data"]]

        page = await owner.get(path, params={"page_size": 2, "starting_after": all_of_them[1]})
        last = await owner.get(path, params={"page_size": 2, "starting_after": all_of_them[3]})
        none = await owner.get(path, params={"starting_after": of_other})

        assert [one["id"] for one in page.json()["data"]] == all_of_them[2:4]
        assert f"starting_after={all_of_them[3]}" in page.headers["link"]
        assert "link" not in last.headers
        assert page.headers["x-total-count"] == "5"
        assert none.json()["data"] == []
