"""The operators' console: no secret, no public access, and connections to internal ports only."""

from __future__ import annotations

import pytest

from deploy.k8s.tests.rendered_overlay import NAME, OVERLAYS, SERVICES, RenderedOverlay, pod_of
from deploy.k8s.tests.unit.test_settings import KNOWN, environment_of
from swap_dashboard.console.settings import ConsoleSettings


@pytest.fixture(params=OVERLAYS)
def overlay(request: pytest.FixtureRequest) -> RenderedOverlay:
    return RenderedOverlay.of(request.param)


def test_console_settings_are_complete_and_known(
    overlay: RenderedOverlay, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = environment_of(overlay, overlay.get("Deployment", "console"))
    own = {name: value for name, value in values.items() if name.startswith("SWAP_CONSOLE__")}
    for name, value in own.items():
        monkeypatch.setenv(name, value)

    group = ConsoleSettings().console  # type: ignore[call-arg]  # the environment fills it

    assert set(own) <= KNOWN
    expected = {f"http://{name}:8081" for name in SERVICES}
    assert set(group.service_urls().values()) == expected


def test_console_has_no_secret_and_no_database(overlay: RenderedOverlay) -> None:
    deployment = overlay.get("Deployment", "console")
    labels = deployment["spec"]["template"]["metadata"]["labels"]

    assert {volume["name"] for volume in pod_of(deployment)["volumes"]} == {"tmp"}
    assert not {each for each in labels if each.startswith("swap.access/")}
    assert "initContainers" not in pod_of(deployment)
    # Sessions are in its memory.
    assert deployment["spec"]["replicas"] == 1
    assert deployment["spec"]["strategy"] == {"type": "Recreate"}


def test_no_public_gateway_routes_to_the_console(overlay: RenderedOverlay) -> None:
    behind = [
        backend["name"]
        for route in overlay.of_kind("HTTPRoute")
        for rule in route["spec"]["rules"]
        for backend in rule["backendRefs"]
    ]
    own = overlay.get("NetworkPolicy", "console")["spec"]

    assert "console" not in behind
    [rule] = own["ingress"]
    assert rule["from"] == [
        {"namespaceSelector": {"matchLabels": {"swap.access/operators": "true"}}}
    ]


def test_console_reaches_only_internal_ports(overlay: RenderedOverlay) -> None:
    [way_out] = overlay.get("NetworkPolicy", "console")["spec"]["egress"]
    way_in = overlay.get("NetworkPolicy", "from-console")["spec"]

    assert [port["port"] for port in way_out["ports"]] == [8081]
    [peer] = way_out["to"]
    assert peer["podSelector"] == way_in["podSelector"]
    [names] = way_in["podSelector"]["matchExpressions"]
    assert set(names["values"]) == set(SERVICES)
    assert way_in["ingress"] == [
        {"from": [{"podSelector": {"matchLabels": {NAME: "console"}}}], "ports": [{"port": 8081}]}
    ]
