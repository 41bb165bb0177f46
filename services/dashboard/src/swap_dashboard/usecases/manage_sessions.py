from __future__ import annotations

from uuid import UUID

from swap_dashboard import observe
from swap_dashboard.adapters.sessions import PostgresSessions
from swap_dashboard.domain.accounts import Session


class ManageSessions:
    """End sessions, and switch the organization that one acts in."""

    def __init__(self, sessions: PostgresSessions) -> None:
        self._sessions = sessions

    async def end(self, session: Session) -> None:
        await self._sessions.end(session.id, session.account_id)

    async def end_all(self, account_id: UUID) -> None:
        observe.sessions_ended(account_id, await self._sessions.end_all(account_id))

    async def use_membership(self, session: Session, membership_id: UUID) -> None:
        """Act in another organization from now on, if the membership is the account's."""
        await self._sessions.use_membership(session.id, membership_id)
