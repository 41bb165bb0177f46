"""The data that partners and services read of each sandbox outcome, comparable between runs.

The recording beside this file was made with the stack of v0.1.0. A change of the public interface,
of a webhook or of a topic shows as a difference from it.

Answers and the last webhook of a swap are recorded with their values. Of the other webhooks only
the names of the swap's members are recorded. The types of all their members are compared with those
that the recorded values have. Of topics only the names are recorded: types of their members are not
compared.

To record another stack:

    python -m tests.e2e.recorded_swaps STACK_FILE CHECKOUT > FILE
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
from collections.abc import AsyncIterator, Collection, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from math import isclose
from pathlib import Path
from typing import Any, Final

import httpx
from aiokafka import AIOKafkaConsumer  # type: ignore[import-untyped]
from aiokafka.structs import TopicPartition  # type: ignore[import-untyped]

from swap_contracts.topics import TOPICS
from swap_runtime.messaging.kafka_security import connection_options
from swap_runtime.settings import KafkaSettings
from swap_stack.sandbox.outcomes import PREFIX
from tests.e2e.chains import Chain
from tests.e2e.outside import Outside, Partner
from tests.e2e.sandbox_swaps import CASES, LARGE_ROUTE, Case, PlayedSwap, play
from tests.e2e.webhooks import Delivery, deliveries_upto

RECORDING: Final = Path(__file__).with_name("recorded_swaps.json")

# Of an amount: quotes depend on the price of gas, which falls with the blocks of a new chain.
TOLERANCE: Final = 0.5

# Values that differ between runs, by their form; the first match applies.
FORMS: Final = (
    (re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"), "<id>"),
    (re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+(Z|\+00:00)"), "<time>"),
    (re.compile(r"0x[0-9a-fA-F]{41,}"), "<bytes>"),
    (re.compile(rf"(?!{PREFIX})0x[0-9a-fA-F]{{40}}"), "<address>"),
)
# And by their name: numbers of this run, and node data from the stack's catalogue.
VOLATILE: Final = frozenset(
    {
        "account_explorer_template",
        "avg_completion_time",
        "block_number",
        "confirmations",  # a reorg of another swap's block raises them
        "logo",
        "max_confirmations",
        "node_url",
        "nodes",
        "sequence",
        "sequence_number",
        "trace_id",
        "transaction_explorer_template",
        "validAfter",
        "validBefore",
        "valid_after",
        "valid_before",
    }
)
JSON_TYPES: Final = {
    type(None): "null",
    bool: "boolean",
    int: "number",
    float: "number",
    str: "string",
    list: "array",
    dict: "object",
}
# Catalogue data is repeated in many answers, so its members are recorded once.
CATALOGUE_OBJECTS: Final = ("network", "token")


async def run_and_record(
    description: Mapping[str, Any], received: Path, partners: Mapping[bool, Partner]
) -> tuple[Mapping[str, PlayedSwap | BaseException], Mapping[str, Any]]:
    """Run all cases at once; return their results, and the record of those that ended.

    :param partners: by whether their swaps have a lifetime of seconds.
    """
    starts = await _end_offsets(description)
    # A reorg and a slow deposit need blocks at the chain's own interval.
    with Chain.of(description, LARGE_ROUTE.source_network).interval_mining_only():
        played = await asyncio.gather(
            *(play(partners[case.is_short_lived], case) for case in CASES), return_exceptions=True
        )
    plays = {case.name: one for case, one in zip(CASES, played, strict=True)}
    cases = {
        case.name: await _record(partners[case.is_short_lived], received, case, one)
        for case, one in zip(CASES, played, strict=True)
        if isinstance(one, PlayedSwap)
    }
    return plays, {"cases": cases, "topics": await _record_topics(description, starts)}


async def _record(partner: Partner, received: Path, case: Case, played: PlayedSwap) -> Any:
    """Return the public data of one ended swap."""
    path = f"/swaps/{played.last['id']}"
    events = await partner.get(f"{path}/events")
    moves = [event["type"] for event in events if event["type"] != "swap.updated"]
    # The app with short-lived swaps has no endpoint.
    expected = [] if case.is_short_lived else [move.removeprefix("swap.") for move in moves]
    webhooks = await deliveries_upto(received, played.last["id"], expected) if expected else []
    return {
        "created": comparable(played.created),
        "read": comparable(await partner.get(path)),
        "events": moves,
        "webhooks": [_webhook(each, is_last=each is webhooks[-1]) for each in webhooks],
        "types": sorted(
            {one for each in webhooks[:-1] for one in _types(comparable(each.payload))}
        ),
    }


def _webhook(delivery: Delivery, *, is_last: bool) -> Mapping[str, Any]:
    """Return a webhook; of all but the last only the form, as their transactions are pending."""
    body = comparable(delivery.payload)
    return {
        "headers": sorted(delivery.headers),
        "type": delivery.event_type,
        "body": body if is_last else sorted(set(_members(body["swap"], depth=1))),
    }


async def _end_offsets(description: Mapping[str, Any]) -> Mapping[TopicPartition, int]:
    async with _consumer(description) as consumer:
        ends: Mapping[TopicPartition, int] = await consumer.end_offsets(_partitions(description))
        return ends


async def _record_topics(
    description: Mapping[str, Any], starts: Mapping[TopicPartition, int]
) -> Mapping[str, Any]:
    """Return for each topic the names of headers and members in its messages from `starts` on."""
    forms: dict[str, dict[str, set[str]]] = {
        topic.name: {"headers": set(), "members": set()} for topic in TOPICS
    }
    async with _consumer(description) as consumer:
        ends = await consumer.end_offsets(list(starts))
        consumer.assign(list(starts))
        for partition, start in starts.items():
            consumer.seek(partition, start)
        while any([await consumer.position(each) < ends[each] for each in starts]):
            for partition, records in (await consumer.getmany(timeout_ms=200)).items():
                for message in records:
                    found = forms[partition.topic]
                    found["headers"] |= {name for name, _ in message.headers}
                    found["members"] |= set(_members(json.loads(message.value)))
    return {
        topic: {name: sorted(names) for name, names in found.items()}
        for topic, found in forms.items()
    }


def _partitions(description: Mapping[str, Any]) -> list[TopicPartition]:
    count = KafkaSettings(**description["kafka"]).topic_partitions
    return [TopicPartition(topic.name, number) for topic in TOPICS for number in range(count)]


@asynccontextmanager
async def _consumer(description: Mapping[str, Any]) -> AsyncIterator[AIOKafkaConsumer]:
    consumer = AIOKafkaConsumer(**connection_options(KafkaSettings(**description["kafka"])))
    await consumer.start()
    try:
        yield consumer
    finally:
        await consumer.stop()


def comparable(value: Any, name: str = "") -> Any:
    """Return a value in which data that changes with each run is replaced by its form."""
    if name in VOLATILE and value is not None:
        return f"<{name}>"
    if isinstance(value, Mapping):
        if name.endswith(CATALOGUE_OBJECTS):
            return value.get("name") or value["symbol"]
        return {str(comparable(key)): comparable(value[key], str(key)) for key in sorted(value)}
    if isinstance(value, str):
        for form, shown in FORMS:
            value = form.sub(shown, value)
        return value
    if isinstance(value, Sequence):
        return [comparable(each, name) for each in value]
    return value


def recorded_types(cases: Mapping[str, Any]) -> Mapping[str, Collection[str]]:
    """Return the JSON types that each member has in the recorded values of all cases."""
    types: dict[str, set[str]] = {}
    for case in cases.values():
        webhooks = (each["body"] for each in case["webhooks"])
        for body in (case["created"], case["read"], *webhooks):
            if isinstance(body, Mapping):
                for path, name in _types(body):
                    types.setdefault(path, set()).add(name)
    return types


def _types(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Yield the path and the JSON type of every member that is not null.

    A value that differs between runs, such as a sequence number, counts as text.
    """
    if isinstance(value, Mapping):
        for key, member in value.items():
            yield from _types(member, f"{path}/{key}")
    elif isinstance(value, list):
        for each in value:
            yield from _types(each, f"{path}/*")
    if path and value is not None:
        yield path, _json_type(value)


def _json_type(value: Any) -> str:
    return JSON_TYPES[type(value)]


def differences(before: Any, now: Any, path: str = "") -> Iterator[str]:
    """Yield a line for each place where two records differ."""
    if isinstance(before, Mapping) and isinstance(now, Mapping):
        for key in sorted(before.keys() | now.keys()):
            place = f"{path}/{key}"
            if key not in before or key not in now:
                yield f"{place}: {'is new' if key in now else 'is missing'}"
            else:
                yield from differences(before[key], now[key], place)
    elif _are_rows(before) and _are_rows(now) and len(before) == len(now):
        for number, (one, other) in enumerate(zip(before, now, strict=True)):
            yield from differences(one, other, f"{path}/{number}")
    elif (_json_type(before), before) != (_json_type(now), now) and not _are_close(before, now):
        yield f"{path}: {_difference(before, now)}"


def _are_close(before: Any, now: Any) -> bool:
    """Return whether two fractions differ by no more than the price of gas explains."""
    is_fraction = isinstance(before, float) and isinstance(now, float)
    return is_fraction and isclose(before, now, rel_tol=TOLERANCE)


def _are_rows(value: Any) -> bool:
    return isinstance(value, list) and any(isinstance(each, Mapping) for each in value)


def _difference(before: Any, now: Any) -> str:
    if isinstance(before, list) and isinstance(now, list):
        gone, new = (
            [each for each in a if each not in b] for a, b in ((before, now), (now, before))
        )
        return f"gone {gone}, new {new}"
    return f"{before!r} became {now!r}"


def _members(value: Any, path: str = "", *, depth: int = 99) -> Iterator[str]:
    """Yield the path of every member; elements of a list share one."""
    if isinstance(value, Mapping):
        for key in value:
            yield f"{path}/{key}"
            if depth > 1:
                yield from _members(value[key], f"{path}/{key}", depth=depth - 1)
    elif isinstance(value, list):
        for each in value:
            yield from _members(each, f"{path}/*", depth=depth)


async def record(
    description: Mapping[str, Any], received: Path, short_lived: str
) -> Mapping[str, Any]:
    """Return the record of a stack.

    :param short_lived: a key of an app with short-lived swaps, known to the sandbox.
    """
    gateway = description["gateway"]["url"]
    async with Outside(description) as outside, httpx.AsyncClient(base_url=gateway) as http:
        partners = {
            False: outside.partner("sandbox"),
            True: Partner(http, short_lived, patience=0),
        }
        _, made = await run_and_record(description, received, partners)
    return made


def main(stack_file: Path, checkout: Path) -> None:
    description = json.loads(stack_file.read_text())
    [sandbox] = [each for each in description["partners"] if each["name"] == "sandbox"]
    short_lived = (stack_file.parent / "sandbox/keys").read_text().strip()
    made = asyncio.run(record(description, checkout / sandbox["webhook"]["received"], short_lived))
    for case in made["cases"].values():
        del case["types"]  # made of the recorded bodies, by `recorded_types`
    json.dump(made, sys.stdout, indent=1, sort_keys=True)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:3]))
