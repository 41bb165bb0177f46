"""The commands, against internal ports with configured answers."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from typer.testing import CliRunner

from swapctl import admin_client
from swapctl.admin_client import RequestFailed
from swapctl.app import app, main

APP_ID = str(uuid4())
MANAGE = "/admin/management/v1"
ORGANIZATIONS = f"{MANAGE}/organizations?page=1&page_size=100"


class Port(ThreadingHTTPServer):
    """An internal port: records requests, returns configured answers."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.requests: list[tuple[str, str, Any, str | None]] = []
        self.answers: dict[tuple[str, str], tuple[int, Any]] = {}
        self.pause_seconds = 0.0  # before each answer

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Handler(BaseHTTPRequestHandler):
    server: Port

    def do_GET(self) -> None:
        self._answer(None)

    def do_POST(self) -> None:
        self._answer(json.loads(self.rfile.read(int(self.headers["content-length"]))))

    def _answer(self, body: Any) -> None:
        time.sleep(self.server.pause_seconds)
        self.server.requests.append((self.command, self.path, body, self.headers["authorization"]))
        status, answer = self.server.answers.get(
            (self.command, self.path), (200, {"ok": True, "data": {}})
        )
        content = answer.encode() if isinstance(answer, str) else json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def serving() -> Iterator[Port]:
    port = Port()
    thread = threading.Thread(target=port.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield port
    port.shutdown()
    thread.join()
    port.server_close()


@pytest.fixture
def port() -> Iterator[Port]:
    with serving() as port:
        yield port


@pytest.fixture
def stack(port: Port, tmp_path: Path) -> Path:
    names = ("api", "quoter", "chain_watcher", "settler", "notifier")
    path = tmp_path / "stack.json"
    path.write_text(
        json.dumps(
            {
                "services": [{"name": name, "internal_url": port.url} for name in names],
                "operator": {"token": "secret-token"},
            }
        )
    )
    return path


def run(stack: Path, *arguments: str) -> Any:
    result = CliRunner().invoke(app, ["--stack", str(stack), *arguments, "--json"])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return json.loads(result.stdout)


class TestPartnerCommands:
    def test_use_the_operators_token(self, port: Port, stack: Path) -> None:
        made = {"id": "1", "name": "demo"}
        port.answers["POST", f"{MANAGE}/organizations"] = (200, {"data": made})

        shown = run(stack, "partner", "create", "demo")

        assert shown == made
        body = {"name": "demo"}
        assert port.requests == [("POST", f"{MANAGE}/organizations", body, "Bearer secret-token")]

    def test_show_what_an_app_has_earned(self, port: Port, stack: Path) -> None:
        sums = ("earned", "waiting", "pending", "paid_out")
        units = {name: {"amount": 0.1, "amount_in_base_units": "100"} for name in sums}
        rows = [{"network": "BASE_DEVNET", "token": "ETH", **units}]
        port.answers["GET", f"{MANAGE}/apps/{APP_ID}/fees"] = (200, {"data": rows})

        assert run(stack, "app", "fees", APP_ID) == rows
        table = CliRunner().invoke(app, ["--stack", str(stack), "app", "fees", APP_ID])
        assert table.output.split()[-6:] == ["BASE_DEVNET", "ETH", *["100"] * 4]

    def test_replace_the_sites_that_may_frame_pay_pages(self, port: Port, stack: Path) -> None:
        run(stack, "app", "frames", APP_ID, "https://shop.example", "https://shop.dev")
        run(stack, "app", "frames", APP_ID)

        path = f"{MANAGE}/apps/{APP_ID}/frame_origins"
        both = {"origins": ["https://shop.example", "https://shop.dev"]}
        assert [request[1:3] for request in port.requests] == [
            (path, both),
            (path, {"origins": []}),
        ]

    def test_replace_the_origins_of_a_key(self, port: Port, stack: Path) -> None:
        run(stack, "key", "origins", APP_ID, "https://shop.example")
        run(stack, "key", "origins", APP_ID)

        path = f"{MANAGE}/keys/{APP_ID}/allowed_origins"
        assert [request[1:3] for request in port.requests] == [
            (path, {"origins": ["https://shop.example"]}),
            (path, {"origins": []}),
        ]

    def test_find_an_organization_by_name_and_lift_limits_on_request(
        self, port: Port, stack: Path
    ) -> None:
        partner_id = str(uuid4())
        port.answers["GET", ORGANIZATIONS] = (200, {"data": [{"id": partner_id, "name": "demo"}]})
        apps = f"{MANAGE}/organizations/{partner_id}/apps"
        port.answers["POST", apps] = (200, {"data": {"id": APP_ID}})

        run(stack, "app", "create", "--partner", "demo", "--name", "web", "--limits-lifted")

        assert [request[:3] for request in port.requests[1:]] == [
            ("POST", apps, {"name": "web", "environment": "test"}),
            ("POST", f"{MANAGE}/apps/{APP_ID}/limits", {"limits_lifted": True}),
        ]

    def test_refuse_an_ambiguous_name(self, port: Port, stack: Path) -> None:
        port.answers["GET", ORGANIZATIONS] = (200, {"data": []})

        with pytest.raises(RequestFailed, match="0 organizations are called demo"):
            run(stack, "app", "create", "--partner", "demo", "--name", "web")

    def test_show_the_error_message_of_the_service(self, port: Port, stack: Path) -> None:
        refusal = {"data": None, "error": {"code": "NOT_FOUND", "message": "no such app"}}
        port.answers["POST", f"{MANAGE}/apps/{APP_ID}/keys"] = (404, refusal)

        with pytest.raises(RequestFailed, match="api answered 404: no such app"):
            run(stack, "key", "create", "--app", APP_ID)

    def test_use_the_public_port_with_an_access_token(
        self, port: Port, stack: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("SWAPCTL_ACCESS_TOKEN", "svc_user_1")
        monkeypatch.setenv("SWAPCTL_PUBLIC_URL", port.url)

        run(stack, "key", "rotate", APP_ID, "--overlap", "60")

        path, body = f"/management/v1/keys/{APP_ID}/rotate", {"overlap_seconds": 60}
        assert port.requests == [("POST", path, body, "Bearer svc_user_1")]


class TestMemberCommands:
    def test_invite_and_join(
        self, port: Port, stack: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("SWAPCTL_PUBLIC_URL", port.url)
        partner_id = str(uuid4())
        run(stack, "member", "invite", "ada", "--role", "owner", "--partner", partner_id)
        run(stack, "member", "join", "svc_invite_1")

        assert port.requests == [
            (
                "POST",
                f"{MANAGE}/organizations/{partner_id}/invitations",
                {"name": "ada", "role": "owner"},
                "Bearer secret-token",
            ),
            (
                "POST",
                "/management/v1/invitations/accept",
                {"token": "svc_invite_1", "label": "swapctl"},
                None,
            ),
        ]

    @pytest.mark.parametrize(
        ("command", "listed", "last"),
        [("list", "members", "created_at"), ("invitations", "invitations", "expires_at")],
    )
    def test_table_shows_what_the_answer_has(
        self, port: Port, stack: Path, command: str, listed: str, last: str
    ) -> None:
        partner_id = str(uuid4())
        row = {"id": "1", "name": "ada", "role": "owner", last: "2026-11-28T00:00:00Z"}
        path = f"{MANAGE}/organizations/{partner_id}/{listed}?page=1&page_size=100"
        port.answers["GET", path] = (200, {"data": [row]})

        arguments = ["--stack", str(stack), "member", command, "--partner", partner_id]
        shown = CliRunner().invoke(app, arguments).stdout

        assert shown.split() == [*row, *row.values()]


class TestWebhookCommands:
    def test_add_an_endpoint(self, port: Port, stack: Path) -> None:
        run(stack, "webhook", "add", "--app", APP_ID, "--url", "http://a.example", "--updates")

        assert port.requests[-1][:3] == (
            "POST",
            f"{MANAGE}/apps/{APP_ID}/webhooks",
            {"url": "http://a.example", "wants_updates": True, "wants_notices": False},
        )

    def test_replay_since_a_time_that_defaults_to_utc(self, port: Port, stack: Path) -> None:
        run(stack, "webhook", "replay-since", APP_ID, "--since", "2026-01-31", "--undelivered")

        assert port.requests[-1][:3] == (
            "POST",
            f"{MANAGE}/webhooks/{APP_ID}/replay",
            {"since": "2026-01-31T00:00:00+00:00", "undelivered_only": True},
        )

    def test_show_the_messages_of_an_endpoint_and_their_attempts(
        self, port: Port, stack: Path
    ) -> None:
        of_endpoint = f"{MANAGE}/webhooks/{APP_ID}/messages?undelivered_only=true&page_size=100"
        port.answers["GET", of_endpoint] = (200, {"data": [{"id": "msg_1"}]})
        port.answers["GET", "/admin/messages/msg_1"] = (200, {"log": [{"attempt": 1}]})

        assert run(stack, "webhook", "sent", APP_ID, "--undelivered") == [{"id": "msg_1"}]
        assert run(stack, "webhook", "attempts", "msg_1") == [{"attempt": 1}]

    def test_request_a_test_message(self, port: Port, stack: Path) -> None:
        run(stack, "webhook", "test", APP_ID)

        assert port.requests[-1][:2] == ("POST", f"{MANAGE}/webhooks/{APP_ID}/test")


class TestNetworkCommands:
    def test_are_sent_to_the_watcher(self, port: Port, stack: Path) -> None:
        port.answers["GET", "/admin/networks"] = (200, {"networks": [{"network": "A_DEVNET"}]})

        listed = run(stack, "network", "list")
        run(stack, "network", "resume", "A_DEVNET")

        assert listed == [{"network": "A_DEVNET"}]
        assert port.requests[-1][:3] == ("POST", "/admin/networks/A_DEVNET/resume", {})

    def test_send_transactions_to_take_back_with_the_reason(self, port: Port, stack: Path) -> None:
        order = ("network", "resume", "A_DEVNET", "--take-back", "0x1", "--take-back", "0x2")

        run(stack, *order, "--reason", "a node lied")

        body = {"reason": "a node lied", "take_back": ["0x1", "0x2"]}
        assert port.requests[-1][:3] == ("POST", "/admin/networks/A_DEVNET/resume", body)

    def test_point_to_the_audit_log_when_an_order_is_not_answered(
        self, port: Port, stack: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(admin_client, "ORDER_TIMEOUT_SECONDS", 0.2)
        port.pause_seconds = 1.0

        with pytest.raises(RequestFailed, match="swapctl audit shows it"):
            run(stack, "network", "resume", "A_DEVNET")


class TestSignerCommands:
    def test_list_the_settlers_signers(self, port: Port, stack: Path) -> None:
        port.answers["GET", "/admin/signers"] = (200, {"signers": [{"network": "A_DEVNET"}]})

        assert run(stack, "signer", "list") == [{"network": "A_DEVNET"}]

    def test_resume_with_a_reason(self, port: Port, stack: Path) -> None:
        run(stack, "signer", "resume", "A_DEVNET", "--reason", "a test payment", "--by", "ann")

        assert port.requests[-1][:3] == (
            "POST",
            "/admin/signers/A_DEVNET/resume",
            {"reason": "a test payment", "address": None},
        )

    def test_send_the_transactions_that_used_a_nonce(self, port: Port, stack: Path) -> None:
        options = ["--reason", "sent by hand", "--by", "ann"]
        run(stack, "signer", "resume", "A_DEVNET", *options, "--used-by", "0x1", "--used-by", "0x2")

        assert port.requests[-1][2]["used_by"] == ["0x1", "0x2"]

    def test_prompt_for_the_reason(
        self, port: Port, stack: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("LOGNAME", "ben")
        arguments = ["--stack", str(stack), "signer", "resume", "A_DEVNET", "--json"]

        result = CliRunner().invoke(app, arguments, input="it was us\n")

        assert result.exit_code == 0
        assert port.requests[-1][2] == {"reason": "it was us", "address": None}


class TestRescue:
    PATH = "/admin/rescues/A_DEVNET/0x1"

    def test_shows_the_transfers_of_a_transaction(self, port: Port, stack: Path) -> None:
        port.answers["GET", self.PATH] = (200, {"came": [{"token": "0x57"}]})

        assert run(stack, "rescue", "A_DEVNET", "0x1") == [{"token": "0x57"}]

    def test_sends_recipient_and_reason(self, port: Port, stack: Path) -> None:
        port.answers["POST", self.PATH] = (200, {"came": []})
        options = ["--to", "0x2", "--reason", "he signed", "--by", "ann"]

        run(stack, "rescue", "A_DEVNET", "0x1", *options)

        body = {"to_address": "0x2", "reason": "he signed"}
        assert port.requests[-1][:3] == ("POST", self.PATH, body)

    def test_selects_one_of_several_transfers(self, port: Port, stack: Path) -> None:
        port.answers["POST", self.PATH] = (200, {"came": []})
        options = ["--to", "0x2", "--reason", "he signed", "--by", "ann"]

        run(stack, "rescue", "A_DEVNET", "0x1", *options, "--token", "0x57", "--from", "0x8")

        body = port.requests[-1][2]
        assert (body["token"], body["from_address"]) == ("0x57", "0x8")

    def test_requires_a_reason(self, stack: Path) -> None:
        arguments = ["--stack", str(stack), "rescue", "A_DEVNET", "0x1", "--to", "0x2"]

        assert CliRunner().invoke(app, arguments).exit_code == 2


class TestParkedCommands:
    def test_list_the_messages_of_every_service(self, port: Port, stack: Path) -> None:
        port.answers["GET", "/admin/parked"] = (200, {"parked": [{"id": 7}]})

        listed = run(stack, "parked", "list")

        assert [row["service"] for row in listed] == [
            "api",
            "quoter",
            "chain_watcher",
            "settler",
            "notifier",
        ]

    def test_release_names_its_service(self, port: Port, stack: Path) -> None:
        run(stack, "parked", "release", "7", "--service", "settler")

        assert port.requests[-1][:2] == ("POST", "/admin/parked/7/release")


def test_claimable_balances_are_listed(port: Port, stack: Path) -> None:
    suspense = {"kind": "suspense", "network": "A_DEVNET", "base_units": "7", "swap_id": None}
    port.answers["GET", "/admin/claimable"] = (200, {"claimable": [suspense]})

    assert run(stack, "claimable") == [suspense]


@pytest.mark.parametrize(
    ("command", "path", "name"),
    [
        (("claimable",), "/claimable", "claimable"),
        (("fees", "list"), "/fees", "fees"),
        (("payouts", "queue"), "/payouts/queue", "waiting"),
        (("policy", "list"), "/blocked", "blocked"),
        (("stuck",), "/stuck", "stuck"),
        (("parked", "list", "--service", "settler"), "/parked", "parked"),
    ],
)
def test_lists_are_read_to_their_last_page(
    port: Port, stack: Path, command: tuple[str, ...], path: str, name: str
) -> None:
    first, last = {"id": 1}, {"id": 2}
    port.answers["GET", f"/admin{path}"] = (200, {name: [first], "next": {"after": "1"}})
    port.answers["GET", f"/admin{path}?after=1"] = (200, {name: [last], "next": None})

    assert [one["id"] for one in run(stack, *command)] == [1, 2]


def test_losses_are_read_to_their_last_page(port: Port, stack: Path) -> None:
    first, last = [{"at": "later"}], [{"at": "earlier"}]
    following = {"after_at": "later", "after_id": "a"}
    port.answers["GET", "/admin/losses"] = (
        200,
        {"networks": [], "entries": first, "next": following},
    )
    path = "/admin/losses?after_at=later&after_id=a"
    port.answers["GET", path] = (200, {"networks": [], "entries": last, "next": None})

    assert run(stack, "losses") == {"networks": [], "entries": first + last}


def test_a_claimable_balance_is_paid_to_its_owner(port: Port, stack: Path) -> None:
    port.answers["POST", "/admin/claimable/7/pay"] = (200, {"intent_id": "i"})

    paid = run(
        stack, "claimable", "pay", "7", "--to", "0x1", "--base-units", "5", "--by", "ann",
        "--reason", "they proved it",
    )  # fmt: skip

    assert paid == {"intent_id": "i"}
    [(_, _, body, _)] = port.requests
    assert body == {"to_address": "0x1", "base_units": "5", "reason": "they proved it"}


def test_fees_owed_to_apps_are_listed_and_paid(port: Port, stack: Path) -> None:
    owed = {"id": 7, "app_id": "a", "network": "N", "token": "0x0", "base_units": "5"}
    port.answers["GET", "/admin/fees"] = (200, {"fees": [owed]})
    port.answers["POST", "/admin/fees/7/pay"] = (200, {"intent_id": "i"})

    assert run(stack, "fees", "list") == [owed]
    paid = run(
        stack, "fees", "pay", "7", "--to", "0x1", "--base-units", "5", "--by", "ann",
        "--reason", "their contract",
    )  # fmt: skip

    assert paid == {"intent_id": "i"}


@pytest.mark.parametrize("network", ["A_DEVNET", None])
def test_payouts_are_stopped_and_resumed_on_one_or_all_networks(
    port: Port, stack: Path, network: str | None
) -> None:
    where = [] if network is None else [network]
    for verb in ("stop", "go"):
        port.answers["POST", f"/admin/payouts/{verb}"] = (
            200,
            {"stops": [], "nothing_is_signed": True},
        )
        run(stack, "payouts", verb, *where, "--by", "ann", "--reason", "r")
    port.answers["GET", "/admin/payouts/stops"] = (200, {"stops": [{"network": "*"}]})

    assert run(stack, "payouts", "stops") == [{"network": "*"}]
    expected = {"network": network, "reason": "r"}
    assert [body for _, _, body, _ in port.requests] == [expected, expected, None]


def test_a_stop_that_is_still_in_progress_is_reported(port: Port, stack: Path) -> None:
    answer = {"stops": [], "nothing_is_signed": False}
    port.answers["POST", "/admin/payouts/stop"] = (200, answer)
    options = ["--stack", str(stack), "payouts", "stop", "--by", "ann", "--json"]

    done = CliRunner().invoke(app, options)

    assert done.exit_code == 1
    assert "repeat the command" in done.output


def test_missing_configuration_is_one_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SWAPCTL_API_URL", raising=False)
    monkeypatch.setattr("sys.argv", ["swapctl", "partner", "list"])

    with pytest.raises(SystemExit) as ended:
        main()

    assert ended.value.code == 1
    assert "SWAPCTL_API_URL" in capsys.readouterr().err


def test_held_payments_are_listed(port: Port, stack: Path) -> None:
    held = [{"kind": "refund"}]
    port.answers["GET", "/admin/recovery/held"] = (200, {"held": held, "next": None})

    assert run(stack, "recovery", "held") == held


class TestCaps:
    def test_are_set_with_a_reason(self, port: Port, stack: Path) -> None:
        port.answers["POST", "/admin/caps"] = (200, {"caps": []})

        run(
            stack, "caps", "set", "ETHEREUM_DEVNET", "--units", "5", "--token", "USDC",
            "--reason", "a quiet week", "--by", "ann",
        )  # fmt: skip

        assert port.requests[-1][2] == {
            "network": "ETHEREUM_DEVNET",
            "token": "USDC",
            "app_id": None,
            "units": "5",
            "seconds": 86_400,
            "reason": "a quiet week",
        }

    def test_list_all_payments_that_are_spent(self, port: Port, stack: Path) -> None:
        following = {"after_at": "later", "after_id": "a"}
        first, last = [{"intent_id": "a"}], [{"intent_id": "b"}]
        path = "/admin/caps/7/spent"
        port.answers["GET", path] = (200, {"cap": {}, "payments": first, "next": following})
        path += "?after_at=later&after_id=a"
        port.answers["GET", path] = (200, {"cap": {}, "payments": last, "next": None})

        assert run(stack, "caps", "spent", "7") == first + last

    def test_list_queued_payments_and_pass_one(self, port: Port, stack: Path) -> None:
        port.answers["GET", "/admin/payouts/queue"] = (200, {"waiting": [{"intent_id": "7"}]})
        port.answers["POST", "/admin/payouts/queue/7/pass"] = (200, {"waiting": []})

        assert run(stack, "payouts", "queue") == [{"intent_id": "7"}]
        run(stack, "payouts", "pass", "7", "--reason", "payday", "--by", "ann")

        assert port.requests[-1][2] == {"reason": "payday"}

    def test_show_how_externally_made_payments_ended(self, port: Port, stack: Path) -> None:
        ended = [{"intent_id": "7", "end": "made"}]
        port.answers["POST", "/admin/payouts/explain"] = (200, {"ended": ended})
        options = ["--reason", "the old deployment", "--by", "ann"]

        assert run(stack, "payouts", "explain", "A_DEVNET", "0x1", *options) == ended

        body = {"reason": "the old deployment"}
        assert port.requests[-1][2] == {"network": "A_DEVNET", "transaction_hash": "0x1", **body}


@pytest.mark.parametrize("name", ["balances", "losses"])
def test_balances_and_losses_are_read_from_the_settler(port: Port, stack: Path, name: str) -> None:
    answer: dict[str, object] = {"balances": [], "backlogs": [], "networks": [], "entries": []}
    port.answers["GET", f"/admin/{name}"] = (200, answer)

    assert run(stack, name) == answer
