from __future__ import annotations

from dataclasses import replace
from uuid import UUID

from swap_api.funding.adapters.gasless_rendering import JsonGaslessRendering
from swap_api.funding.store.sign_requests import PostgresSignRequests
from swap_api.funding.usecases.request_signature import RequestSignature
from swap_api.model.deposit_actions import StepStatus
from swap_api.model.gasless import SIGNER_UNKNOWN, GaslessSwap, Steps, steps_of
from swap_api.model.refusals import ApiRefusal
from swap_api.read_model.swaps import StoredSwap
from swap_contracts.public.errors import ErrorCode
from swap_runtime.clock import Clock
from swap_runtime.errors import Unavailable


class ShowSigning:
    """Show what the signer of a gasless swap has to do now."""

    def __init__(
        self,
        ask: RequestSignature,
        rendering: JsonGaslessRendering,
        *,
        requests: PostgresSignRequests,
        clock: Clock,
    ) -> None:
        self._ask = ask
        self._rendering = rendering
        self._requests = requests
        self._clock = clock

    async def inline(
        self, stored: StoredSwap, swap_id: UUID, source_address: str | None
    ) -> StoredSwap:
        """Return the swap with its action, where a signer is known and may sign now."""
        if stored.gasless is None or source_address is None:
            return stored
        try:
            steps = await self._steps(stored, stored.gasless, swap_id)
            if not steps.asks_to_sign:
                return stored
            signer = self._ask.check_address(stored.gasless, source_address)
            draft = await self._ask(stored.gasless, swap_id, signer, deadline=stored.expires_at)
        except (ApiRefusal, Unavailable):
            return stored  # a swap can be read while no node answers
        if draft is None:
            return stored
        action = self._rendering.sign_action(stored, draft.relayed)
        return replace(stored, rendered=replace(stored.rendered, action=action))

    async def steps(
        self, stored: StoredSwap, swap: GaslessSwap, swap_id: UUID, source_address: str | None
    ) -> bytes:
        """Return the list of steps; what is to be signed with them.

        :raises ApiRefusal: when the signer is unknown, or no signature can be requested now.
        :raises Unavailable: when no node answers.
        """
        steps = await self._steps(stored, swap, swap_id)
        if not steps.asks_to_sign:
            return self._rendering.sign_steps(stored, steps, None)
        if source_address is None:
            raise ApiRefusal(ErrorCode.SOURCE_ADDRESS_REQUIRED, SIGNER_UNKNOWN)
        signer = self._ask.check_address(swap, source_address)
        draft = await self._ask(swap, swap_id, signer, deadline=stored.expires_at)
        if draft is None:
            over = Steps(
                StepStatus.FAILED,
                StepStatus.PENDING,
                "This signer used or cancelled what the swap asks for; create another swap",
            )
            return self._rendering.sign_steps(stored, over, None)
        return self._rendering.sign_steps(stored, steps, draft.relayed)

    async def _steps(self, stored: StoredSwap, swap: GaslessSwap, swap_id: UUID) -> Steps:
        newest = await self._requests.find_submission(swap_id)
        deposit = StepStatus(stored.rendered.step_status)
        return steps_of(swap, deposit, newest, self._clock())
