"""The demonstration: a swap of each method and of each ending, and reports of differences."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from io import StringIO
from pathlib import Path
from typing import Any, cast

import pytest
from rich.console import Console

from swap_sdk.models import PreparedSwap
from swap_stack.account import EMAIL, describe_account
from swap_stack.daemon import StackError
from swap_stack.demo import demo as demonstration
from swap_stack.demo.books import AssetSum
from swap_stack.demo.closing import show_outcomes
from swap_stack.demo.deliveries import Delivery
from swap_stack.demo.faults import list_faults
from swap_stack.demo.follow import FollowedSwap
from swap_stack.demo.journeys import (
    JOURNEYS,
    LATE,
    NATIVE_TO_NATIVE,
    NEVER,
    PARTIAL,
    REFUSED,
    TOKEN_TO_TOKEN,
    Journey,
    Method,
    PaymentTime,
)
from swap_stack.demo.timeline import Timeline
from swap_stack.keys import load_or_make
from swap_stack.next_steps import AFTER_DEMO, AFTER_UP, show_next
from swap_stack.options import Options
from swap_stack.places import ROOT, Places
from swap_stack.report import Report
from swap_stack.services import ServicePorts
from swap_stack.summary import show
from swap_stack.wrapping import wrap_text

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
QUOTED = 0.4
RECEIVED = 4 * 10**17
IN, OUT, BACK, REFUEL = (
    {"type": kind, "amount": amount}
    for kind, amount in (("input", 0.5), ("output", QUOTED), ("refund", 0.49), ("refuel", 0.01))
)


def an_outcome(journey: Journey, *, verified: bool = True, **more: Any) -> FollowedSwap:
    """Return the end of a swap as its journey expects it, except for the given values."""
    is_completed = journey.ending == "completed"
    swap = {
        "status": journey.ending,
        "fail_reason": None,
        "quote_revision": journey.requotes,
        "last_requoted_at": NOON.isoformat() if journey.requotes else None,
        "destination_token": {"decimals": 18, "precision": 8},
        "transactions": ends_of(journey),
    }
    received = more.pop("received", RECEIVED if is_completed else 0)
    swap |= more
    deliveries = () if journey.is_short_lived else (a_delivery(str(swap["status"]), verified),)
    return FollowedSwap(
        journey=journey,
        swap=cast(PreparedSwap, {"swap": swap, "quote": {"receive_amount": QUOTED}}),
        duration=timedelta(seconds=2),
        received_base_units=received,
        trail=(),
        deliveries=deliveries,
    )


def ends_of(journey: Journey) -> Sequence[Mapping[str, Any]]:
    wanted = (
        (IN, journey.payment_time is not PaymentTime.NEVER),
        (OUT, journey.ending == "completed"),
        (BACK, journey.is_refunded),
        (REFUEL, journey.refuel),
    )
    return [sent for sent, is_there in wanted if is_there]


def a_delivery(status: str, verified: bool) -> Delivery:
    return Delivery(NOON, "1", f"swap.{status}", "a swap", status, verified)


def test_each_method_has_a_swap_that_is_completed_as_quoted() -> None:
    plain = [j for j in JOURNEYS if j.ending == "completed" and not j.requotes]

    assert {journey.method for journey in plain} == set(Method)


def test_there_is_one_swap_of_each_ending() -> None:
    endings = [(j.ending, j.requotes, j.is_refunded, j.payment_time) for j in JOURNEYS]

    assert {
        ("refunded", 0, True, PaymentTime.AT_ONCE),  # after a payout that cannot succeed
        ("completed", 1, False, PaymentTime.AT_ONCE),  # a partial deposit, and another quote
        ("expired", 0, True, PaymentTime.LATE),
        ("expired", 0, False, PaymentTime.NEVER),
    } <= set(endings)
    assert (REFUSED.recipient_refuses, PARTIAL.paid_percent) == (True, 50)


def test_no_fault_without_a_deviation() -> None:
    balanced = AssetSum("BASE_DEVNET", "0x", postings=2, total=0)

    assert list_faults([an_outcome(journey) for journey in JOURNEYS], [balanced]) == ()


@pytest.mark.parametrize(
    ("journey", "differently", "fault"),
    [
        (NATIVE_TO_NATIVE, {"status": "refunded"}, "refunded, and not completed"),
        (REFUSED, {"status": "failed"}, "failed, and not refunded"),
        (NEVER, {"status": "completed"}, "completed, and not expired"),
        (PARTIAL, {"quote_revision": 0}, "requoted 0 times, and not 1"),
        (PARTIAL, {"last_requoted_at": None}, "requoted, and it does not say when"),
        (NATIVE_TO_NATIVE, {"quote_revision": 1}, "requoted 1 times, and not 0"),
        (NATIVE_TO_NATIVE, {"received": 0}, f"0 base units are paid out, and {RECEIVED} were"),
        (NATIVE_TO_NATIVE, {"received": RECEIVED - 1}, f"and {RECEIVED} were quoted"),
        (NATIVE_TO_NATIVE, {"received": 2 * RECEIVED}, f"and {RECEIVED} were quoted"),
        (REFUSED, {"received": 1}, "1 base units are paid out, and nothing should be"),
        (LATE, {"received": 1}, "1 base units are paid out, and nothing should be"),
        (TOKEN_TO_TOKEN, {"transactions": [IN, OUT]}, "its refuel is not sent"),
        (REFUSED, {"transactions": [IN]}, "0 of 0.5 went back"),
        (LATE, {"transactions": [IN]}, "0 of 0.5 went back"),
        (REFUSED, {"transactions": [IN, BACK, BACK]}, "0.98 of 0.5 went back"),
        (NATIVE_TO_NATIVE, {"transactions": [IN, OUT, BACK]}, "0.49 went back, and nothing should"),
        (NATIVE_TO_NATIVE, {"verified": False}, "a webhook's signature is wrong"),
    ],
)
def test_a_different_outcome_is_reported_as_a_fault(
    journey: Journey, differently: Mapping[str, Any], fault: str
) -> None:
    others = [an_outcome(one) for one in JOURNEYS if one is not journey]

    faults = list_faults([*others, an_outcome(journey, **differently)], [])

    assert any(one.startswith(journey.title) and fault in one for one in faults), faults
    assert all(one.startswith(journey.title) for one in faults)


def test_an_end_without_a_webhook_is_a_fault() -> None:
    silent = replace(an_outcome(REFUSED), deliveries=(a_delivery("pending_refund", True),))

    [fault] = list_faults([silent], [])

    assert fault == f"{REFUSED.title}: no webhook tells that it is refunded"


def test_an_asset_whose_postings_do_not_sum_to_zero_is_a_fault() -> None:
    sums = [AssetSum("BASE_DEVNET", "0xA", 2, 0), AssetSum("BASE_DEVNET", "0xB", 3, -7)]

    assert list_faults([], sums) == ("0xB on BASE_DEVNET sums to -7",)


@pytest.mark.parametrize(
    ("status", "ends"),
    [
        pytest.param("refunded", nullcontext(), id="as told"),
        pytest.param(
            "failed", pytest.raises(StackError, match="failed, and not refunded"), id="not"
        ),
    ],
)
async def test_demo_stops_its_stack_and_fails_where_a_swap_ends_differently(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    status: str,
    ends: AbstractContextManager[object],
) -> None:
    done: list[str] = []

    async def up(*_: object) -> Mapping[str, Any]:
        done.append("up")
        return {"postgres": {"auditor_url": ""}, "networks": []}

    async def down(*_: object) -> None:
        done.append("down")

    async def run(*_: object) -> AsyncIterator[FollowedSwap]:
        yield an_outcome(REFUSED, status=status)

    async def sums(_: str) -> tuple[AssetSum, ...]:
        return ()

    for name, stands_in in {"up": up, "down": down, "_run": run, "read_sums": sums}.items():
        monkeypatch.setattr(demonstration, name, stands_in)

    printed = StringIO()
    with ends:
        await demonstration.demo(
            Places(tmp_path), Options(), Report(Console(file=printed, width=80))
        )

    assert done == ["up", "down"]
    assert ("What next" in printed.getvalue()) == (status == "refunded")


@pytest.mark.parametrize("width", [80, 200])
def test_methods_and_endings_stand_side_by_side(width: int) -> None:
    printed = StringIO()
    reasons = {REFUSED: "destination_unavailable"}
    outcomes = tuple(an_outcome(one, fail_reason=reasons.get(one)) for one in JOURNEYS)

    show_outcomes(outcomes, Console(file=printed, width=width, soft_wrap=True))

    rows = printed.getvalue().splitlines()
    assert "…" not in printed.getvalue()
    assert all(word in printed.getvalue() for word in ("unavailable", "webhooks", "received"))
    assert max(map(len, rows)) <= width
    for journey in JOURNEYS:
        method, *_ = journey.method.split()  # a narrow terminal shows the rest below it
        texts = [method, journey.ending, f" {1 + journey.requotes} "]
        assert any(all(text in row for text in texts) for row in rows), journey.title


def test_late_event_has_no_earlier_time_than_the_line_above() -> None:
    printed = StringIO()
    timeline = Timeline(Console(file=printed, width=80), NOON)

    timeline.print_fact("request", "POST /api/v2/swaps", at=NOON + timedelta(seconds=3))
    timeline.add("status", "completed", at=NOON + timedelta(seconds=9))
    timeline.add("message", "confirmed", at=NOON + timedelta(seconds=8))
    timeline.add("message", "confirmed", at=NOON + timedelta(seconds=8), key="another")
    timeline.show()
    timeline.add("message", "found late", at=NOON + timedelta(seconds=7))
    timeline.show()

    lines = printed.getvalue().splitlines()
    assert [line.split()[0] for line in lines] == ["3.00s", "8.00s", "8.00s", "9.00s", "9.00s"]
    assert "found late" in lines[-1]


def test_every_line_of_a_swap_fits_eighty_columns() -> None:
    printed = StringIO()
    timeline = Timeline(Console(file=printed, width=80), NOON)
    what = "chain_watcher → deposit.changed.v1: confirmed in block 4711 of ETHEREUM_DEVNET again"

    timeline.print_fact("message", what, at=NOON)
    Report(Console(file=printed, width=80)).print_step("broker", f"kafka: {what}")

    lines = printed.getvalue().splitlines()
    assert max(map(len, lines)) <= 80
    assert " ".join(" ".join(lines).split()).count("ETHEREUM_DEVNET again") == 2


def test_a_key_is_never_broken_so_that_it_can_be_copied() -> None:
    key = "svc_test_" + "k" * 90

    assert key in wrap_text(f"X-SVC-APIKEY: {key}", indent=32, width=80).split()


def test_next_steps_fit_eighty_columns_and_name_existing_pages() -> None:
    printed = StringIO()
    for steps in (AFTER_DEMO, AFTER_UP):
        show_next(Console(file=printed, width=80), steps)

    assert max(map(len, printed.getvalue().splitlines())) <= 80
    pages = [name for name, _ in (*AFTER_DEMO, *AFTER_UP) if name.startswith("docs/")]
    assert pages
    assert all((ROOT / page).is_file() for page in pages)


def test_a_running_stack_prints_the_reference_and_the_next_steps() -> None:
    printed = StringIO()
    stack = {
        "services": [{"name": "api", "pid": 1, "internal_url": "http://127.0.0.1:2"}],
        "partners": [{"name": "demo", "api_key": "svc_test_1"}],
        "gateway": {"url": "http://127.0.0.1:1"},
    }

    show(stack, Report(Console(file=printed, width=80)))

    text = printed.getvalue()
    for wanted in ("http://127.0.0.1:1/docs", "make -s env", "docs/quickstart.md"):
        assert wanted in text


def test_the_end_of_the_demo_names_the_dashboard() -> None:
    printed = StringIO()

    show_next(Console(file=printed, width=80))

    lines = [line for line in printed.getvalue().splitlines() if "dashboard" in line]
    assert [line.split()[:2] for line in lines] == [["make", "up"]]


def test_a_stack_that_is_up_prints_the_links_of_the_dashboard_and_the_console() -> None:
    printed = StringIO()
    link = "http://127.0.0.1:3/start?token=" + "t" * 90
    stack = {
        "services": [{"name": "console", "pid": 1, "internal_url": "http://127.0.0.1:2"}],
        "partners": [],
        "gateway": {"url": "http://127.0.0.1:1"},
        "dashboard": {"url": "http://127.0.0.1:3", "email": EMAIL, "password": "p"},
        "console": {"url": "http://127.0.0.1:4"},
    }

    show(stack, Report(Console(file=printed, width=80)), link=link)

    words = printed.getvalue().split()
    assert {"http://127.0.0.1:3", EMAIL, link, "http://127.0.0.1:4"} <= set(words)


def test_the_account_in_the_stack_file_has_an_address_an_email_and_a_password(
    tmp_path: Path,
) -> None:
    secrets = load_or_make(tmp_path / "secrets.json")
    ports = ServicePorts(internal={"dashboard": 2}, public={"dashboard": 3})

    assert describe_account(ports, secrets) == {
        "url": "http://127.0.0.1:3",
        "email": EMAIL,
        "password": secrets.dashboard_password,
    }
    assert secrets.dashboard_password
