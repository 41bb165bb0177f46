"""Every type of message that is pushed to an app's endpoints, with what it carries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, get_args

from swap_contracts.public.models import (
    EndpointDisabledModel,
    PublicModel,
    SwapStatus,
    WebhookPayloadModel,
)

UPDATED: Final = "swap.updated"
TEST: Final = "webhook.test"
ENDPOINT_DISABLED: Final = "endpoint.disabled"

PUSHED: Final[Mapping[str, type[PublicModel]]] = {
    **{f"swap.{status}": WebhookPayloadModel for status in get_args(SwapStatus)},
    UPDATED: WebhookPayloadModel,
    TEST: WebhookPayloadModel,
    ENDPOINT_DISABLED: EndpointDisabledModel,
}
