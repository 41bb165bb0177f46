"""Topics, users and rights on Kafka match the code."""

from __future__ import annotations

from deploy.k8s.tests.rendered_overlay import ON_KAFKA, ROOT, RenderedOverlay
from swap_runtime.messaging.sources import OUTBOX_SCHEMAS
from swap_runtime.messaging.topics import RETENTION_MS
from swap_runtime.settings import KafkaSettings
from swap_stack.acls import Acl, load_acls

LAG = "kafka-lag"


def rights(rendered: RenderedOverlay, name: str) -> set[Acl]:
    user = rendered.get("KafkaUser", name)["spec"]
    assert user["authentication"] == {"type": "scram-sha-512"}
    assert user["authorization"]["type"] == "simple"
    found = set()
    for rule in user["authorization"]["acls"]:
        resource = rule["resource"]
        assert resource["patternType"] == "literal"
        for operation in rule["operations"]:
            principal = name.replace("-", "_")  # names in a cluster have no underscore
            found.add(Acl(principal, operation, resource["type"], resource["name"]))
    return found


def test_every_topic_of_the_code_has_a_resource(operator_overlay: RenderedOverlay) -> None:
    topics = list(operator_overlay.of_kind("KafkaTopic"))

    assert {each["metadata"]["name"] for each in topics} == set(OUTBOX_SCHEMAS)
    for topic in topics:
        spec = topic["spec"]
        partitions = KafkaSettings.model_fields["topic_partitions"].default
        assert (spec["partitions"], spec["replicas"]) == (partitions, 3)
        assert spec["config"]["retention.ms"] == str(RETENTION_MS)
        assert spec["config"]["min.insync.replicas"] == "2"


def test_services_have_exactly_the_listed_kafka_rights(operator_overlay: RenderedOverlay) -> None:
    found = {acl for name in ON_KAFKA for acl in rights(operator_overlay, name)}

    assert found == set(load_acls(ROOT))


def test_other_users_have_no_kafka_rights(operator_overlay: RenderedOverlay) -> None:
    users = {each["metadata"]["name"] for each in operator_overlay.of_kind("KafkaUser")}

    assert users == {*ON_KAFKA, LAG}
    assert {acl.operation for acl in rights(operator_overlay, LAG)} == {"Describe"}


def test_brokers_create_no_topics_and_require_tls(
    operator_overlay: RenderedOverlay,
) -> None:
    kafka = operator_overlay.get("Kafka", "kafka")["spec"]["kafka"]

    assert kafka["config"]["auto.create.topics.enable"] == "false"
    assert kafka["authorization"] == {"type": "simple"}
    [listener] = kafka["listeners"]
    assert listener["tls"] is True
    assert listener["authentication"] == {"type": "scram-sha-512"}
    assert {each["metadata"]["name"] for each in operator_overlay.of_kind("KafkaNodePool")} == {
        "brokers",
        "controllers",
    }


def test_replicas_scale_with_the_lag_up_to_the_partitions(
    operator_overlay: RenderedOverlay,
) -> None:
    scaled = {
        each["metadata"]["name"]: each["spec"] for each in operator_overlay.of_kind("ScaledObject")
    }
    partitions = KafkaSettings.model_fields["topic_partitions"].default

    assert set(scaled) == set(ON_KAFKA) - {"chain-watcher"}
    groups = {acl.name for acl in load_acls(ROOT) if acl.kind == "group"}
    for name, spec in scaled.items():
        assert spec["minReplicaCount"] >= 2
        assert spec["maxReplicaCount"] == partitions
        assert "replicas" not in operator_overlay.get("Deployment", name)["spec"]
        watched = {trigger["metadata"]["consumerGroup"] for trigger in spec["triggers"]}
        assert watched == {group for group in groups if group.startswith(f"{name}.")}
        [namespace] = operator_overlay.of_kind("Namespace")
        for trigger in spec["triggers"]:
            where = f"kafka-kafka-bootstrap.{namespace['metadata']['name']}.svc:9093"
            assert trigger["metadata"]["bootstrapServers"] == where
