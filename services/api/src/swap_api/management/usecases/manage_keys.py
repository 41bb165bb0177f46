from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from swap_api import observe
from swap_api.management.decide.bounds import Bounds, CountedKind
from swap_api.management.decide.listing import Part, Row, Window
from swap_api.management.store.keys import KnownKey, NewKey, PostgresKeys
from swap_api.management.store.partners import PostgresPartners
from swap_api.model.keys import LAST_SHOWN, SECRET_BYTES, Environment, KeyKind, key_text
from swap_api.model.members import OPERATOR, Actor
from swap_api.model.refusals import ApiRefusal, Invalid
from swap_api.read_model.swaps import NewId
from swap_contracts.public.errors import ErrorCode
from swap_runtime.clock import Clock

LIFE_MAX: Final = timedelta(days=365_250)
OVERLAP: Final = timedelta(hours=24)  # both keys of a rotation are open this long, by default


@dataclass(frozen=True, slots=True)
class IssuedKey:
    """A key, for the only time that it is known."""

    key: str
    row: Row

    @property
    def id(self) -> UUID:
        found: UUID = self.row["id"]
        return found


class ManageKeys:
    """Make, replace and close the API keys of apps."""

    def __init__(
        self,
        keys: PostgresKeys,
        partners: PostgresPartners,
        bounds: Bounds,
        *,
        clock: Clock,
        new_id: NewId,
        new_secret: Callable[[int], bytes],
        hash_key: Callable[[str], bytes],
    ) -> None:
        self._keys = keys
        self._partners = partners
        self._bounds = bounds
        self._clock = clock
        self._new_id = new_id
        self._new_secret = new_secret
        self._hash_key = hash_key

    async def issue(
        self,
        app_id: UUID,
        kind: KeyKind,
        *,
        label: str | None = None,
        expires_at: datetime | None = None,
        allowed_origins: Sequence[str] = (),
        actor: Actor = OPERATOR,
    ) -> IssuedKey:
        """Make a key. Only its keyed hash and its end are kept.

        :param allowed_origins: of the web pages that may use a publishable key; empty: any.
        :raises ApiRefusal: when there is no such app, or the role is too low. Also when the app is
            at its bound of open keys, or a secret key has origins.
        """
        app = await self._partners.find_app(app_id, actor)
        environment = Environment(app["environment"])
        actor.require_to_work_on(environment)
        self._check_in_future(expires_at)
        if allowed_origins:
            _require_publishable(kind, "allowed_origins")
        text, new = self._new(
            app_id,
            kind,
            environment,
            label=label,
            expires_at=expires_at,
            allowed_origins=allowed_origins,
        )
        bound = self._bounds.of(CountedKind.KEYS, actor)
        row = await self._keys.add(new, bound=bound, actor=actor, at=self._clock())
        observe.key_issued(new.id, app_id, kind)
        return IssuedKey(text, row)

    async def rotate(
        self, key_id: UUID, *, overlap: timedelta | None = None, actor: Actor = OPERATOR
    ) -> IssuedKey:
        """Make a key of the same kind, label and origins; the old one goes on for the overlap.

        :raises ApiRefusal: when there is no such open key, the role is too low, or the app is at
            its bound with another rotation in progress.
        """
        old = await self._open(key_id, actor)
        text, new = self._new(
            old.app_id, old.kind, old.environment, label=old.label, expires_at=None
        )
        now = self._clock()
        until = now + (OVERLAP if overlap is None else overlap)
        bound = self._bounds.of(CountedKind.KEYS, actor)
        row = await self._keys.rotate(
            key_id, new, old_until=until, bound=bound, actor=actor, at=now
        )
        observe.key_issued(new.id, old.app_id, old.kind)
        return IssuedKey(text, row)

    async def expire(self, key_id: UUID, expires_at: datetime, *, actor: Actor = OPERATOR) -> Row:
        """Let a key end at a moment.

        :raises ApiRefusal: when there is no such open key, or the role is too low.
        """
        self._check_in_future(expires_at)
        await self._open(key_id, actor)
        return await self._keys.expire(key_id, expires_at, actor, self._clock())

    async def set_allowed_origins(
        self, key_id: UUID, origins: Sequence[str], *, actor: Actor
    ) -> Row:
        """Set the origins of the web pages that may use a publishable key; empty: any.

        :raises ApiRefusal: when there is no such open key, it is a secret one, or the role is
            too low.
        """
        key = await self._open(key_id, actor)
        _require_publishable(key.kind, "origins")
        return await self._keys.set_allowed_origins(key_id, origins, actor, self._clock())

    async def revoke(self, key_id: UUID, *, actor: Actor = OPERATOR) -> Row:
        """Close a key for good; other keys of its app go on.

        :raises ApiRefusal: when there is no such key, or the role is too low.
        """
        await self._find_permitted(key_id, actor)
        row = await self._keys.revoke(key_id, actor, self._clock())
        observe.key_revoked(key_id)
        return row

    async def list_all(self, app_id: UUID | None, window: Window, *, actor: Actor) -> Part:
        """
        :raises NotFound: when there is no such app.
        """
        if app_id is not None:
            await self._partners.find_app(app_id, actor)
        return await self._keys.list_all(app_id, window)

    async def _find_permitted(self, key_id: UUID, actor: Actor) -> KnownKey:
        key = await self._keys.find(key_id, actor, self._clock())
        actor.require_to_work_on(key.environment)
        return key

    async def _open(self, key_id: UUID, actor: Actor) -> KnownKey:
        key = await self._find_permitted(key_id, actor)
        if not key.is_open:
            raise ApiRefusal(ErrorCode.KEY_CLOSED, "This key is already revoked or expired")
        return key

    def _check_in_future(self, moment: datetime | None) -> None:
        if moment is None:
            return
        ahead = moment - self._clock()
        if not timedelta(0) < ahead <= LIFE_MAX:
            raise Invalid.field("expires_at", "must lie in the future, within a thousand years")

    def _new(
        self,
        app_id: UUID,
        kind: KeyKind,
        environment: Environment,
        *,
        label: str | None,
        expires_at: datetime | None,
        allowed_origins: Sequence[str] = (),
    ) -> tuple[str, NewKey]:
        text = key_text(environment, kind, self._new_secret(SECRET_BYTES))
        new = NewKey(
            id=self._new_id(),
            app_id=app_id,
            kind=kind,
            hash=self._hash_key(text),
            last_four=text[-LAST_SHOWN:],
            label=label,
            expires_at=expires_at,
            allowed_origins=allowed_origins,
        )
        return text, new


def _require_publishable(kind: KeyKind, field: str) -> None:
    if kind is not KeyKind.PUBLISHABLE:
        raise Invalid.field(field, "may be set for publishable keys only; no page has a secret key")
