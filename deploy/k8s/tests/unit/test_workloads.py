"""Every pod of every overlay: its probes, limits, rights, images and secrets."""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Iterator, Mapping
from ipaddress import IPv6Network, ip_address, ip_network
from typing import Any
from urllib.parse import urlsplit

import kubernetes_validate
import pytest

from deploy.k8s.tests.rendered_overlay import (
    NAME,
    ON_KAFKA,
    READS_CHAINS,
    SERVICES,
    Object,
    RenderedOverlay,
    containers_of,
    full_name,
    labels_of,
    pod_of,
)
from deploy.k8s.tests.unit.test_settings import environment_of
from swap_notifier.domain.addresses import may_dial
from swap_runtime.http.internal import STOP_SECONDS
from swap_runtime.settings import ServiceGroup, WatchdogSettings

OWN_USER = 10001  # of the Dockerfile
WRITES_ITS_ROOT = {"kafka"}  # the image writes its configuration at its start; development only
INSIDE = ("10.1.2.3", "172.16.9.9", "192.168.1.1", "169.254.169.254", "100.64.0.1", "127.0.0.1")


def test_every_builtin_object_is_valid(overlay: RenderedOverlay) -> None:
    version = kubernetes_validate.latest_version()
    unknown = set()
    for each in overlay.objects:
        try:
            kubernetes_validate.validate(each, version, strict=True)
        except kubernetes_validate.SchemaNotFoundError:
            unknown.add(each["apiVersion"].partition("/")[0])

    assert all("." in group and not group.endswith("k8s.io") for group in unknown - {GATEWAY})


GATEWAY = "gateway.networking.k8s.io"


def test_the_namespace_enforces_the_restricted_profile(overlay: RenderedOverlay) -> None:
    [namespace] = overlay.of_kind("Namespace")

    assert namespace["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "restricted"
    assert {
        each["metadata"].get("namespace") for each in overlay.objects if each is not namespace
    } == {namespace["metadata"]["name"]}


def test_every_pod_is_restricted(overlay: RenderedOverlay) -> None:
    for workload in overlay.workloads():
        pod, name = pod_of(workload), full_name(workload)
        context = pod["securityContext"]
        assert context["runAsNonRoot"] is True, name
        assert isinstance(context["runAsUser"], int), name
        assert context["runAsUser"] > 0, name
        assert context["seccompProfile"] == {"type": "RuntimeDefault"}, name
        assert not {"hostNetwork", "hostPID", "hostIPC"} & set(pod), name
        assert not any("hostPath" in volume for volume in pod.get("volumes", [])), name
        for container in containers_of(workload):
            own = container["securityContext"]
            assert own["allowPrivilegeEscalation"] is False, name
            assert own["capabilities"] == {"drop": ["ALL"]}, name
            may_write = workload["metadata"]["name"] in WRITES_ITS_ROOT
            assert own["readOnlyRootFilesystem"] is not may_write, name


def test_the_services_run_as_the_image_s_user_without_an_account(overlay: RenderedOverlay) -> None:
    for service in overlay.services():
        pod = pod_of(service)
        assert pod["securityContext"]["runAsUser"] == OWN_USER
        assert pod["serviceAccountName"] == service["metadata"]["name"]
        assert pod["automountServiceAccountToken"] is False
        assert overlay.get("ServiceAccount", service["metadata"]["name"])


def test_every_container_has_requests_and_limits(overlay: RenderedOverlay) -> None:
    for workload in overlay.workloads():
        for container in containers_of(workload):
            for kind in ("requests", "limits"):
                assert set(container["resources"][kind]) == {"cpu", "memory"}, full_name(workload)


def test_images_are_pinned_to_a_tag_and_pulled_only_when_missing(overlay: RenderedOverlay) -> None:
    for workload in overlay.workloads():
        for container in containers_of(workload):
            name, _, tag = container["image"].rpartition(":")
            assert name, container["image"]
            assert tag not in ("", "latest"), container["image"]
            assert container["imagePullPolicy"] == "IfNotPresent"


def test_production_names_every_image_by_its_digest() -> None:
    production = RenderedOverlay.of("production")
    found = {
        container["image"]
        for workload in production.workloads()
        for container in containers_of(workload)
    } | {cluster["spec"]["imageName"] for cluster in production.of_kind("Cluster")}

    assert found
    assert not [image for image in found if not re.search("@sha256:[0-9a-f]{64}$", image)]


def test_permanent_pods_have_probes(overlay: RenderedOverlay) -> None:
    for workload in overlay.of_kind("Deployment", "StatefulSet"):
        for container in pod_of(workload)["containers"]:
            assert {"startupProbe", "livenessProbe", "readinessProbe"} <= set(container)


def test_liveness_probe_depends_only_on_the_process(overlay: RenderedOverlay) -> None:
    for service in overlay.services():
        [container] = pod_of(service)["containers"]
        live = {"path": "/livez", "port": "internal"}
        assert container["startupProbe"]["httpGet"] == live
        assert container["livenessProbe"]["httpGet"] == live
        assert container["readinessProbe"]["httpGet"] == {"path": "/readyz", "port": "internal"}


def test_grace_period_is_longer_than_the_stop_of_the_process(overlay: RenderedOverlay) -> None:
    for service in overlay.services():
        pod = pod_of(service)
        drain = environment_of(overlay, service)["SWAP_WATCHDOG__DRAIN"]
        watchdog = WatchdogSettings.model_validate({"drain": drain})
        assert watchdog.drain  # requests still come while endpoints lose the pod
        needed = watchdog.drain + watchdog.stop_timeout
        assert pod["terminationGracePeriodSeconds"] >= needed.total_seconds() + STOP_SECONDS


def test_every_service_has_a_disruption_budget_of_one_pod(overlay: RenderedOverlay) -> None:
    for service in overlay.services():
        name = service["metadata"]["name"]
        budget = overlay.get("PodDisruptionBudget", name)["spec"]
        assert budget["maxUnavailable"] == 1
        assert budget["selector"]["matchLabels"].items() <= labels_of(service).items()
        assert service["spec"]["strategy"]["rollingUpdate"] == {"maxSurge": 1, "maxUnavailable": 0}
        assert pod_of(service)["topologySpreadConstraints"]


def test_every_deployment_has_a_budget_that_lets_a_drain_pass(overlay: RenderedOverlay) -> None:
    for deployment in overlay.of_kind("Deployment"):
        budget = overlay.get("PodDisruptionBudget", deployment["metadata"]["name"])["spec"]
        assert budget["maxUnavailable"] == 1
        assert budget["selector"]["matchLabels"].items() <= labels_of(deployment).items()


def test_services_wait_for_their_migrations(overlay: RenderedOverlay) -> None:
    for service in overlay.services():
        [waits] = [each for each in pod_of(service)["initContainers"] if "args" in each]
        name = service["metadata"]["name"]
        assert [*waits["command"], *waits["args"]][2:] == [
            "swap_runtime.postgres.migrate",
            "--wait",
            f"services/{name}/migrations",
        ]


def test_services_that_read_chains_compare_the_catalogue_before_they_start(
    overlay: RenderedOverlay,
) -> None:
    for service in overlay.services():
        steps = [each for each in pod_of(service)["initContainers"] if each["name"] == "contracts"]
        if service["metadata"]["name"] not in READS_CHAINS:
            assert not steps
            continue
        [contracts] = steps
        assert contracts["command"][2:] == ["swap_k8s", "contracts", "--reachable"]
        mounted = {each["mountPath"] for each in contracts["volumeMounts"]}
        assert {"/etc/swap", "/run/secrets/swap"} <= mounted


def test_the_release_checks_contracts_then_migrates_every_service(overlay: RenderedOverlay) -> None:
    job = overlay.get("Job", "release")
    steps = {each["name"]: each for each in containers_of(job)}

    assert list(steps) == ["contracts", "roles", "migrations", "invariants"]
    assert steps["migrations"]["args"] == [f"services/{name}/migrations" for name in SERVICES]


def test_the_release_reads_database_urls_and_no_other_secret_of_a_service(
    overlay: RenderedOverlay,
) -> None:
    job = overlay.get("Job", "release")
    [volume] = [each for each in pod_of(job)["volumes"] if "projected" in each]
    sources = [each["secret"] for each in volume["projected"]["sources"]]
    generated = {each["metadata"]["name"] for each in overlay.of_kind("Secret")}
    [migrations] = [each for each in containers_of(job) if each["name"] == "migrations"]
    paths = {each["name"]: each["value"] for each in migrations["env"]}

    for name, source in zip(SERVICES, sources, strict=True):
        assert source["items"] == [{"key": "database-url", "path": name}]
        assert source["name"] in generated or source["name"] == f"{name}-secrets"
        variable = f"SWAP_{name.upper().replace('-', '_')}__DATABASE_URL_FILE"
        assert paths[variable] == f"/run/secrets/swap/{name}"
    for step in containers_of(job):
        is_migrating = step is migrations
        assert is_migrating == (volume["name"] in {each["name"] for each in step["volumeMounts"]})


def test_passwords_are_no_command_line_arguments(overlay: RenderedOverlay) -> None:
    for workload in overlay.workloads():
        for container in containers_of(workload):
            arguments = " ".join([*container.get("command", []), *container.get("args", [])])
            for variable in container.get("env", []):
                is_password = "PASSWORD" in variable["name"]
                assert not is_password or f"$({variable['name']})" not in arguments
    for secret in overlay.of_kind("Secret"):
        if secret["metadata"]["name"].startswith("postgres-admin"):
            url = urlsplit(b64decode(secret["data"]["url"]).decode())
            assert (url.scheme, url.password) == ("postgresql", None)


def _environment(workload: Object) -> Iterator[Mapping[str, Any]]:
    for container in containers_of(workload):
        yield from container.get("env", [])


SECRET_WORDS = ("PASSWORD", "TOKEN", "SECRET", "PEPPER", "KEY", "DATABASE_URL", "ADMIN_URL")


def test_secrets_are_references_and_never_values(overlay: RenderedOverlay) -> None:
    for workload in overlay.workloads():
        for variable in _environment(workload):
            is_secret = any(word in variable["name"] for word in SECRET_WORDS)
            if is_secret and not variable["name"].endswith("_FILE"):
                assert "secretKeyRef" in variable.get("valueFrom", {}), variable["name"]
    allowed = ("SIGNER_KMS_KEYS", "KEY_HEADERS")  # names of keys and of headers
    for settings in overlay.of_kind("ConfigMap"):
        for name, value in settings.get("data", {}).items():
            if any(word in name for word in SECRET_WORDS) and not name.endswith(allowed):
                assert name.endswith("_FILE"), name
                assert value.startswith("/run/secrets/"), name


@pytest.mark.parametrize("name", ["staging", "production"])
def test_only_development_has_secrets_in_the_repository(name: str) -> None:
    assert not list(RenderedOverlay.of(name).of_kind("Secret"))


def test_traffic_is_denied_by_default(overlay: RenderedOverlay) -> None:
    deny = overlay.get("NetworkPolicy", "default-deny")["spec"]
    assert deny == {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}
    for workload in overlay.workloads():
        own = [each["metadata"]["name"] for each in overlay.policies_for(labels_of(workload))]
        assert workload["metadata"]["labels"][NAME] in own, full_name(workload)


def test_no_egress_rule_is_open_to_everything(overlay: RenderedOverlay) -> None:
    for policy in overlay.of_kind("NetworkPolicy"):
        for rule in policy["spec"].get("egress", []):
            assert rule.get("to"), policy["metadata"]["name"]


def test_policies_name_no_namespace_of_a_specific_cluster(overlay: RenderedOverlay) -> None:
    for policy in overlay.of_kind("NetworkPolicy"):
        names = re.findall(r"kubernetes.io/metadata.name': '([^']+)'", str(policy))
        expected = ["kube-system", "openshift-dns"] if policy["metadata"]["name"] == "dns" else []
        assert names == expected


def test_dns_is_reachable_in_kubernetes_and_openshift(overlay: RenderedOverlay) -> None:
    rules = overlay.get("NetworkPolicy", "dns")["spec"]["egress"]

    assert [{port["port"] for port in rule["ports"]} for rule in rules] == [{53}, {53}, {5353}]
    for rule in rules:
        assert {port["protocol"] for port in rule["ports"]} == {"UDP", "TCP"}


def test_only_services_that_read_chains_reach_nodes(overlay: RenderedOverlay) -> None:
    reaching = {
        workload["metadata"]["name"]
        for workload in overlay.workloads()
        if labels_of(workload).get("swap.access/nodes") == "true"
    }

    assert reaching - {"chains", "release"} == set(READS_CHAINS)
    assert overlay.get("NetworkPolicy", "to-nodes")["spec"]["policyTypes"] == ["Egress"]


@pytest.mark.parametrize(
    ("policy", "reaching"),
    [("to-kms", {"settler"}), ("to-nodes", {*READS_CHAINS, "release"})],
)
def test_production_opens_kms_and_nodes_by_address_to_those_that_need_them(
    policy: str, reaching: set[str]
) -> None:
    production = RenderedOverlay.of("production")
    found = production.get("NetworkPolicy", policy)
    peers = [peer for rule in found["spec"]["egress"] for peer in rule["to"]]

    assert peers
    assert [peer for peer in peers if set(peer) != {"ipBlock"}] == []
    assert {
        workload["metadata"]["name"]
        for workload in production.workloads()
        if found in production.policies_for(labels_of(workload))
    } == reaching


GATEWAYS = {"namespaceSelector": {"matchLabels": {"swap.access/gateway": "true"}}}
DASHBOARD = {"podSelector": {"matchLabels": {NAME: "dashboard"}}}


@pytest.mark.parametrize(
    ("name", "allowed"), [("api", [GATEWAYS, DASHBOARD]), ("dashboard", [GATEWAYS])]
)
def test_only_the_gateway_and_the_dashboard_reach_a_public_port(
    overlay: RenderedOverlay, name: str, allowed: list[Object]
) -> None:
    labels = labels_of(overlay.get("Deployment", name))
    peers = [
        peer
        for policy in overlay.policies_for(labels)
        for rule in policy["spec"].get("ingress", [])
        if 8080 in [port["port"] for port in rule["ports"]]
        for peer in rule["from"]
    ]

    assert peers == allowed


def test_dashboard_reaches_only_its_database_and_the_api(overlay: RenderedOverlay) -> None:
    dashboard = overlay.get("Deployment", "dashboard")
    access = {each for each in labels_of(dashboard) if each.startswith("swap.access/")}
    [way_out] = [
        each for each in overlay.policies_for({NAME: "dashboard"}) if "egress" in each["spec"]
    ]
    volumes = {each["name"] for each in pod_of(dashboard)["volumes"]}

    assert access - {"swap.access/traces"} == {"swap.access/postgres"}
    assert way_out["spec"]["egress"] == [
        {"to": [{"podSelector": {"matchLabels": {NAME: "api"}}}], "ports": [{"port": 8080}]}
    ]
    assert not volumes & {"catalogue", "kafka"}


def test_services_on_kafka_have_the_catalogue(overlay: RenderedOverlay) -> None:
    for name in ON_KAFKA:
        [container] = pod_of(overlay.get("Deployment", name))["containers"]
        assert "/etc/swap" in {each["mountPath"] for each in container["volumeMounts"]}


def _reaches(policies: list[Object], address: str) -> bool:
    target = ip_address(address)
    blocks = [
        peer["ipBlock"]
        for policy in policies
        for rule in policy["spec"].get("egress", [])
        for peer in rule.get("to", [])
        if "ipBlock" in peer
    ]

    def holds(cidr: str) -> bool:
        network = ip_network(cidr)
        return isinstance(network, IPv6Network) == (target.version == 6) and target in network

    return any(
        holds(block["cidr"]) and not any(holds(cidr) for cidr in block.get("except", []))
        for block in blocks
    )


def test_notifier_reaches_only_public_addresses(overlay: RenderedOverlay) -> None:
    policies = list(overlay.policies_for({NAME: "notifier"}))

    for address in ("8.8.8.8", "1.1.1.1", "2606:4700::1111"):
        assert may_dial(address, loopback=False)
        assert _reaches(policies, address), address
    for address in (*INSIDE, "168.63.129.16", "fc00::1", "fe80::1", "::1", "fd00:ec2::254"):
        assert not may_dial(address, loopback=False)
        assert not _reaches(policies, address), address


def test_only_the_notifier_reaches_the_internet(overlay: RenderedOverlay) -> None:
    for service in overlay.services():
        name = service["metadata"]["name"]
        policies = list(overlay.policies_for(labels_of(service)))
        assert _reaches(policies, "8.8.8.8") is (name == "notifier"), name


def test_all_connections_fit_into_postgres(operator_overlay: RenderedOverlay) -> None:
    """No pooler shares them, because services use LISTEN, which needs a session."""
    scaled = {
        each["metadata"]["name"]: each["spec"] for each in operator_overlay.of_kind("ScaledObject")
    }
    pods = sum(
        scaled[name]["maxReplicaCount"] if name in scaled else service["spec"]["replicas"]
        for service in operator_overlay.services()
        for name in [service["metadata"]["name"]]
    )
    each_pod = ServiceGroup.model_fields["database_pool_size"].default + 1  # and one for LISTEN
    parameters = operator_overlay.get("Cluster", "postgres")["spec"]["postgresql"]["parameters"]

    assert pods * each_pod < int(parameters["max_connections"])
