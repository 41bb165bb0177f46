"""The environment of each service is accepted by its settings, without an unknown variable."""

from __future__ import annotations

import json
import re
from base64 import b64decode, b64encode
from collections.abc import Mapping
from importlib import import_module
from ipaddress import ip_address, ip_network
from pathlib import Path

import certifi
import pytest

from deploy.k8s.tests.rendered_overlay import (
    ON_KAFKA,
    ROOT,
    SERVICES,
    Object,
    RenderedOverlay,
    pod_of,
)
from swap_chains.evm.codec import checksum_address
from swap_runtime.catalogue import load_catalogue
from swap_runtime.settings import SharedSettings

CLASSES = {
    "api": "ApiSettings",
    "quoter": "QuoterSettings",
    "chain-watcher": "ChainWatcherSettings",
    "settler": "SettlerSettings",
    "notifier": "NotifierSettings",
    "dashboard": "DashboardSettings",
}
OPERATOR = {"name": "operator", "role": "operator", "token_sha256": "0" * 64}
# An operator's values in the Secrets that a repository does not contain.
SAMPLES = {
    "database-url": "postgresql+psycopg://role:word@postgres-rw:5432/swap?sslmode=verify-full",
    "operators": json.dumps([OPERATOR]),
    "nodes": '{"ETHEREUM_DEVNET": ["https://node.example/key"]}',
    "key-pepper": "of sixteen characters",
    "pay-link-keys": json.dumps(["of sixteen characters"]),
    "notifier-token": "a token",
    "secret-keys": json.dumps([b64encode(b"k" * 32).decode()]),
    "kms-access-key-id": "an id",
    "kms-secret-access-key": "a key",
    "password": "a password",
    "ca.crt": Path(certifi.where()).read_text(),
}
SETTING = re.compile(r"^#? ?((?:SWAP|OTEL)_[A-Z0-9_]+)=", re.M)
# OpenTelemetry's library reads it.
RESOURCE_ATTRIBUTES = "OTEL_RESOURCE_ATTRIBUTES"
KNOWN = frozenset({*SETTING.findall((ROOT / ".env.example").read_text()), RESOURCE_ATTRIBUTES})


def image_environment() -> dict[str, str]:
    dockerfile = (ROOT / "Dockerfile").read_text().replace("\\\n", " ")
    return dict(re.findall(r"(SWAP_[A-Z_]+)=(\S+)", dockerfile))


def environment_of(rendered: RenderedOverlay, service: Object) -> dict[str, str]:
    [container] = pod_of(service)["containers"]
    values = image_environment()
    for source in container["envFrom"]:
        values |= rendered.get_exactly("ConfigMap", source["configMapRef"]["name"])["data"]
    own = container.get("env", [])
    return values | {each["name"]: each["value"] for each in own if "value" in each}


def mounted_keys(rendered: RenderedOverlay, service: Object) -> dict[str, tuple[str, str]]:
    """Return the Secret and key of each path below /run/secrets."""
    pod = pod_of(service)
    [container] = pod["containers"]
    mounts = {each["name"]: each["mountPath"] for each in container["volumeMounts"]}
    files: dict[str, tuple[str, str]] = {}
    for volume in pod["volumes"]:
        if volume["name"] not in mounts:  # a sidecar's
            continue
        sources = [volume["secret"]] if "secret" in volume else []
        sources += [
            {"secretName": each["secret"]["name"], **each["secret"]}
            for each in volume.get("projected", {}).get("sources", [])
        ]
        for source in sources:
            keys = [each["key"] for each in source.get("items", [])] or list(SAMPLES)
            for secret in rendered.of_kind("Secret"):
                if secret["metadata"]["name"] == source["secretName"]:
                    keys = list(secret["data"])
            for key in keys:
                files[f"{mounts[volume['name']]}/{key}"] = (source["secretName"], key)
    return files


def content(rendered: RenderedOverlay, secret: str, key: str) -> str:
    for each in rendered.of_kind("Secret"):
        if each["metadata"]["name"] == secret:
            return b64decode(each["data"][key]).decode()
    return SAMPLES[key]


def settings_of(service: str) -> type[SharedSettings]:
    module = import_module(f"swap_{service.replace('-', '_')}.settings")
    kind: type[SharedSettings] = getattr(module, CLASSES[service])
    return kind


def set_environment(
    values: Mapping[str, str], files: Mapping[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in values.items():
        monkeypatch.setenv(name, files.get(value, value))


@pytest.mark.parametrize("name", SERVICES)
class TestSettings:
    def test_of_a_service_load_from_its_pod_s_environment(
        self, overlay: RenderedOverlay, name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        service = overlay.get("Deployment", name)
        files = {}
        for number, (path, (secret, key)) in enumerate(mounted_keys(overlay, service).items()):
            here = tmp_path / str(number)
            here.write_text(content(overlay, secret, key))
            files[path] = str(here)
        values = environment_of(overlay, service)
        for value in values.values():
            assert not value.startswith("/run/") or value in files, value
        set_environment(values, files, monkeypatch)

        settings = settings_of(name)()  # type: ignore[call-arg]  # the environment fills it

        group = getattr(settings, name.replace("-", "_"))
        assert group.internal_port == 8081
        assert group.host == "0.0.0.0"
        if overlay.overlay != "dev" and name in ON_KAFKA:
            assert settings.kafka.username == name
            assert settings.kafka.security_protocol == "SASL_SSL"

    def test_are_all_known(self, overlay: RenderedOverlay, name: str) -> None:
        environment = environment_of(overlay, overlay.get("Deployment", name))

        unknown = {
            each
            for each in environment
            if each not in KNOWN and each.removesuffix("_FILE") not in KNOWN
        }
        assert not unknown


def test_every_key_of_a_secret_is_documented() -> None:
    page = (ROOT / "docs/production.md").read_text()
    production = RenderedOverlay.of("production")
    used = {
        path.rpartition("/")[2]
        for service in production.services()
        for path in environment_of(production, service).values()
        if path.startswith("/run/secrets/swap/")
    }

    assert {key for key in used if f"`{key}`" not in page} == set()


@pytest.mark.parametrize("name", ["staging", "production"])
def test_catalogue_of_an_overlay_loads(name: str) -> None:
    file = ROOT / "deploy/k8s/overlays" / name / "catalogue.yaml"

    assert load_catalogue(file, checksum_address).networks


def test_api_trusts_the_dashboards_pods_and_has_the_pay_page_url(
    overlay: RenderedOverlay,
) -> None:
    """Payers are counted separately only if the dashboard's pods are trusted proxies."""
    api = environment_of(overlay, overlay.get("Deployment", "api"))
    dashboard = environment_of(overlay, overlay.get("Deployment", "dashboard"))
    proxies = [ip_network(proxy) for proxy in json.loads(api["SWAP_API__TRUSTED_PROXIES"])]

    assert any(ip_address("10.244.1.9") in proxy for proxy in proxies)
    assert api["SWAP_API__PAY_PAGE_URL"] == f"{dashboard['SWAP_DASHBOARD__PUBLIC_URL']}/pay"
    assert api["SWAP_API__PAY_LINK_KEYS_FILE"] == "/run/secrets/swap/pay-link-keys"
