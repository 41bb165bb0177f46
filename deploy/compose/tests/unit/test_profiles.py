"""The additions of each profile of docker-compose.yml, and the consistency of its files."""

from __future__ import annotations

import json
import re
import subprocess
from ipaddress import ip_address, ip_network
from pathlib import Path
from threading import Event
from typing import Any

import pytest
import yaml
from swap_compose.run import COLLECTOR, COLLECTOR_PORT, tracing

from deploy.monitoring.tests.promtool import MISSING, find_promtool
from swap_stack.services import SERVICES

ROOT = Path(__file__).parents[4]
FILES = ROOT / "deploy/compose/observability"
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
CONTAINERS: dict[str, Any] = COMPOSE["services"]
PROMETHEUS: dict[str, Any] = yaml.safe_load((FILES / "prometheus.yml").read_text())
INTERNAL_PORT = 8081  # of the Dockerfile
PROMTOOL = find_promtool()


def of_profile(profile: str) -> set[str]:
    return {name for name, one in CONTAINERS.items() if profile in one.get("profiles", ())}


def mounts(name: str) -> dict[str, Path]:
    """Return the files and folders of the checkout in a container, by their mount path."""
    volumes = (volume.split(":") for volume in CONTAINERS[name].get("volumes", ()))
    return {inside: ROOT / host for host, inside, *_ in volumes if host.startswith("./")}


def default_of(text: str) -> str:
    return re.sub(r"\$\{\w+:-([^}]*)\}", r"\1", text)


def start_grafana(password: str | None) -> subprocess.CompletedProcess[str]:
    """Run the container's entrypoint, with a program in place of Grafana's own script."""
    shell, option, script = CONTAINERS["grafana"]["entrypoint"]
    assert script.endswith("exec /run.sh")
    environment = {} if password is None else {"GF_SECURITY_ADMIN_PASSWORD": password}
    return subprocess.run(
        [shell, option, script.replace("$$", "$").replace("/run.sh", "echo started")],
        check=False,
        capture_output=True,
        text=True,
        env=environment,
    )


class TestProfiles:
    def test_add_to_a_core_that_needs_none_of_them(self) -> None:
        profiled = of_profile("dev") | of_profile("observability")

        assert of_profile("dev") == {"sandbox"}
        assert of_profile("observability") == {
            "prometheus",
            "alertmanager",
            "grafana",
            "otel-collector",
        }
        for name, one in CONTAINERS.items():
            if name not in profiled:
                assert not set(one.get("depends_on", ())) & profiled, name

    def test_drop_all_capabilities_and_new_privileges(self) -> None:
        for name in (*of_profile("observability"), "proxy"):
            assert CONTAINERS[name]["cap_drop"] == ["ALL"]
            assert CONTAINERS[name]["security_opt"] == ["no-new-privileges:true"]

    def test_name_a_version_of_each_image(self) -> None:
        for name in (*of_profile("observability"), "proxy"):
            assert re.search(r":v?\d+\.\d+", CONTAINERS[name]["image"]), name

    def test_mount_files_that_are_there(self) -> None:
        for name in (*of_profile("observability"), "proxy"):
            assert all(path.exists() for path in mounts(name).values()), name


class TestPrometheus:
    def test_reads_every_service_with_the_label_that_rules_and_dashboards_use(self) -> None:
        [swap] = [job for job in PROMETHEUS["scrape_configs"] if job["job_name"] == "swap"]
        found = {
            target: entry["labels"]["service"]
            for entry in swap["static_configs"]
            for target in entry["targets"]
        }

        names = {name.replace("_", "-") for name in SERVICES} | {"console"}
        assert found == {f"{name}:{INTERNAL_PORT}": name for name in names}
        assert names <= set(CONTAINERS)

    def test_has_the_generated_rules_and_sends_alerts(self) -> None:
        [rules] = PROMETHEUS["rule_files"]
        [manager] = PROMETHEUS["alerting"]["alertmanagers"]

        assert mounts("prometheus")[rules] == ROOT / "deploy/monitoring/rules.yaml"
        assert manager["static_configs"][0]["targets"] == ["alertmanager:9093"]
        assert mounts("prometheus")["/etc/prometheus/prometheus.yml"] == FILES / "prometheus.yml"

    @pytest.mark.skipif(PROMTOOL is None, reason=MISSING)
    def test_accepts_its_configuration(self, tmp_path: Path) -> None:
        text = (FILES / "prometheus.yml").read_text()
        rules = ROOT / "deploy/monitoring/rules.yaml"
        file = tmp_path / "prometheus.yml"
        file.write_text(text.replace("/etc/prometheus/rules/rules.yaml", str(rules)))

        done = subprocess.run(
            [str(PROMTOOL), "check", "config", str(file)],
            check=False,
            capture_output=True,
            text=True,
        )

        assert done.returncode == 0, done.stdout + done.stderr


class TestGrafana:
    def test_has_every_dashboard_and_the_data_sources_that_they_ask(self) -> None:
        found = mounts("grafana")
        [provider] = yaml.safe_load((FILES / "grafana/dashboards/swap.yml").read_text())[
            "providers"
        ]
        sources = yaml.safe_load((FILES / "grafana/datasources/prometheus.yml").read_text())

        dashboards = found[provider["options"]["path"]]
        assert dashboards == ROOT / "deploy/monitoring/dashboards"
        kinds = {
            variable["query"]
            for file in dashboards.glob("*.json")
            for variable in json.loads(file.read_text())["templating"]["list"]
            if variable["type"] == "datasource"
        }
        assert kinds <= {source["type"] for source in sources["datasources"]}
        for source in sources["datasources"]:
            assert source["url"].split("//")[1].split(":")[0] in CONTAINERS

    @pytest.mark.parametrize("password", ["", None])
    def test_does_not_start_without_a_password(self, password: str | None) -> None:
        done = start_grafana(password)

        assert done.returncode != 0
        assert "GF_SECURITY_ADMIN_PASSWORD: is empty: set GRAFANA_PASSWORD" in done.stderr
        assert "started" not in done.stdout

    def test_starts_only_with_the_password_of_the_variable(self) -> None:
        environment = CONTAINERS["grafana"]["environment"]
        assert environment["GF_SECURITY_ADMIN_PASSWORD"] == "${GRAFANA_PASSWORD:-}"

        done = start_grafana("one two")

        assert (done.returncode, done.stdout) == (0, "started\n"), done.stderr


class TestAlertmanager:
    def test_routes_to_a_receiver_that_it_has(self) -> None:
        config = yaml.safe_load((FILES / "alertmanager.yml").read_text())

        assert config["route"]["receiver"] in {one["name"] for one in config["receivers"]}


class TestTheCollector:
    def test_uses_what_it_defines(self) -> None:
        config = yaml.safe_load((FILES / "otel-collector.yml").read_text())

        for pipeline in config["service"]["pipelines"].values():
            for kind in ("receivers", "processors", "exporters"):
                assert set(pipeline[kind]) <= set(config[kind])
        [scraped] = [
            target
            for job in PROMETHEUS["scrape_configs"]
            if job["job_name"] == "otel-collector"
            for target in job["static_configs"][0]["targets"]
        ]
        [reader] = config["service"]["telemetry"]["metrics"]["readers"]
        assert scraped == f"otel-collector:{reader['pull']['exporter']['prometheus']['port']}"

    def test_takes_the_spans_of_services_where_the_profile_is_on(self) -> None:
        config = yaml.safe_load((FILES / "otel-collector.yml").read_text())
        opened = config["receivers"]["otlp"]["protocols"]["http"]["endpoint"]

        assert COLLECTOR in of_profile("observability")
        assert opened.rpartition(":")[2] == str(COLLECTOR_PORT)
        # Any resolvable name replaces the container's.
        found = tracing("localhost")
        assert found == {"OTEL_EXPORTER_OTLP_ENDPOINT": f"http://localhost:{COLLECTOR_PORT}"}

    def test_is_not_missed_where_the_profile_is_off(self) -> None:
        assert tracing("otel-collector.invalid") == {}

    def test_is_not_waited_for_where_names_are_looked_up_slowly(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        ended = Event()

        def look_up_slowly(*_: object) -> list[object]:
            ended.wait()
            return ["an address"]

        monkeypatch.setattr("swap_compose.run.LOOKUP_SECONDS", 0.05)
        monkeypatch.setattr("socket.getaddrinfo", look_up_slowly)

        assert tracing(COLLECTOR) == {}
        ended.set()


class TestTheProxy:
    def test_has_the_public_port_instead_of_the_api(self) -> None:
        assert CONTAINERS["proxy"]["ports"] == ["127.0.0.1:${PORT_GATEWAY:-28000}:8080"]
        assert not [port for port in CONTAINERS["api"]["ports"] if port.endswith(":8080")]
        assert "edge" in CONTAINERS["api"]["networks"]

    def test_has_the_address_that_the_api_trusts(self) -> None:
        address = default_of(CONTAINERS["proxy"]["networks"]["edge"]["ipv4_address"])
        [edge] = COMPOSE["networks"]["edge"]["ipam"]["config"]

        believed = default_of(CONTAINERS["api"]["environment"]["SWAP_API__TRUSTED_PROXIES"])
        assert json.loads(believed) == [address]
        assert ip_address(address) in ip_network(default_of(edge["subnet"]))
