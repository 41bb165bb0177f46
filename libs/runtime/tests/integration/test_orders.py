"""Orders on the internal port: rights, logs, and approvals by a second operator."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import urlencode

import aiohttp
import psycopg
import pytest
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from swap_runtime.errors import RequestRefused, Unavailable
from swap_runtime.operators.admin_routes import AdminRoute, OperatorOrder, OrderRoute
from swap_runtime.operators.identities import KnownOperator, Operator, Role, token_hash
from swap_runtime.operators.operator_log import log_order
from swap_runtime.postgres.database import Engine, reading, transaction
from swap_runtime.postgres.sql import sql
from tests.plugins.internal_port import internal_port_of

pytestmark = pytest.mark.connected

LARGE = 100
NOTE = sql("INSERT INTO note (thing, version) VALUES (:thing, :version)")
TOKENS = {
    "ann": Role.OPERATOR,
    "ben": Role.OPERATOR,
    "cy": Role.OPERATOR,
    "vic": Role.VIEWER,
    "api": Role.SERVICE,
}


class Notes:
    """Orders that store notes; a large one needs a second operator."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.ends_in: Exception | None = None
        self.limit: int | None = None
        self.together = asyncio.Barrier(1)  # orders that change something together

    async def write(self, order: OperatorOrder) -> Response:
        size = int(order.target["size"])
        if self.limit is not None and size > self.limit:
            raise RequestRefused(f"at most {self.limit}")
        await self.together.wait()
        async with transaction(self._engine) as connection:
            await connection.execute(NOTE, {"thing": order.by, "version": size})
            await log_order(connection)
            if self.ends_in is not None:
                raise self.ends_in
        return JSONResponse({"by": order.by})

    async def needs_second(self, order: OperatorOrder) -> str | None:
        return "it is large" if int(order.target["size"]) > LARGE else None

    async def do_nothing(self, _: Request) -> Response:
        return JSONResponse({})

    async def refuse(self, _: Request) -> Response:
        return JSONResponse({"error": "no such thing"}, status_code=404)


class Port:
    def __init__(self, url: str, engine: Engine, notes: Notes) -> None:
        self._url = url
        self._engine = engine
        self.notes = notes
        self.known_before: list[str] = []

    async def ask(
        self, name: str, path: str, body: dict[str, Any] | None = None, *, method: str = "POST"
    ) -> tuple[int, Any]:
        headers = {"Authorization": f"Bearer token of {name}"}
        async with (
            aiohttp.ClientSession(headers=headers) as http,
            http.request(method, f"{self._url}/admin{path}", json=body or {}) as answer,
        ):
            return answer.status, await (answer.text() if answer.status == 500 else answer.json())

    async def proposed(self, size: int = LARGE + 1, *, by: str = "ann") -> str:
        status, answer = await self.ask(by, f"/notes/{size}", {"reason": "because"})
        assert status == 202, answer
        return str(answer["proposal"]["id"])

    async def approve(self, id: str, *, by: str) -> tuple[int, Any]:
        return await self.ask(by, f"/approvals/{id}/approve")

    async def written(self) -> list[tuple[str, int]]:
        async with reading(self._engine) as connection:
            rows = await connection.execute("SELECT thing, version FROM note ORDER BY n")
            return [tuple(row) for row in rows]

    async def log(self) -> list[tuple[str, str, str]]:
        """Return actor, action and outcome of each row, oldest first."""
        status, answer = await self.ask("vic", "/audit", method="GET")
        assert status == 200
        self.rows = answer["orders"][::-1]
        return [(row["operator"], row["action"], row["outcome"]) for row in self.rows]


@pytest.fixture
async def port(engine: Engine) -> AsyncIterator[Port]:
    notes = Notes(engine)
    known = [
        KnownOperator(Operator(name, role), token_hash(f"token of {name}"))
        for name, role in TOKENS.items()
    ]
    gone = KnownOperator(
        Operator("gus", Role.OPERATOR), token_hash("token of gus"), is_active=False
    )
    shared = KnownOperator(
        Operator("shared", Role.OPERATOR, is_shared=True), token_hash("token of shared")
    )
    internal = internal_port_of(
        engine,
        [*known, gone, shared],
        reads=[
            AdminRoute("GET", "/notes", notes.do_nothing),
            AdminRoute("POST", "/nothing", notes.do_nothing),
            AdminRoute("POST", "/refused", notes.refuse),
            AdminRoute("POST", "/hooks", notes.do_nothing, is_for_services=True),
        ],
        orders=[OrderRoute("/notes/{size}", notes.write, notes.needs_second)],
    )
    number = await internal.start("127.0.0.1", 0)
    yield Port(f"http://127.0.0.1:{number}", engine, notes)
    await internal.stop()


WRITE = "POST /notes/{size}"
APPROVE = "POST /approvals/{id}/approve"


class TestWhoMay:
    @pytest.mark.parametrize("name", ["nobody", "gus"])
    async def test_an_unknown_or_deactivated_token_is_refused(self, port: Port, name: str) -> None:
        assert (await port.ask(name, "/notes/1"))[0] == 401
        assert (await port.ask(name, "/notes", method="GET"))[0] == 401
        assert await port.written() == []
        assert await port.log() == []

    async def test_a_viewer_can_read_and_not_order(self, port: Port) -> None:
        assert (await port.ask("vic", "/notes", method="GET"))[0] == 200
        for path in ("/notes/1", "/nothing", "/hooks"):
            assert (await port.ask("vic", path))[0] == 403
        id = await port.proposed()
        assert (await port.approve(id, by="vic"))[0] == 403

        assert await port.written() == []
        assert {row for row in await port.log() if row[0] == "vic"} == {
            ("vic", WRITE, "refused"),
            ("vic", "POST /nothing", "refused"),
            ("vic", "POST /hooks", "refused"),
            ("vic", APPROVE, "refused"),
        }

    async def test_a_service_can_use_only_the_routes_for_services(self, port: Port) -> None:
        assert (await port.ask("api", "/hooks"))[0] == 200
        for method, path in (("GET", "/notes"), ("GET", "/audit"), ("POST", "/notes/1")):
            assert (await port.ask("api", path, method=method))[0] == 403

    async def test_a_token_identifies_its_member(self, port: Port) -> None:
        answers = [await port.ask(name, "/identity", method="GET") for name in ("ann", "vic")]

        assert [answer["role"] for _, answer in answers] == ["operator", "viewer"]
        assert answers[0] == (200, {"name": "ann", "role": "operator"})
        assert (await port.ask("api", "/identity", method="GET"))[0] == 403
        assert (await port.ask("gus", "/identity", method="GET"))[0] == 401

    async def test_the_name_is_the_tokens_and_not_the_requests(self, port: Port) -> None:
        assert await port.ask("ann", "/notes/1", {"by": "ben"}) == (200, {"by": "ann"})

        assert await port.written() == [("ann", 1)]
        assert await port.log() == [("ann", WRITE, "done")]
        assert port.rows[0]["parameters"] == {"size": "1"}


class TestTheLog:
    async def test_has_why_it_was_ordered_and_why_it_was_approved(self, port: Port) -> None:
        id = await port.proposed()
        await port.ask("ben", f"/approvals/{id}/approve", {"reason": "I called the owner"})

        assert await port.log() == [("ann", WRITE, "proposed"), ("ben", APPROVE, "done")]
        approved = port.rows[1]
        assert approved["reason"] == "because"
        assert approved["parameters"]["approved_because"] == "I called the owner"

    async def test_has_a_row_of_everything_that_was_ordered(self, port: Port) -> None:
        port.notes.limit = 50
        await port.ask("ann", "/notes/1", {"reason": "why not", "hook": "https://a.example/secret"})
        await port.ask("ben", "/notes/51")
        await port.ask("ann", "/nothing")
        await port.ask("ann", "/refused")

        assert await port.log() == [
            ("ann", WRITE, "done"),
            ("ben", WRITE, "refused"),
            ("ann", "POST /nothing", "done"),
            ("ann", "POST /refused", "refused"),
        ]
        first, second, _, last = port.rows
        assert (first["role"], first["reason"]) == ("operator", "why not")
        assert first["parameters"] == {"size": "1", "hook": "https://a.example/…"}
        assert (second["detail"], last["detail"]) == ("at most 50", "no such thing")

    async def test_commits_with_the_order_or_not_at_all(self, port: Port) -> None:
        port.notes.ends_in = Unavailable("postgres")
        assert (await port.ask("ann", "/notes/1"))[0] == 409

        assert await port.written() == []
        assert await port.log() == [("ann", WRITE, "failed")]

    async def test_an_order_is_not_carried_out_where_it_cannot_be_logged(
        self, port: Port, engine: Engine
    ) -> None:
        async with engine.begin() as connection:
            broken = "ALTER TABLE operator_order ADD CHECK (outcome <> 'done')"
            await connection.execute(broken)

        assert (await port.ask("ann", "/notes/1"))[0] == 500
        assert await port.written() == []

    @pytest.mark.parametrize(
        "statement",
        [
            "UPDATE operator_order SET operator = 'ben'",
            "DELETE FROM operator_order",
            "TRUNCATE operator_order",
        ],
    )
    async def test_is_only_added_to(self, port: Port, engine: Engine, statement: str) -> None:
        await port.ask("ann", "/notes/1")

        with pytest.raises(psycopg.errors.RaiseException, match="only added to"):
            async with engine.begin() as connection:
                await connection.execute(statement)
        assert await port.log() == [("ann", WRITE, "done")]


class TestApproval:
    async def test_one_operator_may_order_up_to_the_amount(self, port: Port) -> None:
        assert (await port.ask("ann", f"/notes/{LARGE}"))[0] == 200
        assert (await port.ask("ann", f"/notes/{LARGE + 1}"))[0] == 202
        assert await port.written() == [("ann", LARGE)]

    async def test_approval_by_a_second_operator_executes_the_order_once(self, port: Port) -> None:
        id = await port.proposed()
        [listed] = (await port.ask("vic", "/approvals", method="GET"))[1]["approvals"]
        assert (listed["id"], listed["proposed_by"], listed["why"], listed["reason"]) == (
            *(id, "ann", "it is large", "because"),
        )

        assert await port.approve(id, by="ben") == (200, {"by": "ann, approved by ben"})
        again = await port.approve(id, by="cy")

        assert again == (409, {"error": f"proposal {id} was approved"})
        assert await port.written() == [("ann, approved by ben", LARGE + 1)]
        empty = {"approvals": [], "next": None}
        assert (await port.ask("ben", "/approvals", method="GET"))[1] == empty
        assert await port.log() == [
            ("ann", WRITE, "proposed"),
            ("ben", APPROVE, "done"),
            ("cy", APPROVE, "refused"),
        ]
        assert {row["proposal_id"] for row in port.rows} == {id}
        assert port.rows[1]["parameters"] == {"action": WRITE, "size": str(LARGE + 1)}

    async def test_all_are_listed_in_pages_the_oldest_first(self, port: Port) -> None:
        ids = [await port.proposed() for _ in range(5)]
        listed, query = [], {"limit": "2"}
        while True:
            path = f"/approvals?{urlencode(query)}"
            _, page = await port.ask("vic", path, method="GET")
            listed += [one["id"] for one in page["approvals"]]
            if page["next"] is None:
                break
            query = {"limit": "2", **page["next"]}

        assert listed == ids

    @pytest.mark.parametrize(("action", "expected"), [(WRITE, 2), ("POST /nothing", 0)])
    async def test_proposals_can_be_listed_by_action(
        self, port: Port, action: str, expected: int
    ) -> None:
        for _ in range(2):
            await port.proposed()
        path = f"/approvals?{urlencode({'action': action})}"

        assert len((await port.ask("vic", path, method="GET"))[1]["approvals"]) == expected

    @pytest.mark.parametrize(
        "query",
        [
            {"limit": "some"},
            {"after_at": "yesterday", "after_id": "00000000-0000-0000-0000-000000000000"},
            {"after_at": "2026-01-01T00:00:00", "after_id": "00000000-0000-0000-0000-000000000000"},
            {
                "after_at": "0001-01-01T00:00:00+14:00",
                "after_id": "00000000-0000-0000-0000-000000000000",
            },
            {"after_id": "1"},
        ],
    )
    async def test_a_wrong_place_in_the_list_is_refused(
        self, port: Port, query: dict[str, str]
    ) -> None:
        path = f"/approvals?{urlencode(query)}"
        assert (await port.ask("vic", path, method="GET"))[0] == 400

    async def test_proposal_is_shown_in_every_state(self, port: Port) -> None:
        id = await port.proposed()
        before = (await port.ask("vic", f"/approvals/{id}", method="GET"))[1]["approval"]
        await port.approve(id, by="ben")
        after = (await port.ask("vic", f"/approvals/{id}", method="GET"))[1]["approval"]

        assert (before["state"], before["ended_by"]) == ("open", None)
        assert (after["state"], after["ended_by"]) == ("approved", "ben")
        assert (await port.ask("vic", "/approvals/none", method="GET"))[0] == 404

    async def test_operators_cannot_approve_their_own_orders(
        self, port: Port, engine: Engine
    ) -> None:
        id = await port.proposed()

        status, answer = await port.approve(id, by="ann")

        assert (status, await port.written()) == (409, [])
        assert "different operator" in answer["error"]
        # Also refused without the service.
        with pytest.raises(psycopg.errors.CheckViolation):
            async with engine.begin() as connection:
                await connection.execute(
                    "UPDATE operator_proposal SET outcome = 'approved', ended_at = now(),"
                    " ended_by = 'ann'"
                )

    async def test_the_shared_token_is_neither_the_first_nor_the_second(self, port: Port) -> None:
        ordered = await port.ask("shared", f"/notes/{LARGE + 1}", {"reason": "because"})
        approved = await port.approve(await port.proposed(by="ann"), by="shared")

        assert (ordered[0], approved[0]) == (409, 409), (ordered, approved)
        assert "two operators" in approved[1]["error"]
        assert await port.written() == []
        assert (await port.ask("shared", "/notes/1"))[0] == 200

    async def test_of_approvals_at_once_one_counts(self, port: Port) -> None:
        id = await port.proposed()

        port.notes.together = asyncio.Barrier(2)

        answers = await asyncio.gather(*(port.approve(id, by=by) for by in ("ben", "cy")))

        assert sorted(status for status, _ in answers) == [200, 409]
        assert len(await port.written()) == 1
        assert [row[2] for row in await port.log()].count("done") == 1

    async def test_a_crash_before_the_commit_leaves_it_to_be_approved_again(
        self, port: Port
    ) -> None:
        id = await port.proposed()
        port.notes.ends_in = RuntimeError("the process dies")
        assert (await port.approve(id, by="ben"))[0] == 500
        assert await port.written() == []

        port.notes.ends_in = None

        assert (await port.approve(id, by="ben"))[0] == 200
        assert len(await port.written()) == 1

    async def test_the_guards_of_the_order_count_when_it_is_approved(self, port: Port) -> None:
        id = await port.proposed()
        port.notes.limit = LARGE

        assert await port.approve(id, by="ben") == (409, {"error": f"at most {LARGE}"})
        assert await port.written() == []

    async def test_an_expired_proposal_is_not_carried_out(self, port: Port, engine: Engine) -> None:
        id = await port.proposed()
        async with engine.begin() as connection:
            await connection.execute("UPDATE operator_proposal SET expires_at = now()")

        status, answer = await port.approve(id, by="ben")

        assert (status, await port.written()) == (409, [])
        assert "expired" in answer["error"]

    async def test_a_rejected_proposal_is_not_carried_out(self, port: Port) -> None:
        id = await port.proposed()

        assert await port.ask("ann", f"/approvals/{id}/reject") == (200, {"rejected": id})

        assert await port.approve(id, by="ben") == (
            409,
            {"error": f"proposal {id} was rejected"},
        )
        assert await port.written() == []

    async def test_an_order_of_a_deactivated_operator_is_not_approved(
        self, port: Port, engine: Engine
    ) -> None:
        id = await port.proposed()
        async with engine.begin() as connection:
            await connection.execute("UPDATE operator_proposal SET proposed_by = 'gus'")

        status, answer = await port.approve(id, by="ben")

        assert (status, await port.written()) == (409, [])
        assert "gus is no active operator" in answer["error"]

    @pytest.mark.parametrize("id", ["7", "00000000-0000-0000-0000-000000000009"])
    async def test_an_unknown_proposal_is_not_found(self, port: Port, id: str) -> None:
        for verb in ("approve", "reject"):
            assert (await port.ask("ben", f"/approvals/{id}/{verb}"))[0] == 404
