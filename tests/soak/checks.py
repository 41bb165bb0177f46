"""The checks of a healed and idle stack: chains, ledger, API and webhooks."""

from __future__ import annotations

import json
from base64 import b64decode
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, LiteralString

import psycopg

from swap_stack.places import ROOT
from swap_stack.programs import ProgramFailed, run_to_end
from tests.e2e import oracle
from tests.e2e.outside import Outside
from tests.plugins.stack import Stack
from tests.soak.traffic import ENDINGS, EXCESS, Behaviour, EndedSwap, SwapRun

NOT_A_STATUS: Final = ("swap.updated", "webhook.test", "endpoint.disabled")
TRANSITIONS: Final[LiteralString] = """
SELECT swap_id::text, sequence, to_status FROM settler.swap_transition
WHERE swap_id = ANY(%s::uuid[]) AND from_status IS DISTINCT FROM to_status ORDER BY 1, 2
"""
STATUSES: Final[LiteralString] = """
SELECT settled.id::text, settled.status, settled.sequence, told.status, told.sequence
FROM settler.swap AS settled LEFT JOIN api.swap AS told ON told.id = settled.id
"""


async def list_problems(stack: Stack, outside: Outside, swapped: SwapRun) -> list[str]:
    """Return every problem; empty after a clean run."""
    return [
        *swapped.problems,
        *_endings(swapped),
        *await _invariants(stack),
        *[f"oracle: {one}" for one in await oracle.differences(stack.description)],
        *await _payments(stack, outside, swapped.ended),
        *await _read_models(stack, outside, swapped.ended),
        *await _webhooks(stack, swapped.ended),
        *[f"stuck: {one}" for one in (await stack.admin("settler", "/stuck"))["stuck"]],
    ]


def _endings(swapped: SwapRun) -> Iterable[str]:
    missing = swapped.started - len(swapped.ended) - len(swapped.problems)
    if missing:
        yield f"{missing} swaps have no end"
    for one in swapped.ended:
        if not one.is_as_planned:
            wanted = " or ".join(ENDINGS[one.plan.wanted])
            what = f"{one.swap_id} ({one.plan.method}, {one.plan.wanted})"
            yield f"{what}: {one.status}, not {wanted}"


async def _invariants(stack: Stack) -> list[str]:
    command = [str(ROOT / ".venv/bin/swapctl"), "invariants"]
    try:
        await run_to_end(command, env={"SWAPCTL_AUDITOR_URL": stack.auditor_url})
    except ProgramFailed as failed:
        return [f"invariants: {failed}"]
    return []


async def _payments(stack: Stack, outside: Outside, ended: Sequence[EndedSwap]) -> list[str]:
    """Compare the API with the chains, swap by swap."""
    problems = []
    owed = (await stack.admin("settler", "/claimable"))["claimable"]
    paid = await oracle.payments_of(stack.description, *(one.swap_id for one in ended))
    for one, count in zip(ended, paid, strict=True):
        swap = (await outside.partner().read(one.swap_id))["swap"]
        shown = Counter(t["type"] for t in swap["transactions"] if t["status"] == "completed")
        if shown["output"] != count:
            problems.append(f"{one.swap_id}: {count} outputs paid, the API shows {shown['output']}")
        if count != int(one.status == "completed"):
            problems.append(f"{one.swap_id} is {one.status} with {count} outputs paid")
        route = one.plan.route
        back = await outside.balance(route.source_network, route.source_token, one.owner)
        if not is_right_to_owner(one, back):
            problems.append(f"{one.swap_id} is {one.status} ({one.plan.wanted}), {back} came back")
        if claims := [claim for claim in owed if claim["swap_id"] == one.swap_id]:
            problems.append(f"{one.swap_id} still owes {claims}")
    return problems


def is_right_to_owner(ended: EndedSwap, base_units: int) -> bool:
    """Return whether a swap with this end may have refunded this amount to its owner.

    Where the larger amount cannot be filled, the quoted one is, and the excess is refunded on a
    separate leg.
    """
    if ended.status in ("refunded", "failed") or ended.plan.wanted is Behaviour.TWICE:
        return base_units > 0
    return 0 <= base_units <= (EXCESS if ended.plan.wanted is Behaviour.MORE else 0)


async def _read_models(stack: Stack, outside: Outside, ended: Sequence[EndedSwap]) -> list[str]:
    """Compare the api's tables and answers with the settler's."""
    problems = []
    async with await psycopg.AsyncConnection.connect(
        stack.auditor_url, autocommit=True
    ) as connection:
        rows = await (await connection.execute(STATUSES)).fetchall()
    truth = {row[0]: row[1] for row in rows}
    for swap_id, status, sequence, api_status, api_sequence in rows:
        if (status, sequence) != (api_status, api_sequence):
            problems.append(
                f"{swap_id}: settler {status}/{sequence}, api {api_status}/{api_sequence}"
            )
    for one in ended:
        shown = (await outside.partner().read(one.swap_id))["swap"]["status"]
        if truth.get(one.swap_id) != shown:
            problems.append(f"{one.swap_id}: settler {truth.get(one.swap_id)}, the API {shown}")
    return problems


async def _webhooks(stack: Stack, ended: Sequence[EndedSwap]) -> list[str]:
    """Compare deliveries with the settler's history: each status once, signed, in order."""
    ids = [one.swap_id for one in ended]
    async with await psycopg.AsyncConnection.connect(
        stack.auditor_url, autocommit=True
    ) as connection:
        rows = await (await connection.execute(TRANSITIONS, [ids])).fetchall()
    history: defaultdict[str, list[str]] = defaultdict(list)
    for swap_id, _, status in rows:
        history[swap_id].append(status)
    delivered, problems = read_deliveries(stack)
    for swap_id in ids:
        mine = sorted(delivered.get(swap_id, {}).values())
        statuses = [status for _, status in mine]
        if statuses != history[swap_id]:
            problems.append(f"{swap_id}: webhooks {statuses}, history {history[swap_id]}")
    return problems


def read_deliveries(
    stack: Stack,
) -> tuple[Mapping[str, Mapping[str, tuple[int, str]]], list[str]]:
    """Return sequence and status of each message by swap and message id, and forged messages."""
    delivered: defaultdict[str, dict[str, tuple[int, str]]] = defaultdict(dict)
    problems = []
    for line in stack.received_file().read_text().splitlines():
        row = json.loads(line)
        if not row["verified"]:
            problems.append(f"a webhook has no valid signature: {row['headers']}")
            continue
        if row["headers"]["webhook-event-type"] in NOT_A_STATUS:
            continue
        swap = json.loads(b64decode(row["body"]))["swap"]
        shown = int(swap["metadata"]["sequence"]), str(swap["status"])
        message_id = row["headers"]["webhook-id"]
        known = delivered[swap["id"]].setdefault(message_id, shown)
        if known != shown:
            problems.append(f"webhook {message_id} came as {known} and as {shown}")
    return delivered, problems
