"""Every outcome of the sandbox; the partner only creates swaps."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from typing import Any

import httpx
import pytest

from swap_stack.catalogue import SLOW_BLOCKS
from swap_stack.sandbox.outcomes import OUTCOME_DESCRIPTIONS, PREFIX, SandboxOutcome
from tests.e2e.outside import Outside, Partner
from tests.e2e.recorded_swaps import RECORDING, differences, recorded_types, run_and_record
from tests.e2e.sandbox_swaps import CASES, Case, PlayedSwap
from tests.e2e.short_lived_app import create_short_lived_key
from tests.e2e.webhooks import deliveries_upto, read_attempts
from tests.plugins.stack import Stack
from tests.support.waiting import until

Plays = Mapping[str, PlayedSwap | BaseException]
# Intended changes since the recording.
CHANGED = (
    # A native deposit to an address gets its transaction (decision 0054).
    "/transactions/0/from: None became '<address>'",
    "/transactions/0/transaction_hash: None became '<bytes>'",
    # A gasless swap without a sender reports at once that a wallet has to sign.
    "/created/next_action: None became {'action': None, 'detail': 'Connect the wallet",
)
# Members that messages have since the recording, as the changelog says.
ADDED = {"deposit.changed.v1": {"/body/came_after"}, "swap.changed.v1": {"/body/cause"}}


async def play_all(stack: Stack) -> tuple[Plays, Mapping[str, Any]]:
    short_lived = await create_short_lived_key(stack)
    stack.places.sandbox.mkdir(exist_ok=True)
    (stack.places.sandbox / "keys").write_text(f"{short_lived}\n")
    gateway = stack.description["gateway"]["url"]
    async with Outside(stack.description) as outside, httpx.AsyncClient(base_url=gateway) as http:
        partners = {
            False: outside.partner("sandbox"),
            True: Partner(http, short_lived, patience=0),
        }
        return await run_and_record(stack.description, stack.received_file("sandbox"), partners)


@pytest.fixture(scope="module")
def runs_and_record(stack: Stack) -> tuple[Plays, Mapping[str, Any]]:
    return asyncio.run(play_all(stack))


@pytest.fixture
def plays(runs_and_record: tuple[Plays, Mapping[str, Any]]) -> Plays:
    return runs_and_record[0]


@pytest.fixture
def record(runs_and_record: tuple[Plays, Mapping[str, Any]]) -> Mapping[str, Any]:
    return runs_and_record[1]


@pytest.fixture
def played(plays: Plays) -> Callable[[str], PlayedSwap]:
    """Return the result of a case, or raise its error."""

    def of(name: str) -> PlayedSwap:
        one = plays[name]
        if isinstance(one, BaseException):
            raise one
        return one

    return of


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_recipient_makes_its_outcome(played: Callable[[str], PlayedSwap], case: Case) -> None:
    swap = played(case.name).last

    assert swap["destination_address"] == OUTCOME_DESCRIPTIONS[case.outcome].address
    assert swap["fail_reason"] == case.reason
    assert swap["quote_revision"] == case.revision


def test_every_outcome_is_played() -> None:
    assert {case.outcome for case in CASES} == set(SandboxOutcome)


def test_a_slow_deposit_is_seen_being_confirmed(played: Callable[[str], PlayedSwap]) -> None:
    confirmations = [one for one in played("slow confirmation").inputs() if one is not None]

    assert {most for _, most in confirmations} == {SLOW_BLOCKS}
    assert len(confirmations) > 1
    assert confirmations[-1] == (SLOW_BLOCKS, SLOW_BLOCKS)


def test_a_reorged_deposit_disappears_for_a_while(played: Callable[[str], PlayedSwap]) -> None:
    inputs = played("a reorg").inputs()

    appeared = next(n for n, one in enumerate(inputs) if one is not None)
    assert None in inputs[appeared:]


async def test_a_refused_webhook_is_repeated_unchanged(
    played: Callable[[str], PlayedSwap], stack: Stack
) -> None:
    swap_id = played("a webhook that fails").last["id"]
    statuses = ["user_transfer_pending", "ls_transfer_pending", "completed"]
    received = stack.received_file("sandbox")

    async def all_were_resent() -> bool:
        attempts = read_attempts(received, swap_id)
        return len(attempts) == 2 * len(statuses)

    await until(all_were_resent, what="each message came twice")
    attempts = read_attempts(received, swap_id)
    for message_id in {one.message_id for one in attempts}:
        first, second = (one for one in attempts if one.message_id == message_id)
        assert first.body == second.body
    deliveries = await deliveries_upto(received, swap_id, statuses)
    assert [one.event_type for one in deliveries] == [f"swap.{status}" for status in statuses]


def test_a_late_signature_is_expired(played: Callable[[str], PlayedSwap]) -> None:
    assert played("a signature that came too late").authorization == "Expired"


def test_sandbox_recipients_have_one_prefix_and_differ() -> None:
    assert all(meaning.address.startswith(PREFIX) for meaning in OUTCOME_DESCRIPTIONS.values())
    assert len({meaning.address for meaning in OUTCOME_DESCRIPTIONS.values()}) == len(
        SandboxOutcome
    )


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_sandbox_answers_equal_the_recording(record: Mapping[str, Any], case: Case) -> None:
    recorded = json.loads(RECORDING.read_text())["cases"]
    now = {name: value for name, value in record["cases"][case.name].items() if name != "types"}

    found = differences(recorded[case.name], now)
    assert [each for each in found if not any(known in each for known in CHANGED)] == []


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_pending_webhooks_have_the_recorded_types(record: Mapping[str, Any], case: Case) -> None:
    recorded = recorded_types(json.loads(RECORDING.read_text())["cases"])

    types = record["cases"][case.name]["types"]
    assert [f"{path}: {name}" for path, name in types if name not in recorded.get(path, ())] == []


def test_messages_have_the_recorded_members_and_the_added_ones(record: Mapping[str, Any]) -> None:
    recorded = json.loads(RECORDING.read_text())["topics"]
    expected = {
        topic: {**forms, "members": sorted({*forms["members"], *ADDED.get(topic, ())})}
        for topic, forms in recorded.items()
    }

    assert [*differences(expected, record["topics"])] == []
