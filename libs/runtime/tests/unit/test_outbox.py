"""A message that is rendered without validation is the same message, byte for byte."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from libs.contracts.tests.examples import ALICE, AT, a_quote, a_swap_changed
from swap_contracts.envelope import Message
from swap_contracts.swaps import SwapRequested
from swap_contracts.topics import SWAP_CHANGED, SWAP_REQUESTS
from swap_runtime.messaging.outbox import Outgoing

FRACTION = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)
REFUELED = a_quote(refuel_in_source_base_units="5", refuel_base_units="7")


def a_request(**changes: Any) -> SwapRequested:
    members = a_swap_changed().model_dump()
    terms = {name: members[name] for name in SwapRequested.model_fields if name in members}
    return SwapRequested.model_validate({**terms, **changes})


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"created_at": FRACTION, "expires_at": FRACTION, "quote_expires_at": FRACTION},
        {"source_address": ALICE, "refund_address": ALICE, "reference_id": None},
        {"reference_id": '"\\ \u00e4 \u2028 \U0001f600'},
        {"quote": REFUELED, "method": "deposit_address"},
    ],
)
def test_a_request_is_rendered_as_its_envelope_is(changes: dict[str, Any]) -> None:
    body = a_request(**changes)
    envelope = SWAP_REQUESTS.seal(body, version="requested", occurred_at=FRACTION, trace_id="t")

    sealed = Outgoing.from_body(SWAP_REQUESTS, body, version="requested", trace_id="t", at=FRACTION)

    assert sealed == Outgoing.of(SWAP_REQUESTS, envelope)


def test_so_is_a_body_with_models_in_a_list() -> None:
    body = a_swap_changed()
    envelope = SWAP_CHANGED.seal(body, version=2, occurred_at=AT, trace_id="t")

    sealed = Outgoing.from_body(SWAP_CHANGED, body, version=2, trace_id="t", at=AT)

    assert sealed == Outgoing.of(SWAP_CHANGED, envelope)


def test_a_body_made_of_its_members_is_the_one_that_is_read() -> None:
    read = a_request()

    made = SwapRequested.from_trusted(dict(read))

    assert made == read
    assert made.model_dump_json() == read.model_dump_json()
    assert made.model_copy(update={"sequence_number": 1}).sequence_number == 1
    assert set(dict(made)) == set(SwapRequested.model_fields)


def test_unsupported_type_cannot_be_rendered() -> None:
    class Odd(Message):
        amount: complex

    body: Any = a_request().model_copy(update={"quote": Odd.model_construct(amount=1j)})

    with pytest.raises(TypeError):
        Outgoing.from_body(SWAP_REQUESTS, body, version="requested", trace_id="t", at=AT)
