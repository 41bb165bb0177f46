"""The overlays' resources for Strimzi, CloudNativePG, External Secrets and Gateway API."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from deploy.k8s.tests.rendered_overlay import Object, RenderedOverlay, pod_of
from swap_api.swaps.usecases.stream_time import OPEN_FOR
from swap_runtime.http.http_limits import EXCHANGE_SECONDS_MAX

OPERATORS_SECRETS = {"postgres-ca", "kafka-cluster-ca-cert"}  # of CloudNativePG and of Strimzi


def secrets_named(one: object) -> Iterator[str]:
    """Yield the Secrets in volumes, variables and custom resources."""
    if isinstance(one, list):
        for each in one:
            yield from secrets_named(each)
    if not isinstance(one, dict):
        return
    for key, value in one.items():
        if key in ("secretName",):
            yield value
        elif key in ("secretKeyRef", "superuserSecret", "secret") and "name" in value:
            yield value["name"]
        elif key == "s3Credentials":
            yield from (each["name"] for each in value.values())
        yield from secrets_named(value)


def test_every_named_secret_is_provided(operator_overlay: RenderedOverlay) -> None:
    made = {each["spec"]["target"]["name"] for each in operator_overlay.of_kind("ExternalSecret")}
    made |= {each["metadata"]["name"] for each in operator_overlay.of_kind("KafkaUser")}
    needed = {name for each in operator_overlay.objects for name in secrets_named(each)}

    assert needed >= {"api-secrets", "postgres-superuser", "postgres-backup-store", "api"}
    assert needed - made == OPERATORS_SECRETS


def test_brokers_may_write_their_volumes(operator_overlay: RenderedOverlay) -> None:
    for pool in operator_overlay.of_kind("KafkaNodePool"):
        assert pool["spec"]["template"]["pod"]["securityContext"]["fsGroup"] == 0


def test_failover_requires_synchronous_replication(operator_overlay: RenderedOverlay) -> None:
    synchronous = operator_overlay.get("Cluster", "postgres")["spec"]["postgresql"]["synchronous"]

    assert synchronous["dataDurability"] == "required"
    assert synchronous["failoverQuorum"] is True


def test_restored_cluster_reads_one_archive_and_writes_another(
    operator_overlay: RenderedOverlay,
) -> None:
    before = operator_overlay.get("Cluster", "postgres")["spec"]
    restored = RenderedOverlay.of("../tests/restored").get("Cluster", "postgres")["spec"]
    [source] = restored["externalClusters"]
    [archive] = restored["plugins"]
    written = before["plugins"][0]["parameters"].get("serverName", "postgres")

    assert restored["bootstrap"] == {
        "recovery": {"source": source["name"], "database": "swap", "owner": "swap"}
    }
    assert source["plugin"]["parameters"]["serverName"] == written
    assert archive["parameters"]["serverName"] != written
    stores = {one["parameters"]["barmanObjectName"] for one in (source["plugin"], archive)}
    assert stores == {operator_overlay.get("ObjectStore", "postgres-backups")["metadata"]["name"]}
    # Each write is on a second instance, as before.
    assert restored["postgresql"]["synchronous"] == before["postgresql"]["synchronous"]


def mounts_authority(container: Object) -> bool:
    return "/run/secrets/postgres" in {each["mountPath"] for each in container["volumeMounts"]}


def test_pods_that_connect_to_postgres_have_its_certificate_authority(
    external: RenderedOverlay,
) -> None:
    for service in external.services():
        pod = pod_of(service)
        assert mounts_authority(pod["containers"][0])
        [migrations] = [each for each in pod["initContainers"] if each["name"] == "migrations"]
        assert mounts_authority(migrations)
    job = pod_of(external.get("Job", "release"))
    steps = [each["name"] for each in job["initContainers"]]
    assert steps[:2] == ["contracts", "roles"]
    assert all(map(mounts_authority, [*job["initContainers"][1:], *job["containers"]]))


@pytest.mark.parametrize("name", ["api", "dashboard"])
def test_gateway_routes_to_services_and_policies_admit_it(
    operator_overlay: RenderedOverlay, name: str
) -> None:
    gateway = RenderedOverlay.of(f"{operator_overlay.overlay}/gateway")
    [namespace] = gateway.of_kind("Namespace")
    [services] = operator_overlay.of_kind("Namespace")
    route = operator_overlay.get("HTTPRoute", name)["spec"]
    [parent] = route["parentRefs"]
    listeners = gateway.get("Gateway", parent["name"])["spec"]["listeners"]
    [listener] = [each for each in listeners if each["name"] == parent["sectionName"]]

    assert namespace["metadata"]["name"] != services["metadata"]["name"]
    assert namespace["metadata"]["labels"]["swap.access/gateway"] == "true"
    assert parent["namespace"] == namespace["metadata"]["name"]
    assert route["hostnames"] == [listener["hostname"]]
    allowed = listener["allowedRoutes"]["namespaces"]["selector"]["matchLabels"]
    assert allowed == {"kubernetes.io/metadata.name": services["metadata"]["name"]}
    [certificate] = listener["tls"]["certificateRefs"]
    assert gateway.get("ExternalSecret", certificate["name"])
    [backend] = [each for rule in route["rules"] for each in rule["backendRefs"]]
    assert (backend["name"], backend["port"]) == (name, 8080)


@pytest.mark.parametrize("name", ["api", "dashboard"])
def test_the_gateway_ends_no_exchange_before_its_service(
    operator_overlay: RenderedOverlay, name: str
) -> None:
    limits = [
        rule["timeouts"]["request"]
        for rule in operator_overlay.get("HTTPRoute", name)["spec"]["rules"]
    ]

    assert min(int(each.removesuffix("s")) for each in limits) > EXCHANGE_SECONDS_MAX
    assert OPEN_FOR.total_seconds() < EXCHANGE_SECONDS_MAX  # of an event stream


def test_dashboard_settings_have_the_address_of_its_route(
    operator_overlay: RenderedOverlay,
) -> None:
    settings = operator_overlay.get("ConfigMap", "dashboard-settings")["data"]
    [host] = operator_overlay.get("HTTPRoute", "dashboard")["spec"]["hostnames"]
    [of_the_api] = operator_overlay.get("HTTPRoute", "api")["spec"]["hostnames"]

    assert settings["SWAP_DASHBOARD__PUBLIC_URL"] == f"https://{host}"
    assert settings["SWAP_DASHBOARD__API_PUBLIC_URL"] == f"https://{of_the_api}"
