"""var/stack.json has the same form for every kind of stack."""

from __future__ import annotations

import ast
import asyncio
import inspect
from pathlib import Path

import pytest
from eth_utils.address import to_checksum_address
from swap_compose import host
from swap_compose.places import HostPorts
from swap_compose.secrets import roles_script, service_secrets

from swap_domain.catalogue import Catalogue
from swap_runtime.catalogue import load_catalogue
from swap_stack import stack_file
from swap_stack.app import environment_of
from swap_stack.daemon import StackError
from swap_stack.files import read_json, write_json
from swap_stack.keys import LOGIN_ROLES, Secrets, load_or_make
from swap_stack.options import Options
from swap_stack.places import Places
from swap_stack.report import Report
from swap_stack.up import find_described, up
from swapctl.endpoints import ServiceName, find_endpoints
from tests.support.waiting import until_true_here

ROOT = Path(__file__).parents[4]
ADDED = {"containers", "services"}  # the embedded stack adds its services later


@pytest.fixture
def secrets(tmp_path: Path) -> Secrets:
    return load_or_make(tmp_path / "secrets.json")


@pytest.fixture
def catalogue() -> Catalogue:
    return load_catalogue(ROOT / "docs/catalogue.example.yaml", to_checksum_address)


@pytest.fixture
def ports() -> HostPorts:
    names = ("GATEWAY", "API", "QUOTER", "CHAIN_WATCHER", "SETTLER", "NOTIFIER", "ETHEREUM")
    names += (
        "BASE",
        "POLYGON",
        "POSTGRES",
        "KAFKA",
        "VALKEY",
        "DASHBOARD",
        "DASHBOARD_INTERNAL",
        "CONSOLE",
    )
    return HostPorts.from_environment({f"PORT_{n}": str(p) for p, n in enumerate(names, 28_000)})


def members(function: object) -> set[str]:
    """Return the members of the dictionary that a function returns."""
    tree = ast.parse(inspect.getsource(function))  # type: ignore[arg-type]
    returned = [node.value for node in ast.walk(tree) if isinstance(node, ast.Return)]
    (members,) = (one for one in returned if isinstance(one, ast.Dict))
    return {key.value for key in members.keys if isinstance(key, ast.Constant)}


def test_matches_the_embedded_stack(
    secrets: Secrets, catalogue: Catalogue, ports: HostPorts
) -> None:
    environ = {"SWAP_KAFKA__BOOTSTRAP_SERVERS": "kafka:9092"}

    description = host.describe(
        ports=ports, secrets=secrets, catalogue=catalogue, partners=[], environ=environ
    )

    assert set(description) == members(stack_file.describe) | ADDED
    assert description["gateway"] == {"url": "http://127.0.0.1:28000"}
    assert description["services"][2]["internal_url"] == "http://127.0.0.1:28003"
    assert description["services"][2]["log"] == "docker compose logs chain-watcher"
    assert description["services"][5]["internal_url"] == "http://127.0.0.1:28013"
    assert description["dashboard"]["url"] == "http://127.0.0.1:28012"
    assert description["dashboard"]["password"] == secrets.dashboard_password
    assert description["kafka"] == {"bootstrap_servers": "127.0.0.1:28010"}
    assert "auditor" not in description["postgres"]["service_urls"]
    assert ":28009/swap" in description["postgres"]["auditor_url"]


def test_the_commands_of_the_embedded_stack_find_it(
    secrets: Secrets, catalogue: Catalogue, ports: HostPorts, tmp_path: Path
) -> None:
    partner = {"name": "sandbox", "api_key": "svc_test_1", "app_id": "1"}
    environ = {"SWAP_KAFKA__BOOTSTRAP_SERVERS": "kafka:9092"}
    description = host.describe(
        ports=ports, secrets=secrets, catalogue=catalogue, partners=[partner], environ=environ
    )
    places = Places(tmp_path)
    write_json(places.stack_file, description)

    found = find_described(places)

    assert found is not None
    assert environment_of(found, places)["BASE_URL"] == "http://127.0.0.1:28000"
    known = find_endpoints(places.stack_file, {})
    assert known.url(ServiceName.SETTLER) == "http://127.0.0.1:28004"
    assert known.token == secrets.operator_token


def test_a_stack_of_this_machine_that_has_ended_is_not_found(tmp_path: Path) -> None:
    places = Places(tmp_path)
    write_json(places.stack_file, {"version": 1})

    assert find_described(places) is None


@pytest.fixture
def var(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "checkout").touch()
    monkeypatch.setattr(host, "CHECKOUT", tmp_path / "checkout")
    monkeypatch.setattr(host, "HOST", tmp_path)
    monkeypatch.setattr(host, "STACK_FILE", tmp_path / "stack.json")
    monkeypatch.setattr(host, "WEBHOOKS", tmp_path / "webhooks")
    monkeypatch.setattr("os.chown", lambda *_: None)
    return tmp_path


async def test_the_file_is_written_again_after_a_second_up_removed_it(var: Path) -> None:
    stopped = asyncio.Event()
    keeping = asyncio.create_task(host.keep_written({"containers": True}, stopped))
    file = var / "stack.json"

    await until_true_here(file.exists)
    host.prepare_host_files()
    assert not file.exists()
    await until_true_here(file.exists)

    stopped.set()
    await keeping
    assert read_json(file) == {"containers": True}


async def test_a_stack_of_this_machine_does_not_replace_the_file_of_containers(
    tmp_path: Path,
) -> None:
    places = Places(tmp_path)
    description = {"version": 1, "containers": True}
    write_json(places.stack_file, description)

    with pytest.raises(StackError, match="docker compose down"):
        await up(places, Options(fresh=True), Report())

    assert read_json(places.stack_file) == description


class TestPrepareHostFiles:
    def test_takes_away_what_an_earlier_stack_of_containers_left(self, var: Path) -> None:
        write_json(var / "stack.json", {"containers": True})

        host.prepare_host_files()

        assert not (var / "stack.json").exists()
        assert (var / "webhooks/demo.jsonl").is_file()

    def test_does_not_replace_the_file_of_an_embedded_stack(self, var: Path) -> None:
        write_json(var / "stack.json", {"version": 1})

        with pytest.raises(StackError, match="make down"):
            host.prepare_host_files()

        assert read_json(var / "stack.json") == {"version": 1}


class TestSecrets:
    def test_no_service_has_the_login_of_another_one(self, secrets: Secrets) -> None:
        settler = str(service_secrets("settler", secrets, {}))

        assert secrets.role_passwords["settler"] in settler
        assert secrets.signer_key in settler
        assert secrets.role_passwords["api"] not in settler
        assert secrets.signer_key not in str(service_secrets("api", secrets, {}))
        assert secrets.webhook_key not in settler
        assert secrets.webhook_key in str(service_secrets("notifier", secrets, {}))
        assert secrets.dashboard_key in str(service_secrets("dashboard", secrets, {}))
        assert secrets.dashboard_key not in str(service_secrets("notifier", secrets, {}))

    def test_every_role_is_given_its_password(self, secrets: Secrets) -> None:
        script = roles_script(secrets)

        for role in LOGIN_ROLES:
            assert f"\\set {role}_password {secrets.role_passwords[role]}\n" in script
        assert "\n\\i /roles.sql\n" in script

    def test_no_view_holds_up_a_migration(self, secrets: Secrets) -> None:
        assert roles_script(secrets).endswith("\nDROP SCHEMA IF EXISTS invariant CASCADE;\n")
