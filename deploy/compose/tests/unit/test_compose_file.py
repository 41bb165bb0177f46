"""docker-compose.yml, the image and the jobs agree with one another and with the services."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from swap_compose.__main__ import JOBS
from swap_compose.places import NODE_URLS, STACK, HostPorts
from swap_compose.secrets import service_secrets

from swap_runtime.settings import SharedSettings
from swap_stack.keys import Secrets, load_or_make
from swap_stack.parts.anvil import CHAINS
from swap_stack.services import SERVICES

ROOT = Path(__file__).parents[4]
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
DOCKERFILE = (ROOT / "Dockerfile").read_text()
OURS = {
    name: one
    for name, one in COMPOSE["services"].items()
    if str(one["image"]).startswith("${SWAP_")
}


def image_environment() -> dict[str, str]:
    return dict(re.findall(r"(SWAP_\w+)=(\S+)", DOCKERFILE))


def settings_of(service: str) -> type[SharedSettings]:
    module = __import__(f"swap_{service}.settings", fromlist=["settings"])
    return next(
        one
        for one in vars(module).values()
        if isinstance(one, type) and issubclass(one, SharedSettings) and one is not SharedSettings
    )


@pytest.fixture
def secrets(tmp_path: Path) -> Secrets:
    return load_or_make(tmp_path / "secrets.json")


@pytest.mark.parametrize("service", SERVICES)
def test_a_service_is_told_all_it_needs(
    service: str, secrets: Secrets, monkeypatch: pytest.MonkeyPatch
) -> None:
    stated = COMPOSE["services"][service.replace("_", "-")]["environment"]
    told = {**image_environment(), **stated, **service_secrets(service, secrets)}
    for name, value in told.items():
        monkeypatch.setenv(name, value)

    settings = settings_of(service)()  # type: ignore[call-arg]  # the environment fills it

    assert settings.catalogue == STACK.catalogue_file
    assert set(settings.node_urls()) == {chain.network for chain in CHAINS} == set(NODE_URLS)


def test_every_job_that_is_started_exists() -> None:
    commands = [one["command"] for one in OURS.values() if "command" in one]
    jobs = {words[3] for words in commands if words[:3] == ["python", "-m", "swap_compose"]}

    assert jobs == set(JOBS)


def test_every_service_is_started() -> None:
    commands = [one["command"] for one in OURS.values() if "command" in one]

    assert {words[3] for words in commands if "swap_compose.run" in words} == set(SERVICES)


@pytest.mark.parametrize("name", sorted(OURS))
def test_what_is_ours_may_do_nothing_it_need_not(name: str) -> None:
    one = OURS[name]

    assert one["read_only"]
    assert one["init"]
    assert one["cap_drop"] == ["ALL"]
    assert one["security_opt"] == ["no-new-privileges:true"]
    assert one.get("user", "") == ("0:0" if name in ("host-files", "stack-file") else "")


@pytest.mark.parametrize("name", sorted(COMPOSE["services"]))
def test_every_port_is_bound_to_this_machine_alone(name: str) -> None:
    for port in COMPOSE["services"][name].get("ports", ()):
        assert port.startswith("127.0.0.1:${PORT_")


def test_every_chain_has_its_own_id() -> None:
    for chain in CHAINS:
        name = f"anvil-{chain.network.removesuffix('_DEVNET').lower()}"
        assert COMPOSE["services"][name]["command"] == [f"--chain-id={chain.chain_id}"]


def test_ports_are_the_same_for_the_jobs_and_for_docker() -> None:
    text = (ROOT / "docker-compose.yml").read_text()
    defaults = dict(re.findall(r"\$\{(PORT_\w+):-(\d+)\}", text))
    used = re.findall(r"\$\{(PORT_\w+):-(\d+)\}", text)

    ports = HostPorts.from_environment(defaults)

    assert set(used) == set(defaults.items())
    assert ports.node_url("POLYGON_DEVNET") == f"http://127.0.0.1:{defaults['PORT_POLYGON']}"
    assert ports.services.internal_url("chain_watcher").endswith(defaults["PORT_CHAIN_WATCHER"])


def test_the_image_builds_without_what_an_old_builder_lacks() -> None:
    assert not re.search(r"^# syntax=|<<|--link|--mount", DOCKERFILE, re.M)
