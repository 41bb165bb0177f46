"""Write docs/messages.md and a JSON schema per topic from `swap_contracts.topics`."""

import json
from pathlib import Path
from typing import Any

from generating import generated

from swap_contracts import topics
from swap_contracts.envelope import Topic
from swap_contracts.topics import TOPICS

SCHEMAS = "libs/contracts/src/swap_contracts/schemas"
# Who sends and who listens.
ROUTES = {
    "swap.requests.v1": ("api", ["settler"]),
    "deposit-target.assigned.v1": ("nobody yet", ["chain-watcher"]),
    "deposit.hinted.v1": ("nobody yet", ["chain-watcher"]),
    "deposit.changed.v1": ("chain-watcher", ["settler"]),
    "payout.changed.v1": ("chain-watcher", ["settler"]),
    "swap.changed.v1": ("settler", ["api", "notifier", "quoter"]),
    "inventory.changed.v1": ("settler", ["quoter"]),
}
HEAD = """# Messages

Generated from `libs/contracts/src/swap_contracts` by `make generate`. Every message is an envelope
(`message_id`, `type`, `key`, `occurred_at`, `trace_id`) around a body. Messages of one key arrive
in order; a body that can change carries a version, and a consumer ignores one that is not newer.
Amounts are decimal digits in base units. Twelve partitions each.
"""


def schema(topic: Topic[Any]) -> dict[str, Any]:
    return topic.envelope.model_json_schema()


def constants(topic: Topic[Any]) -> tuple[str, ...]:
    """Return every way in which a handler may ask for the topic's messages."""
    known = vars(topics).items()
    return tuple(n for n, value in known if isinstance(value, Topic) and value.name == topic.name)


def handler(service: str, topic: Topic[Any]) -> str:
    """Return a link to the one handler file of the service that subscribes to the topic."""
    files = sorted(Path(f"services/{service}").glob("src/*/handlers/*.py"))
    wanted = constants(topic)
    file = next(path for path in files if any(name in path.read_text() for name in wanted))
    return f"[{service}](../{file})"


def section(topic: Topic[Any]) -> str:
    producer, consumers = ROUTES[topic.name]
    bodies = [
        (name, part)
        for name, part in sorted(schema(topic).get("$defs", {}).items())
        if "description" in part and name in part.get("title", name)
    ]
    lines = [f"## `{topic.name}`", "", f"- from: {producer}"]
    lines += ["- to: " + ", ".join(handler(name, topic) for name in consumers)]
    lines += [f"- schema: [{topic.name}.json](../{SCHEMAS}/{topic.name}.json)", ""]
    lines += [f"**{name}**: {part['description'].splitlines()[0]}\n" for name, part in bodies]
    return "\n".join(lines)


def main() -> None:
    page = "\n".join([HEAD, *(section(topic) for topic in TOPICS)])
    schemas = {
        f"{SCHEMAS}/{topic.name}.json": json.dumps(schema(topic), indent=2, sort_keys=True) + "\n"
        for topic in TOPICS
    }
    generated({"docs/messages.md": page, **schemas})


if __name__ == "__main__":
    main()
