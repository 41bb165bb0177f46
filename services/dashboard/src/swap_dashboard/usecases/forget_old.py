from __future__ import annotations

from datetime import timedelta

from swap_dashboard.adapters.second_factors import PostgresPendingSignIns
from swap_dashboard.adapters.sessions import PostgresSessions
from swap_dashboard.adapters.throttling import PostgresThrottle
from swap_dashboard.domain.throttling import FORGOTTEN_AFTER
from swap_dashboard.ports import Clock


class ForgetOld:
    """Delete what has ended: sessions, and failures to sign in."""

    def __init__(
        self,
        sessions: PostgresSessions,
        throttle: PostgresThrottle,
        pending: PostgresPendingSignIns,
        *,
        idle: timedelta,
        clock: Clock,
    ) -> None:
        self._pending = pending
        self._sessions = sessions
        self._throttle = throttle
        self._idle = idle
        self._clock = clock

    async def __call__(self) -> None:
        now = self._clock()
        await self._sessions.forget_ended(now, now - self._idle)
        await self._pending.forget(now)
        await self._throttle.forget(now - FORGOTTEN_AFTER)
