"""One swap is one trace through all services, from the request to the webhook."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from uuid import UUID

import pytest

from swap_contracts.tracing import trace_id_of
from tests.e2e.journey import run_journey
from tests.e2e.outside import FinishedSwap, Route
from tests.plugins.stack import Stack
from tests.support.otlp import Collector, ReceivedSpan, collecting
from tests.support.waiting import until_true_here

pytestmark = pytest.mark.slow  # every service is restarted twice
SERVICES = ("api", "quoter", "chain_watcher", "settler", "notifier")
ROUTE = Route("ETHEREUM_DEVNET", "ETH", "BASE_DEVNET", "ETH", "0.4")
WEBHOOKS = 3
EXPORTED_WITHIN_SECONDS = 3


@pytest.fixture(scope="module")
def collector(stack: Stack) -> Iterator[Collector]:
    """A collector that receives the spans of all services, which are restarted for it."""
    with collecting() as one:
        for service in SERVICES:
            asyncio.run(stack.restart(service, OTEL_EXPORTER_OTLP_ENDPOINT=one.url))
        yield one
        for service in SERVICES:
            asyncio.run(stack.restart(service))


@pytest.fixture(scope="module")
def done(stack: Stack, collector: Collector) -> FinishedSwap:
    """A swap with its own deposit address: the watcher has its trace then."""
    return run_journey(stack, ROUTE, use_depository=False, use_deposit_address=True)


@pytest.fixture
async def trace(done: FinishedSwap, collector: Collector) -> Sequence[ReceivedSpan]:
    """The swap's spans, after that of the last webhook."""

    def spans() -> Sequence[ReceivedSpan]:
        return collector.trace(trace_id_of(UUID(done.id)))

    def is_complete() -> bool:
        attempts = [span for span in spans() if span.name == "deliver webhook"]
        return len(attempts) >= WEBHOOKS

    await until_true_here(is_complete, what="spans of the webhooks")
    # A process exports its spans once a second.
    await asyncio.sleep(EXPORTED_WITHIN_SECONDS)
    return spans()


def orphans(trace: Sequence[ReceivedSpan]) -> set[tuple[str, str]]:
    """Return the spans with a parent that was not received."""
    known = {span.span_id for span in trace}
    return {(s.service, s.name) for s in trace if s.parent_id and s.parent_id not in known}


def lineage(trace: Sequence[ReceivedSpan], span: ReceivedSpan) -> list[tuple[str, str]]:
    """Return service and name of a span, of its parent, and so on up to the root."""
    by_id = {each.span_id: each for each in trace}
    line = [span]
    while line[-1].parent_id:
        line.append(by_id[line[-1].parent_id])
    return [(each.service, each.name) for each in line]


def lineages(trace: Sequence[ReceivedSpan], service: str, name: str) -> list[list[tuple[str, str]]]:
    """Return the lineage of each span with a name; there must be at least one."""
    found = [lineage(trace, s) for s in trace if (s.service, s.name) == (service, name)]
    assert found, (service, name, sorted({(s.service, s.name) for s in trace}))
    return found


ROOT = ("api", "POST /api/v2/swaps")
REQUESTED = [("api", "create swap.requests.v1"), ROOT]


async def test_a_swap_is_one_trace_with_one_root_through_all_services(
    trace: Sequence[ReceivedSpan],
) -> None:
    assert {span.service for span in trace} == set(SERVICES)
    assert [(s.service, s.name) for s in trace if not s.parent_id] == [ROOT]
    assert orphans(trace) == set()
    assert {s.name for s in trace if s.is_error} == set()


async def test_each_service_is_a_child_of_what_caused_it(trace: Sequence[ReceivedSpan]) -> None:
    assert [("quoter", "POST /quotes"), ("api", "POST /quotes"), ROOT] in lineages(
        trace, "quoter", "POST /quotes"
    )
    processed = [("settler", "process swap.requests.v1"), *REQUESTED]
    assert lineages(trace, "settler", "process swap.requests.v1") == [processed]
    assert lineages(trace, "api", "publish swap.requests.v1") == [
        [("api", "publish swap.requests.v1"), *REQUESTED]
    ]
    assert lineages(trace, "chain_watcher", "process deposit-target.assigned.v1") == [
        [
            ("chain_watcher", "process deposit-target.assigned.v1"),
            ("settler", "create deposit-target.assigned.v1"),
            *processed,
        ]
    ]
    for service in ("api", "quoter", "notifier"):
        changed = lineages(trace, service, "process swap.changed.v1")
        assert {line[1] for line in changed} == {("settler", "create swap.changed.v1")}
    for line in lineages(trace, "notifier", "deliver webhook"):
        assert line[1:3] == [
            ("notifier", "process swap.changed.v1"),
            ("settler", "create swap.changed.v1"),
        ]


async def test_the_payment_is_in_the_trace(
    trace: Sequence[ReceivedSpan], done: FinishedSwap
) -> None:
    sent = [span for span in trace if span.name == "send payment"]

    assert done.transaction("output")["transaction_hash"] in {
        span.attributes["transaction_hash"] for span in sent
    }


@pytest.mark.parametrize("topic", ["deposit.changed.v1", "payout.changed.v1"])
async def test_settler_spans_are_linked_to_spans_of_the_watcher(
    trace: Sequence[ReceivedSpan], collector: Collector, topic: str
) -> None:
    """The watcher has no swaps: its spans are in a trace of the movement."""
    processed = [s for s in trace if (s.service, s.name) == ("settler", f"process {topic}")]
    linked = {link for span in processed for link in span.links}

    seen = {
        (span.trace_id, span.span_id): (span.service, span.name)
        for span in collector.spans
        if span.service == "chain_watcher"
    }
    assert linked
    assert {seen[link] for link in linked} == {("chain_watcher", f"create {topic}")}
