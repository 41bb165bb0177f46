"""Operators on the command line: their tokens, approvals and the log."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from cli.tests.unit.test_commands import Port, port, run, stack
from typer.testing import CliRunner

from swapctl.admin_client import AwaitsApproval, RequestFailed
from swapctl.app import app, main
from swapctl.endpoints import NotConfigured

__all__ = ["port", "stack"]  # fixtures

PAY = ("claimable", "pay", "7", "--to", "0x1", "--base-units", "5", "--reason", "proved")
PROPOSAL: dict[str, Any] = {
    "id": "p1",
    "action": "POST /claimable/{id}/pay",
    "why": "$20,000.00 are at stake",
    "expires_at": "2030-01-01T00:00:00+00:00",
}


@pytest.fixture
def two(stack: Path) -> Path:
    """Name two operators in the stack's description."""
    description = json.loads(stack.read_text())
    operators = [{"name": name, "token": f"token of {name}"} for name in ("operator", "second")]
    stack.write_text(json.dumps({**description, "operators": operators}))
    return stack


class TestOrderingOperator:
    def test_is_identified_only_by_the_token(self, port: Port, stack: Path) -> None:
        run(stack, *PAY, "--by", "somebody else")

        _, _, body, authorization = port.requests[-1]
        assert body == {"to_address": "0x1", "base_units": "5", "reason": "proved"}
        assert authorization == "Bearer secret-token"

    def test_may_be_another_operator_of_the_stack(self, port: Port, two: Path) -> None:
        run(two, "--operator", "second", *PAY)

        assert port.requests[-1][3] == "Bearer token of second"

    def test_is_read_from_an_option_before_the_environment(
        self, port: Port, two: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("SWAPCTL_OPERATOR", "second")

        run(two, "--token", "of ann", *PAY)
        assert port.requests[-1][3] == "Bearer of ann"

        monkeypatch.setenv("SWAP_OPERATOR__TOKEN", "of ann")
        run(two, "--operator", "operator", *PAY)
        assert port.requests[-1][3] == "Bearer token of operator"

    def test_cannot_be_given_twice(self, port: Port, two: Path) -> None:
        with pytest.raises(NotConfigured, match="give one of them"):
            run(two, "--token", "of ann", "--operator", "second", *PAY)

        assert not port.requests

    def test_must_be_configured(self, two: Path) -> None:
        with pytest.raises(NotConfigured, match="no operator third"):
            run(two, "--operator", "third", *PAY)


class TestASecondOperator:
    def test_is_named_in_the_message_of_a_proposed_order(self, port: Port, stack: Path) -> None:
        port.answers["POST", "/admin/claimable/7/pay"] = (202, {"proposal": PROPOSAL})

        with pytest.raises(AwaitsApproval, match="swapctl approvals approve p1"):
            run(stack, *PAY)

    def test_is_required_with_exit_code_3(
        self,
        port: Port,
        stack: Path,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        port.answers["POST", "/admin/claimable/7/pay"] = (202, {"proposal": PROPOSAL})
        monkeypatch.setattr("sys.argv", ["swapctl", "--stack", str(stack), *PAY])

        with pytest.raises(SystemExit) as ended:
            main()

        assert ended.value.code == 3
        assert "$20,000.00 are at stake" in capsys.readouterr().err

    @pytest.mark.parametrize("verb", ["approve", "reject"])
    def test_decides_at_the_service_that_has_the_order(
        self, port: Port, stack: Path, verb: str
    ) -> None:
        port.answers["GET", "/admin/approvals"] = (200, {"approvals": [PROPOSAL]})
        port.answers["POST", f"/admin/approvals/p1/{verb}"] = (200, {"id": "p1"})

        assert run(stack, "approvals", verb, "p1") == {"id": "p1"}
        assert [row["service"] for row in run(stack, "approvals", "list")] == [
            "settler",
            "chain_watcher",
        ]

    def test_lists_all_pages(self, port: Port, stack: Path) -> None:
        following = {"after_at": "2026-01-01T00:00:00+00:00", "after_id": "p1"}
        first, last = "/admin/approvals", f"/admin/approvals?{urlencode(following)}"
        port.answers["GET", first] = (200, {"approvals": [PROPOSAL], "next": following})
        port.answers["GET", last] = (200, {"approvals": [{**PROPOSAL, "id": "p2"}], "next": None})

        listed = run(stack, "approvals", "list")

        assert [row["id"] for row in listed] == ["p1", "p2"] * 2

    def test_decides_while_another_service_is_unavailable(
        self, port: Port, stack: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        port.answers["GET", "/admin/approvals"] = (200, {"approvals": [PROPOSAL]})
        port.answers["POST", "/admin/approvals/p1/approve"] = (200, {"id": "p1"})
        away = ("--dashboard-url", "http://127.0.0.1:1")

        assert run(stack, *away, "approvals", "approve", "p1") == {"id": "p1"}
        with pytest.raises(RequestFailed, match="dashboard: ConnectError"):
            run(stack, *away, "approvals", "list")
        with pytest.raises(RequestFailed, match="dashboard: ConnectError"):
            run(stack, *away, "approvals", "approve", "p2")

    def test_cannot_decide_an_unknown_proposal(self, port: Port, stack: Path) -> None:
        port.answers["GET", "/admin/approvals"] = (200, {"approvals": []})

        with pytest.raises(RequestFailed, match="No order with id p1 awaits approval"):
            run(stack, "approvals", "approve", "p1")


def test_lists_the_orders_of_all_services_the_newest_first(port: Port, stack: Path) -> None:
    orders = [{"at": "2026-01-01", "operator": "ann"}, {"at": "2026-01-02", "operator": "ben"}]
    port.answers["GET", "/admin/audit?limit=50"] = (200, {"orders": orders})

    listed = run(stack, "audit")

    assert [row["operator"] for row in listed] == ["ben"] * 5 + ["ann"] * 5
    assert {row["service"] for row in listed} == {
        *("api", "quoter", "chain_watcher", "settler", "notifier"),
    }


def test_lists_no_more_orders_than_asked_for(port: Port, stack: Path) -> None:
    """The oldest of one service could be older than orders of another that were not fetched."""
    orders = [{"at": "2026-01-01", "operator": "ann"}, {"at": "2026-01-02", "operator": "ben"}]
    port.answers["GET", "/admin/audit?limit=7"] = (200, {"orders": orders})

    listed = run(stack, "audit", "--limit", "7")

    assert [row["operator"] for row in listed] == ["ben"] * 5 + ["ann"] * 2


def test_creates_a_token_and_its_entry() -> None:
    result = CliRunner().invoke(app, ["operator", "new", "ann", "--days", "90", "--json"])
    made = json.loads(result.stdout)

    assert made["entry"]["token_sha256"] == sha256(made["token"].encode()).hexdigest()
    assert (made["entry"]["name"], made["entry"]["role"]) == ("ann", "operator")
    assert "expires_at" in made["entry"]


def test_an_organization_is_also_found_by_its_older_name(port: Port, stack: Path) -> None:
    made = {"id": "1", "name": "Shop"}
    port.answers["POST", "/admin/management/v1/organizations"] = (200, {"data": made})

    for word in ("organization", "partner"):
        assert run(stack, word, "create", "Shop") == made


def test_a_list_prints_its_columns_and_json_prints_all_members(port: Port, stack: Path) -> None:
    network = {
        "network": "BASE_DEVNET", "head": 9, "cursor": 9, "cursor_hash": "0x" + "1" * 64,
        "cursor_time": "2026-01-01T00:00:00+00:00", "finalized": 8, "lag_blocks": 0, "halted": None,
    }  # fmt: skip
    port.answers["GET", "/admin/networks"] = (200, {"networks": [network]})

    printed = CliRunner().invoke(app, ["--stack", str(stack), "network", "list"]).stdout

    assert max(map(len, printed.splitlines())) <= 80
    assert run(stack, "network", "list") == [network]
