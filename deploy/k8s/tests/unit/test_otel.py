"""The collector of spans: its access, its requests, and the consistency of its parts."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import yaml

from deploy.k8s.tests.rendered_overlay import NAME, ROOT, Object, RenderedOverlay, labels_of, pod_of

COLLECTOR = "otel-collector"
TRACES = "swap.access/traces"
BY_VARIABLE = re.compile(r"\$\{env:(\w+)\}")


def collector_of(overlay: RenderedOverlay) -> Object:
    container: Object = pod_of(overlay.get("Deployment", COLLECTOR))["containers"][0]
    return container


def configuration_of(overlay: RenderedOverlay) -> tuple[str, Mapping[str, Any]]:
    """Return the text that the pod mounts, and its content."""
    [volume] = pod_of(overlay.get("Deployment", COLLECTOR))["volumes"]
    text = overlay.get_exactly("ConfigMap", volume["configMap"]["name"])["data"]["config.yaml"]
    return text, yaml.safe_load(text)


def port_of(endpoint: str) -> int:
    return int(endpoint.rpartition(":")[2])


def test_every_service_sends_spans_with_the_name_of_its_pod(
    operator_overlay: RenderedOverlay,
) -> None:
    ports = operator_overlay.get("Service", COLLECTOR)["spec"]["ports"]
    for service in operator_overlay.services():
        assert labels_of(service)[TRACES] == "true"
        [container] = pod_of(service)["containers"]
        values = {each["name"]: each.get("value") for each in container["env"]}
        url = urlsplit(values["OTEL_EXPORTER_OTLP_ENDPOINT"])
        assert (url.scheme, url.hostname) == ("http", COLLECTOR)
        assert url.port in [each["port"] for each in ports if each["name"] == "otlp-http"]
        used = re.findall(r"\$\((\w+)\)", values["OTEL_RESOURCE_ATTRIBUTES"])
        fields = {each["name"] for each in container["env"] if "valueFrom" in each}
        assert set(used) == fields


def test_collector_has_the_variables_of_its_configuration(
    operator_overlay: RenderedOverlay,
) -> None:
    text, _ = configuration_of(operator_overlay)
    container = collector_of(operator_overlay)
    [source] = container["envFrom"]
    variables = set(
        operator_overlay.get_exactly("ConfigMap", source["configMapRef"]["name"])["data"]
    )
    variables |= {each["name"] for each in container["env"]}

    assert set(BY_VARIABLE.findall(text)) == variables - {"GOMEMLIMIT"}


def test_collector_opens_the_ports_that_are_used(operator_overlay: RenderedOverlay) -> None:
    _, config = configuration_of(operator_overlay)
    opened = {
        each["name"]: each["containerPort"] for each in collector_of(operator_overlay)["ports"]
    }
    [reader] = config["service"]["telemetry"]["metrics"]["readers"]
    protocols = config["receivers"]["otlp"]["protocols"]

    assert opened == {
        "otlp-grpc": port_of(protocols["grpc"]["endpoint"]),
        "otlp-http": port_of(protocols["http"]["endpoint"]),
        "metrics": reader["pull"]["exporter"]["prometheus"]["port"],
        "health": port_of(config["extensions"]["health_check"]["endpoint"]),
    }
    monitored = [
        each["port"]
        for monitor in operator_overlay.of_kind("PodMonitor")
        for each in monitor["spec"]["podMetricsEndpoints"]
    ]
    assert "metrics" in monitored


def test_memory_limiter_is_the_first_processor_of_the_collector(
    operator_overlay: RenderedOverlay,
) -> None:
    _, config = configuration_of(operator_overlay)
    [pipeline] = config["service"]["pipelines"].values()

    assert pipeline["processors"][0] == "memory_limiter"
    # A copy that decides by received spans would need all spans of a trace.
    assert "probabilistic_sampler" in pipeline["processors"]
    assert pipeline["processors"][-1] == "batch"


def test_collector_has_no_rights_in_the_cluster(operator_overlay: RenderedOverlay) -> None:
    assert (
        pod_of(operator_overlay.get("Deployment", COLLECTOR))["automountServiceAccountToken"]
        is False
    )
    assert not list(
        operator_overlay.of_kind("Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding")
    )


def test_collector_accepts_spans_of_services_and_sends_them_to_the_store_only(
    operator_overlay: RenderedOverlay,
) -> None:
    labels = labels_of(operator_overlay.get("Deployment", COLLECTOR))
    policies = list(operator_overlay.policies_for(labels))
    into = [
        (peer, port["port"])
        for policy in policies
        for rule in policy["spec"].get("ingress", [])
        for peer in rule["from"]
        for port in rule["ports"]
    ]
    out_of = [rule for policy in policies for rule in policy["spec"].get("egress", [])]

    services = {"podSelector": {"matchLabels": {TRACES: "true"}}}
    monitoring = {"namespaceSelector": {"matchLabels": {"swap.access/monitoring": "true"}}}
    assert into == [(services, 4317), (services, 4318), (monitoring, 8888)]
    [store] = out_of
    assert store["ports"] == [{"port": 443}]
    assert all("ipBlock" in peer for peer in store["to"])
    [way] = operator_overlay.get("NetworkPolicy", "to-otel-collector")["spec"]["egress"]
    assert way["to"] == [{"podSelector": {"matchLabels": {NAME: COLLECTOR}}}]


def test_collector_has_a_disruption_budget_of_one_pod(operator_overlay: RenderedOverlay) -> None:
    deployment = operator_overlay.get("Deployment", COLLECTOR)
    budget = operator_overlay.get("PodDisruptionBudget", COLLECTOR)["spec"]

    assert deployment["spec"]["replicas"] == 2
    assert budget["maxUnavailable"] == 1
    assert budget["selector"]["matchLabels"].items() <= labels_of(deployment).items()


def test_compose_has_the_same_version_of_the_collector(operator_overlay: RenderedOverlay) -> None:
    component = (ROOT / "deploy/k8s/components/otel/collector.yaml").read_text()
    compose = yaml.safe_load((ROOT / "docker-compose.yml").read_text())

    assert f"image: {compose['services'][COLLECTOR]['image']}\n" in component
    assert collector_of(operator_overlay)["image"]
