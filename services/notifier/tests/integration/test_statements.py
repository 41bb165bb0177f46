"""The cost of a batch in statements, commits and round trips, for any size."""

from __future__ import annotations

import pytest

from services.notifier.tests.factories import NOW, SEALING, a_swap, an_answer
from services.notifier.tests.process_parts import Notifier
from swap_notifier.adapters.deliveries import PostgresDeliveries
from swap_notifier.adapters.statements import CLAIM, RECORD
from swap_notifier.domain.outcomes import outcome_of

pytestmark = pytest.mark.connected


async def test_a_batch_of_changes_waits_three_times(
    notifier: Notifier, round_trips: list[int]
) -> None:
    endpoint = await notifier.endpoint("http://a.example")
    round_trips.clear()

    await notifier.consume(*(a_swap(app_id=endpoint.app_id) for _ in range(5)))

    assert len(round_trips) == 3
    assert len(await notifier.rows()) == 5


async def test_a_claim_and_its_record_are_one_statement_and_one_commit_each(
    notifier: Notifier,
) -> None:
    endpoint = await notifier.endpoint("http://a.example")
    await notifier.consume(*(a_swap(app_id=endpoint.app_id) for _ in range(5)))
    statements: list[str] = []
    notifier.engine.statement_listener = statements.append

    claimed = await notifier.claim_and_die(seconds=20)
    await PostgresDeliveries(notifier.engine, SEALING).record(
        [outcome_of(one, an_answer(), at=NOW, jitter_ppm=0) for one in claimed]
    )

    assert statements == [CLAIM.text, "COMMIT", RECORD.text, "COMMIT"]
    assert [row.state for row in await notifier.rows()] == ["delivered"] * 5
