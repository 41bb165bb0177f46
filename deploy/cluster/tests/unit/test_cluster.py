"""The definition of this machine's cluster, without starting it."""

from __future__ import annotations

import json
import re
import tarfile
from ipaddress import ip_address, ip_network
from pathlib import Path

import pytest
import yaml
from swap_cluster import binaries, machine
from swap_cluster.images import OF_COMPOSE, OWN, PAUSE, write_image
from swap_cluster.settings import HOST, SERVICES, SOURCE, render_template
from swap_cluster.webhooks import HOOK, RECEIVED, SECRET_FILE
from swap_k8s import receiver

from deploy.k8s.tests.rendered_overlay import RenderedOverlay
from swap_stack.places import ROOT


def test_missing_root_rights_are_reported_in_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine.os, "geteuid", lambda: 1000)

    reason = machine.unavailable_reason()

    assert reason is not None
    assert "needs root" in reason
    assert "\n" not in reason


def test_missing_go_is_reported_in_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine.os, "geteuid", lambda: 0)
    monkeypatch.setattr(machine, "binaries_are_built", lambda: False)
    monkeypatch.setattr(machine.shutil, "which", lambda _: None)

    assert machine.unavailable_reason() == (
        "A cluster needs Go once, to build Kubernetes: install Go 1.26 or newer."
    )


@pytest.mark.parametrize("name", ["kubelet.yaml", "storage.yaml", "pods.conflist"])
def test_configuration_files_have_no_unreplaced_placeholder(name: str) -> None:
    text = render_template(name, CNI="/usr/lib/cni", RUNC="/usr/sbin/runc")

    assert "@" not in text
    assert yaml.safe_load(text)


def test_pods_resolve_names_at_the_bridge() -> None:
    assert yaml.safe_load(render_template("kubelet.yaml"))["clusterDNS"] == [HOST]


def test_kubernetes_version_is_that_of_the_go_module() -> None:
    module = (SOURCE / "binaries/kube/go.mod").read_text()

    assert f"k8s.io/kubernetes {binaries.KUBERNETES}\n" in module


def test_an_image_of_one_program_is_a_docker_archive(tmp_path: Path) -> None:
    archive = tmp_path / "pause.tar"

    write_image(archive, PAUSE, b"program", ["/bin/busybox", "sleep", "infinity"])

    with tarfile.open(archive) as files:
        manifest = files.extractfile("manifest.json")
        assert manifest is not None
        [image] = json.load(manifest)
        assert image["RepoTags"] == [PAUSE]
        assert {image["Config"], *image["Layers"]} <= set(files.getnames())


def test_the_images_of_compose_are_those_of_its_file() -> None:
    composed = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"].values()
    named = {one["image"] for one in composed if "observability" not in one.get("profiles", ())}
    own = re.compile(r"^\$\{\w+:-(.+)\}$")

    assert {own.sub(r"\1", name) for name in named} == set(OF_COMPOSE)


@pytest.mark.parametrize("name", [name for name in OF_COMPOSE if name not in OWN])
def test_every_stand_in_has_its_file(name: str) -> None:
    kind = name.partition(":")[0].rpartition("/")[2]

    assert (SOURCE / f"stand_ins/{kind}.Dockerfile").is_file()


def test_missing_packages_of_docker_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine.os, "geteuid", lambda: 0)
    monkeypatch.setattr(machine.shutil, "which", lambda _: None)

    assert machine.docker_unavailable_reason() == (
        "Compose needs these packages: apt-get install docker.io caddy"
    )


def test_dashboard_settings_have_the_address_of_its_service() -> None:
    rendered = RenderedOverlay.of("../../cluster/overlay")
    address = rendered.get("Service", "dashboard")["spec"]["clusterIP"]
    settings = rendered.get("ConfigMap", "dashboard-settings")["data"]

    assert ip_address(address) in ip_network(SERVICES)
    assert settings["SWAP_DASHBOARD__PUBLIC_URL"] == f"http://{address}:8080"
    api = rendered.get("ConfigMap", "api-settings")["data"]
    assert api["SWAP_API__PAY_PAGE_URL"] == f"http://{address}:8080/pay"


def test_webhook_endpoint_and_files_are_those_of_the_receiver() -> None:
    assert HOOK.url == f"http://127.0.0.1:{receiver.PORT}/hooks"
    assert str(receiver.SECRET) == SECRET_FILE
    assert str(receiver.RECEIVED) == RECEIVED
