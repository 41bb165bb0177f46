"""Checks a code of a device, or a recovery code. Each is used once."""

from __future__ import annotations

from uuid import UUID

from swap_dashboard.adapters.device_codes import TimeCodes
from swap_dashboard.adapters.second_factors import PostgresSecondFactors
from swap_dashboard.adapters.throttling import PostgresThrottle
from swap_dashboard.domain.second_factor import code_hash, is_device_code, to_code
from swap_dashboard.domain.throttling import failure_counters
from swap_dashboard.ports import Clock
from swap_dashboard.usecases.sign_in import RECOVERY_CODES_ALONE, SignInBlocked, SignInRefused


class CheckCode:
    def __init__(
        self,
        factors: PostgresSecondFactors,
        device_codes: TimeCodes,
        throttle: PostgresThrottle,
        *,
        clock: Clock,
    ) -> None:
        self._factors = factors
        self._device_codes = device_codes
        self._throttle = throttle
        self._clock = clock

    async def __call__(self, account_id: UUID, text: str, *, address: str) -> None:
        """
        :raises SignInBlocked: after too many failures, also with a right code.
        :raises SignInRefused: when it is wrong, or was used.
        """
        counted, now = failure_counters(f"code/{account_id}", address), self._clock()
        until = await self._throttle.begin(counted, now)
        if until is not None:
            raise SignInBlocked(until, now=now)
        if not await self._use(account_id, to_code(text)):
            raise SignInRefused
        await self._throttle.succeed(counted)

    async def _use(self, account_id: UUID, code: str) -> bool:
        if not is_device_code(code):
            return await self._factors.use_recovery_code(account_id, code_hash(account_id, code))
        factor = await self._factors.find(account_id)
        if factor is None or not factor.is_confirmed:
            return False
        if factor.secret is None:
            raise SignInRefused(RECOVERY_CODES_ALONE)
        step = self._device_codes.step_of(factor.secret, code, self._clock())
        return step is not None and await self._factors.use_step(account_id, step)
