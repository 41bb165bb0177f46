"""Write docs/messages.md and a JSON schema per topic from `swap_contracts.topics`."""

import json
import re
from pathlib import Path
from typing import Any

from generating import write_or_check

from swap_contracts import topics
from swap_contracts.envelope import Topic
from swap_contracts.topics import TOPICS

SCHEMAS = "libs/contracts/src/swap_contracts/schemas"
HEAD = """# Messages

Generated from `libs/contracts/src/swap_contracts` by `make generate`. Every message is an envelope
(`message_id`, `type`, `key`, `occurred_at`, `trace_id`) around a body. Messages of one key arrive
in order; a body that can change carries a version, and a consumer ignores one that is not newer.
Amounts are decimal digits in base units. Twelve partitions each.

The decision and the SQL of each: [in one swap](architecture.md#one-swap), or
[in other messages](architecture.md#other-messages-and-failure-paths).
"""


def schema(topic: Topic[Any]) -> dict[str, Any]:
    return topic.envelope.model_json_schema()


def constants(topic: Topic[Any]) -> tuple[str, ...]:
    """Return every way in which a handler may ask for the topic's messages."""
    known = vars(topics).items()
    return tuple(n for n, value in known if isinstance(value, Topic) and value.name == topic.name)


def mentions(path: Path, topic: Topic[Any]) -> bool:
    return any(re.search(rf"\b{name}\b", path.read_text()) for name in constants(topic))


def senders(topic: Topic[Any]) -> list[str]:
    """Return the services that put the topic's messages into their outbox."""
    files = sorted(Path("services").glob("*/src/**/*.py"))
    sending = [file for file in files if mentions(file, topic) and "Outgoing" in file.read_text()]
    return list(dict.fromkeys(file.parts[1] for file in sending))


def handlers(topic: Topic[Any]) -> list[str]:
    """Return a link to each service's handler file that subscribes to the topic."""
    files = sorted(Path("services").glob("*/src/**/handlers/*.py"))
    return [f"[{file.parts[1]}](../{file})" for file in files if mentions(file, topic)]


def message_types(topic: Topic[Any]) -> frozenset[str]:
    """Return the bodies that a message may have; the other definitions are parts of them."""
    body = json.dumps(schema(topic)["properties"]["body"])
    return frozenset(re.findall(r'"#/\$defs/(\w+)"', body))


def section(topic: Topic[Any]) -> str:
    described = {
        name: part["description"].splitlines()[0]
        for name, part in sorted(schema(topic).get("$defs", {}).items())
        if "description" in part and name in part.get("title", name)
    }
    messages = message_types(topic)
    lines = [f"## `{topic.name}`", "", "- from: " + ", ".join(senders(topic))]
    lines += ["- to: " + ", ".join(handlers(topic))]
    lines += [f"- schema: [{topic.name}.json](../{SCHEMAS}/{topic.name}.json)", ""]
    lines += [f"**{name}**: {text}\n" for name, text in described.items() if name in messages]
    parts = [f"- `{name}`: {text}" for name, text in described.items() if name not in messages]
    if parts:
        lines += ["Parts of bodies:", "", *parts, ""]
    return "\n".join(lines)


def main() -> None:
    page = "\n".join([HEAD, *(section(topic) for topic in TOPICS)])
    schemas = {
        f"{SCHEMAS}/{topic.name}.json": json.dumps(schema(topic), indent=2, sort_keys=True) + "\n"
        for topic in TOPICS
    }
    write_or_check({"docs/messages.md": page, **schemas})


if __name__ == "__main__":
    main()
