from __future__ import annotations

import subprocess
import sys
from uuid import UUID

import orjson

from services.notifier.tests.factories import NOW, a_catalogue_document, a_swap
from swap_contracts.public.models import EndpointDisabledModel, WebhookPayloadModel
from swap_contracts.public.rendering import render_webhook
from swap_domain.catalogue_document import catalogue_from
from swap_notifier.domain.notices import disabled_notice
from swap_runtime.public_catalogue import public_catalogue

# Mostly SQLAlchemy, pydantic, aiohttp and FastStream, which every process uses.
RSS_MEGABYTES_MAX = 115


def test_loads_neither_web3_nor_eth_account() -> None:
    program = (
        "import sys, swap_notifier.app, swap_runtime.process.running\n"
        "print([m for m in ('web3', 'eth_account', 'fastapi') if m in sys.modules])\n"
        "print(open('/proc/self/status').read().split('VmRSS:')[1].split()[0])\n"
    )

    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )

    loaded, kilobytes = run.stdout.splitlines()
    assert loaded == "[]"
    assert int(kilobytes) // 1024 <= RSS_MEGABYTES_MAX


def test_the_payload_matches_its_documentation() -> None:
    catalogue = public_catalogue(catalogue_from(a_catalogue_document(), to_address=str))

    payload = orjson.dumps(render_webhook(a_swap(), catalogue))

    parsed = WebhookPayloadModel.model_validate_json(payload)
    assert parsed.model_fields_set == set(WebhookPayloadModel.model_fields)


def test_the_notice_matches_its_documentation() -> None:
    notice = disabled_notice(
        UUID(int=1), "https://a.example", disabled_at=NOW, reason="gone", failing_since=None
    )

    parsed = EndpointDisabledModel.model_validate_json(notice)
    assert parsed.model_fields_set == set(EndpointDisabledModel.model_fields)


def test_the_payload_names_its_change() -> None:
    catalogue = public_catalogue(catalogue_from(a_catalogue_document(), to_address=str))

    payload = orjson.loads(orjson.dumps(render_webhook(a_swap(sequence=3), catalogue)))

    assert payload["swap"]["metadata"]["sequence"] == 3
    assert payload["swap"]["metadata"]["reference_id"] == "order-1"
    assert payload["deposit_actions"] == []
