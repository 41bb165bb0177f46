"""Every type of sent message is documented, in the documented shape."""

from __future__ import annotations

from typing import get_args

from services.notifier.tests.factories import ETH, NOW, a_catalogue_document
from swap_contracts.public.models import SwapStatus
from swap_contracts.public.webhooks import PUSHED, TEST
from swap_domain.catalogue_document import catalogue_from
from swap_notifier.app import renderer
from swap_notifier.domain import events
from swap_notifier.domain.events import event_type
from swap_notifier.usecases.send_test import example_swap
from swap_runtime.public_catalogue import public_catalogue

NAMED = {value for name, value in vars(events).items() if name.isupper()}


def test_the_sent_events_are_the_documented_ones() -> None:
    pushed = {event_type(status=one, previous_status=None) for one in get_args(SwapStatus)}

    assert NAMED | pushed == set(PUSHED)


def test_a_test_message_matches_its_documentation() -> None:
    catalogue = public_catalogue(catalogue_from(a_catalogue_document(), to_address=str))

    body = renderer(catalogue)(example_swap(ETH, at=NOW))

    parsed = PUSHED[TEST].model_validate_json(body)
    assert parsed.model_fields_set == set(PUSHED[TEST].model_fields)
