from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from swap_api import observe
from swap_api.domain.keys import (
    LAST_SHOWN,
    SECRET_BYTES,
    Allowances,
    Environment,
    KeyKind,
    key_text,
)
from swap_api.domain.refusals import NothingThere
from swap_api.ports import Clock, NewId, NewKey, Partners


@dataclass(frozen=True, slots=True)
class IssuedKey:
    """A key, for the only time that it is known."""

    id: UUID
    key: str


class KeepPartners:
    """Keep the register of partners, their apps and their keys."""

    def __init__(
        self,
        partners: Partners,
        *,
        clock: Clock,
        new_id: NewId,
        new_secret: Callable[[int], bytes],
        hash_key: Callable[[str], bytes],
    ) -> None:
        self._partners = partners
        self._clock = clock
        self._new_id = new_id
        self._new_secret = new_secret
        self._hash_key = hash_key

    async def add_partner(self, name: str) -> UUID:
        partner_id = self._new_id()
        await self._partners.add_partner(partner_id, name, self._clock())
        return partner_id

    async def add_app(
        self, partner_id: UUID, *, name: str, environment: Environment, allowances: Allowances
    ) -> UUID:
        """
        :raises NothingThere: when there is no such partner.
        """
        app_id = self._new_id()
        await self._partners.add_app(
            app_id,
            partner_id,
            name=name,
            environment=environment,
            allowances=allowances,
            at=self._clock(),
        )
        return app_id

    async def issue_key(
        self, app_id: UUID, kind: KeyKind, *, expires_at: datetime | None
    ) -> IssuedKey:
        """Make a key. Only its keyed hash and its end are kept.

        :raises NothingThere: when there is no such app.
        """
        environment = await self._partners.find_environment(app_id)
        if environment is None:
            raise NothingThere("There is no such app")
        key = key_text(environment, kind, self._new_secret(SECRET_BYTES))
        kept = NewKey(
            id=self._new_id(),
            app_id=app_id,
            kind=kind,
            hash=self._hash_key(key),
            last_four=key[-LAST_SHOWN:],
            created_at=self._clock(),
            expires_at=expires_at,
        )
        await self._partners.add_key(kept)
        observe.key_issued(kept.id, app_id, kind)
        return IssuedKey(kept.id, key)

    async def revoke_key(self, key_id: UUID) -> None:
        """Close a key for good; other keys of its app go on.

        :raises NothingThere: when there is no such key.
        """
        await self._partners.revoke_key(key_id, self._clock())
        observe.key_revoked(key_id)

    async def list_partners(self) -> Sequence[Mapping[str, Any]]:
        return await self._partners.list_partners()

    async def list_apps(self) -> Sequence[Mapping[str, Any]]:
        return await self._partners.list_apps()

    async def list_keys(self, app_id: UUID | None) -> Sequence[Mapping[str, Any]]:
        return await self._partners.list_keys(app_id)
