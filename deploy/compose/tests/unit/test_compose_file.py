"""docker-compose.yml, the image and the jobs match each other and the services."""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib.util import find_spec
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import BaseModel
from swap_compose.__main__ import JOBS
from swap_compose.kafka import describe_kafka, kafka_of
from swap_compose.places import NODE_URLS, STACK, HostPorts
from swap_compose.secrets import service_secrets
from swap_compose.webhooks import run_sandbox

from swap_runtime.http.internal import STOP_SECONDS
from swap_runtime.settings import BuildSettings, KafkaSettings, SharedSettings, WatchdogSettings
from swap_stack.keys import Secrets, load_or_make
from swap_stack.parts.anvil import CHAINS
from swap_stack.sandbox.settings import Settings as SandboxSettings
from swap_stack.services import ON_KAFKA, SERVICES

ROOT = Path(__file__).parents[4]
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
DOCKERFILE = (ROOT / "Dockerfile").read_text()
WITH_AUTHORITY: dict[str, Any] = yaml.safe_load((ROOT / "deploy/compose/kafka-ca.yml").read_text())[
    "services"
]
SECURED = {
    "SWAP_KAFKA__BOOTSTRAP_SERVERS": "broker.example:9093",
    "SWAP_KAFKA__SECURITY_PROTOCOL": "SASL_SSL",
}
OURS = {
    name: one
    for name, one in COMPOSE["services"].items()
    if str(one["image"]).startswith("${SWAP_")
}


def image_environment() -> dict[str, str]:
    return dict(re.findall(r"(SWAP_\w+)=(\S+)", DOCKERFILE))


def interpolated(stated: Mapping[str, str], environ: Mapping[str, str]) -> dict[str, str]:
    """Return Docker Compose's value of `${NAME}`, `${NAME:-default}` and `${NAME:?why}`."""

    def value(found: re.Match[str]) -> str:
        return environ.get(found["name"]) or found["default"] or ""

    form = re.compile(r"\$\{(?P<name>\w+)(:-(?P<default>[^}]*)|:\?[^}]*)?\}")
    return {name: form.sub(value, text) for name, text in stated.items()}


def environment_of(service: str, secrets: Secrets, environ: Mapping[str, str]) -> dict[str, str]:
    """Return a service's whole environment, as `swap_compose.run` builds it."""
    stated = COMPOSE["services"][service.replace("_", "-")]["environment"]
    job = interpolated(COMPOSE["services"]["secrets"]["environment"], environ)
    return {
        **service_secrets(service, secrets, job),
        **image_environment(),
        **interpolated(stated, environ),
    }


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
def test_a_service_gets_all_required_settings(
    service: str, secrets: Secrets, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in environment_of(service, secrets, {}).items():
        monkeypatch.setenv(name, value)

    settings = settings_of(service)()  # type: ignore[call-arg]  # the environment fills it

    assert settings.operators
    if service not in ON_KAFKA:
        return
    assert settings.catalogue == STACK.catalogue_file
    assert set(settings.node_urls()) == {chain.network for chain in CHAINS} == set(NODE_URLS)


@pytest.mark.parametrize("service", SERVICES)
def test_a_service_gets_no_unknown_setting(service: str, secrets: Secrets) -> None:
    """A setting with another name would be ignored without an error."""
    stated = COMPOSE["services"][service.replace("_", "-")]["environment"]
    of_the_image = {
        name: value
        for name, value in image_environment().items()
        if name.startswith(f"SWAP_{service.upper()}__")
    }
    variables = {**of_the_image, **stated, **service_secrets(service, secrets, SECURED)}

    unknown = {name for name in variables if not is_setting(settings_of(service), name)}
    assert unknown == set()


def is_setting(model: type[BaseModel], name: str) -> bool:
    """Return whether a variable is a member of the settings, or of a group of them."""
    group: Any = model
    for part in name.removeprefix("SWAP_").lower().split("__"):
        field = group.model_fields.get(part) if hasattr(group, "model_fields") else None
        if field is None:
            return False
        group = field.annotation
    return True


@pytest.mark.parametrize("service", SERVICES)
def test_a_service_holds_no_operators_token(service: str, secrets: Secrets) -> None:
    values = " ".join(service_secrets(service, secrets, {}).values())

    assert secrets.operator_token not in values
    assert secrets.second_operator_token not in values
    assert (secrets.api_token in values) == (service == "api")


def test_the_dashboard_names_the_addresses_of_the_host(
    secrets: Secrets, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A form from another origin than the public URL is refused."""
    for name, value in environment_of("dashboard", secrets, {"PORT_DASHBOARD": "28106"}).items():
        monkeypatch.setenv(name, value)
    settings = settings_of("dashboard")()  # type: ignore[call-arg]
    [public, _] = COMPOSE["services"]["dashboard"]["ports"]

    assert settings.dashboard.public_url == "http://127.0.0.1:28106"  # type: ignore[attr-defined]
    assert public == "127.0.0.1:${PORT_DASHBOARD:-28006}:8080"
    assert secrets.webhook_key not in str(environment_of("dashboard", secrets, {}))


def test_the_api_links_to_the_dashboard_and_trusts_only_its_own_proxy(
    secrets: Secrets, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in environment_of("api", secrets, {"PORT_DASHBOARD": "28106"}).items():
        monkeypatch.setenv(name, value)
    api = settings_of("api")().api  # type: ignore[call-arg, attr-defined]

    assert api.pay_page_url == "http://127.0.0.1:28106/pay"
    assert [key.get_secret_value() for key in api.pay_link_keys] == [secrets.pay_link_key]
    # Partners connect from the dashboard's network too, so its address is not among them.
    assert api.trusted_proxies == ("172.31.253.2",)


def test_the_sandbox_gets_its_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    became: list[tuple[str, dict[str, str]]] = []
    monkeypatch.setattr(
        "swap_compose.webhooks._exec_module",
        lambda module, *_, variables: became.append((module, variables)),
    )

    run_sandbox()

    [(module, variables)] = became
    settings = SandboxSettings.from_environment(variables)
    mounted = {volume.split(":")[1] for volume in COMPOSE["services"]["sandbox"]["volumes"]}
    places = (settings.partners, settings.keys, settings.journal, settings.received)
    assert find_spec(module) is not None
    assert {str(place.parent) for place in places} == mounted
    assert set(settings.nodes) == set(NODE_URLS)


def test_each_container_of_the_proxys_network_has_an_address_of_its_own() -> None:
    """Without one, a container that starts earlier gets that of another."""
    [pool] = COMPOSE["networks"]["edge"]["ipam"]["config"]
    stated = {
        name: one["networks"]["edge"]["ipv4_address"]
        for name, one in COMPOSE["services"].items()
        if "edge" in one.get("networks", ())
    }
    addresses = [ip_address(one) for one in interpolated(stated, {}).values()]

    assert set(stated) == {"api", "proxy"}
    assert len(set(addresses)) == len(addresses)
    assert all(one in ip_network(interpolated(pool, {})["subnet"]) for one in addresses)


def test_everything_that_is_waited_for_is_there() -> None:
    services = COMPOSE["services"]
    for name, one in services.items():
        awaited = one.get("depends_on", {})
        conditions = awaited if isinstance(awaited, dict) else {other: {} for other in awaited}
        for other, how in conditions.items():
            assert other in services, f"{name} waits for {other}"
            if how.get("condition") == "service_healthy":
                check = services[other].get("healthcheck", {"disable": False})
                assert not check.get("disable"), f"{name} waits for {other}, which says nothing"
            if how.get("condition") == "service_completed_successfully":
                assert services[other]["restart"] == "no", f"{other} never ends"
        shared = one.get("network_mode", "").removeprefix("service:")
        assert shared in ("", *services)
        assert not (shared and {"ports", "networks"} & set(one))


def test_a_ready_stack_has_its_invariants() -> None:
    assert "invariants" in COMPOSE["services"]["stack-file"]["depends_on"]


def test_every_volume_that_is_mounted_is_declared() -> None:
    mounted = {
        volume.split(":")[0]
        for one in COMPOSE["services"].values()
        for volume in one.get("volumes", ())
    }

    assert {name for name in mounted if not name.startswith(".")} == set(COMPOSE["volumes"])
    assert all((ROOT / name).exists() for name in mounted if name.startswith("./deploy"))


def test_the_image_copies_what_the_checkout_has() -> None:
    copied = re.findall(r"^COPY ((?!--from)\S.*) \S+$", DOCKERFILE, re.M)

    names = {name for line in copied for name in line.split() if name != "."}
    assert {name for name in names if not (ROOT / name).exists()} == set()


def test_every_job_that_is_started_exists() -> None:
    commands = [one["command"] for one in OURS.values() if "command" in one]
    jobs = {words[3] for words in commands if words[:3] == ["python", "-m", "swap_compose"]}

    assert jobs == set(JOBS)


def test_every_service_is_started() -> None:
    commands = [one["command"] for one in OURS.values() if "command" in one]

    assert {words[3] for words in commands if "swap_compose.run" in words} == set(SERVICES)


@pytest.mark.parametrize("name", sorted(OURS))
def test_own_containers_have_no_unneeded_rights(name: str) -> None:
    one = OURS[name]

    assert one["read_only"]
    assert one["init"]
    assert one["cap_drop"] == ["ALL"]
    assert one["security_opt"] == ["no-new-privileges:true"]
    assert one.get("user", "") == ("0:0" if name in ("host-files", "stack-file") else "")


@pytest.mark.parametrize("name", sorted(COMPOSE["services"]))
def test_every_port_is_bound_to_the_loopback_interface(name: str) -> None:
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


def test_the_readme_lists_every_port_with_its_default() -> None:
    text = (ROOT / "docker-compose.yml").read_text()
    readme = (ROOT / "deploy/compose/README.md").read_text()

    listed = re.findall(r"`(PORT_\w+)` \| (\d+)", readme)

    assert sorted(listed) == sorted(set(re.findall(r"\$\{(PORT_\w+):-(\d+)\}", text)))


def test_the_images_have_a_numeric_user_other_than_root() -> None:
    """`runAsNonRoot` refuses a name, because the user id is unknown outside of the image."""
    assert re.findall(r"^USER (.+)$", DOCKERFILE, re.M) == ["10001:10001"] * 2


def test_the_image_has_its_name_and_commit() -> None:
    labels = set(re.findall(r"org\.opencontainers\.image\.(\w+)=", DOCKERFILE))

    assert labels >= {"title", "description", "version", "revision", "licenses"}
    assert {"VERSION", "REVISION"} <= set(re.findall(r"^ARG (\w+)=", DOCKERFILE, re.M))
    # Its processes report the same.
    set_by_the_image = dict(re.findall(r"SWAP_BUILD__(\w+)=\$\{(\w+)\}", DOCKERFILE))
    assert set_by_the_image == {"VERSION": "VERSION", "REVISION": "REVISION"}
    assert {name.upper() for name in BuildSettings.model_fields} == set(set_by_the_image)
    assert set(COMPOSE["services"]["secrets"]["build"]["args"]) == set(set_by_the_image)


@pytest.mark.parametrize("service", SERVICES)
def test_a_service_is_given_the_time_that_its_stop_may_take(service: str) -> None:
    grace_period = COMPOSE["services"][service.replace("_", "-")]["stop_grace_period"]

    watchdog = WatchdogSettings()
    needed = (watchdog.drain + watchdog.stop_timeout).total_seconds() + STOP_SECONDS
    assert int(grace_period.removesuffix("s")) > needed


def test_the_image_builds_without_what_an_old_builder_lacks() -> None:
    assert not re.search(r"^# syntax=|<<|--link|--mount", DOCKERFILE, re.M)


class TestSecuredKafka:
    """An external Kafka with TLS and a login, configured by variables of the host."""

    @pytest.mark.parametrize("service", ON_KAFKA)
    def test_a_service_logs_in_as_its_postgres_role(
        self, service: str, secrets: Secrets, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for name, value in environment_of(service, secrets, SECURED).items():
            monkeypatch.setenv(name, value)

        kafka = settings_of(service)().kafka  # type: ignore[call-arg]

        assert service in secrets.role_passwords
        assert is_secured(kafka)
        assert login(kafka) == (service, secrets.kafka_passwords[service])
        for other in set(secrets.kafka_passwords) - {service}:
            assert secrets.kafka_passwords[other] not in str(
                environment_of(service, secrets, SECURED)
            )

    def test_topics_are_made_as_the_operator(self, secrets: Secrets) -> None:
        job = COMPOSE["services"]["topics"]

        kafka = kafka_of("operator", secrets, interpolated(job["environment"], SECURED))

        assert is_secured(kafka)
        assert login(kafka) == ("operator", secrets.kafka_passwords["operator"])
        assert "stack:/stack:ro" in job["volumes"]  # the passwords

    def test_the_stacks_description_names_it(self, secrets: Secrets) -> None:
        environ = interpolated(COMPOSE["services"]["stack-file"]["environment"], SECURED)

        kafka = KafkaSettings.model_validate(describe_kafka(28022, secrets, environ))

        assert is_secured(kafka)
        assert login(kafka) == ("operator", secrets.kafka_passwords["operator"])

    def test_passwords_that_a_cluster_gave_win(self, secrets: Secrets) -> None:
        own_login = {"SWAP_KAFKA__USERNAME": "ours", "SWAP_KAFKA__PASSWORD": "given"}

        assert login(kafka_of("operator", secrets, {**SECURED, **own_login})) == ("ours", "given")

    def test_the_file_of_an_authority_is_at_its_configured_path(self) -> None:
        """The jobs `secrets` and `chains` read other settings, and do not connect."""
        with_kafka = {
            name
            for name, one in COMPOSE["services"].items()
            if "SWAP_KAFKA__BOOTSTRAP_SERVERS" in one.get("environment", ())
        }
        path = {"SWAP_KAFKA__CA_FILE": "/etc/kafka/ca.pem"}

        assert set(WITH_AUTHORITY) == with_kafka - {"secrets", "chains"}
        for name, one in WITH_AUTHORITY.items():
            [volume] = interpolated({"volume": one["volumes"][0]}, path).values()
            stated = interpolated(COMPOSE["services"][name]["environment"], path)
            assert volume == "/etc/kafka/ca.pem:/etc/kafka/ca.pem:ro"
            assert stated["SWAP_KAFKA__CA_FILE"] == "/etc/kafka/ca.pem"


def is_secured(kafka: KafkaSettings) -> bool:
    named = (kafka.bootstrap_servers, kafka.security_protocol, kafka.sasl_mechanism)
    return named == ("broker.example:9093", "SASL_SSL", "SCRAM-SHA-512")


def login(kafka: KafkaSettings) -> tuple[str, str]:
    return kafka.username, kafka.password.get_secret_value()
