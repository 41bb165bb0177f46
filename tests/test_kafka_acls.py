"""The ACLs of Kafka match the code: no service has too many rights or too few."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from swap_contracts import topics
from swap_contracts.envelope import Topic
from swap_runtime.messaging.sources import OUTBOX_SCHEMAS
from swap_stack.acls import Acl, load_acls

ROOT = Path(__file__).parents[1]
TOPICS = {
    constant: value.name for constant, value in vars(topics).items() if isinstance(value, Topic)
}


def consumed() -> Iterator[tuple[str, str, str]]:
    """Yield service, group and topic of each call of `consume` in a service."""
    for file in sorted(ROOT.glob("services/*/src/*/**/*.py")):
        service = file.relative_to(ROOT).parts[1].replace("-", "_")
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "consume":
                group = next(each.value for each in node.keywords if each.arg == "consumer_name")
                yield service, ast.literal_eval(group), TOPICS[ast.unparse(node.args[1])]


def needed() -> Iterator[Acl]:
    for topic, service in OUTBOX_SCHEMAS.items():
        yield Acl(service, "Create", "topic", topic)
        yield Acl(service, "Write", "topic", topic)
    for service, group, topic in consumed():
        yield Acl(service, "Read", "topic", topic)
        yield Acl(service, "Read", "group", f"{group}.{topic}")


def test_the_acls_are_what_the_code_needs() -> None:
    assert set(load_acls(ROOT)) == set(needed())
