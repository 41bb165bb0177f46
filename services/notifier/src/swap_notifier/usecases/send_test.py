"""Sends an endpoint a webhook about a swap that does not exist, to test its receiver."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Final
from uuid import UUID

from swap_contracts.quoting import AssetRef, Quote
from swap_contracts.swaps import SwapChanged
from swap_notifier import observe
from swap_notifier.adapters.messages import PostgresMessages
from swap_notifier.usecases.create_messages import Render
from swap_runtime.clock import Clock

# A swap without an owner: reading it returns 404.
NO_SWAP: Final = UUID(int=0)
DOLLAR: Final = str(10**18)


class SendTest:
    def __init__(
        self,
        messages: PostgresMessages,
        render: Render,
        *,
        asset: AssetRef,
        clock: Clock,
        new_id: Callable[[], UUID],
    ) -> None:
        """
        :param asset: what the example swaps into itself.
        """
        self._messages = messages
        self._render = render
        self._asset = asset
        self._clock = clock
        self._new_id = new_id

    async def __call__(self, endpoint_id: UUID) -> str | None:
        """Return the message's id; None when the endpoint is unknown or disabled."""
        now, message_id = self._clock(), f"msg_{self._new_id().hex}"
        body = self._render(example_swap(self._asset, at=now))
        is_added = await self._messages.add_test(
            endpoint_id, message_id=message_id, body=body, at=now
        )
        if not is_added:
            return None
        observe.test_sent(message_id, endpoint_id)
        return message_id


def example_swap(asset: AssetRef, *, at: datetime) -> SwapChanged:
    """Return a waiting swap without a real deposit."""
    one, zero_address = str(10**asset.decimals), "0x" + "0" * 40
    return SwapChanged(
        swap_id=NO_SWAP,
        app_id=NO_SWAP,
        sequence_number=1,
        reference_id="test",
        method="direct",
        source=asset,
        destination=asset,
        source_address=None,
        destination_address=zero_address,
        refund_address=None,
        created_at=at,
        expires_at=at,
        sequence=0,
        status="user_transfer_pending",
        previous_status=None,
        changed_at=at,
        closed_at=None,
        fail_reason=None,
        quote=Quote(
            source=asset,
            destination=asset,
            requested_base_units=one,
            receive_base_units=one,
            min_receive_base_units=one,
            blockchain_fee_base_units="0",
            service_fee_base_units="0",
            total_fee_base_units="0",
            fee_discount_base_units="0",
            refuel_in_source_base_units=None,
            refuel_base_units=None,
            slippage_ppm=0,
            source_usd_e18=DOLLAR,
            destination_usd_e18=DOLLAR,
            source_native_usd_e18=DOLLAR,
            destination_native_usd_e18=DOLLAR,
            completion_milliseconds=0,
            path=(),
        ),
        quote_revision=0,
        quote_expires_at=at,
        last_requoted_at=None,
        quote_locked_at=None,
        transactions=(),
    )
