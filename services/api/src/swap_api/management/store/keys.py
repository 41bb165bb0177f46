"""Management of API keys on Postgres."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from sqlalchemy import and_, bindparam, exists, or_, select
from sqlalchemy.orm import aliased
from sqlmodel import col

from swap_api.management.decide.bounds import Bound
from swap_api.management.decide.listing import Part, Row, Window
from swap_api.management.store.auditing import (
    AuditedStatement,
    AuditedStore,
    AuditedTransaction,
    Listing,
    audited_statement,
    within_text,
)
from swap_api.management.store.models import ApiKeyTable, KeyFacts
from swap_api.model.keys import Environment, KeyKind
from swap_api.model.members import Actor
from swap_runtime.postgres.models import columns_of, names_of
from swap_runtime.postgres.sql import sql

KEY: Final = names_of(KeyFacts, ApiKeyTable)
OF_ORGANIZATION: Final = within_text("app.partner_id")

ADD_KEY: Final = audited_statement(
    KeyFacts,
    "key.added",
    f"""
INSERT INTO api_key
  (id, app_id, kind, hash, last_four, label, created_at, expires_at, allowed_origins)
SELECT :id, app.id, :kind, :hash, :last_four, CAST(:label AS text), :at,
       CAST(:expires_at AS timestamptz), CAST(:allowed_origins AS text[])
FROM app WHERE app.id = :app_id AND {OF_ORGANIZATION}
RETURNING {KEY}, (SELECT partner_id FROM app WHERE app.id = api_key.app_id)
""",
)
LOCK_ORGANIZATION: Final = sql("""
SELECT partner.id FROM app JOIN partner ON partner.id = app.partner_id
WHERE app.id = :app_id FOR NO KEY UPDATE OF partner
""")
COUNT_OPEN_KEYS: Final = sql("""
SELECT count(*) FROM api_key
WHERE app_id = :app_id AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > :now)
""")
FIND_KEY: Final = sql(f"""
SELECT api_key.id, api_key.app_id, api_key.kind, api_key.label, app.environment,
       api_key.revoked_at IS NULL
         AND (api_key.expires_at IS NULL OR api_key.expires_at > :now) AS is_open
FROM api_key JOIN app ON app.id = api_key.app_id WHERE api_key.id = :id AND {OF_ORGANIZATION}
""")


def _key_change(action: str, assignment: str, *, of_open: bool = False) -> AuditedStatement:
    """
    :param of_open: whether a key that ended or was revoked stays so.
    """
    still_open = """
  AND api_key.revoked_at IS NULL AND (api_key.expires_at IS NULL OR api_key.expires_at > :at)
"""
    change = f"""
UPDATE api_key SET {assignment}
FROM app WHERE app.id = api_key.app_id AND api_key.id = :id AND {OF_ORGANIZATION}
{still_open if of_open else ""}
RETURNING {KEY}, app.partner_id
"""
    return audited_statement(KeyFacts, action, change)


REVOKE_KEY: Final = _key_change("key.revoked", "revoked_at = coalesce(revoked_at, :at)")
EXPIRE_KEY: Final = _key_change("key.expiry_set", "expires_at = :expires_at", of_open=True)
SET_ALLOWED_ORIGINS: Final = _key_change(
    "key.allowed_origins_set", "allowed_origins = CAST(:allowed_origins AS text[])"
)
# One that would have ended sooner still does.
ROTATE_KEY: Final = _key_change(
    "key.rotated",
    "expires_at = least(api_key.expires_at, CAST(:old_until AS timestamptz))",
    of_open=True,
)
_KEYS: Final = select(*columns_of(KeyFacts, ApiKeyTable))
# A row of no key of the app leaves the part behind it empty.
_START: Final = aliased(ApiKeyTable, name="start")
KEYS: Final = Listing.of(
    KeyFacts,
    _KEYS.where(col(ApiKeyTable.app_id) == bindparam("app_id")).order_by(
        col(ApiKeyTable.created_at).desc(), col(ApiKeyTable.id)
    ),
    after=exists().where(
        col(_START.id) == bindparam("starting_after"),
        col(_START.app_id) == bindparam("app_id"),
        or_(
            col(ApiKeyTable.created_at) < col(_START.created_at),
            and_(
                col(ApiKeyTable.created_at) == col(_START.created_at),
                col(ApiKeyTable.id) > col(_START.id),
            ),
        ),
    ),
)
ALL_KEYS: Final = Listing.of(
    KeyFacts, _KEYS.order_by(col(ApiKeyTable.created_at), col(ApiKeyTable.id))
)


class PostgresKeys(AuditedStore):
    """API keys; as with partners, what is another organization's is not found."""

    async def add(self, key: NewKey, *, bound: Bound | None, actor: Actor, at: datetime) -> Row:
        """
        :raises ApiRefusal: when the app has as many open ones as it may.
        """
        async with self._changes(actor, at) as changes:
            await _keep_within(changes, bound, key)
            return await changes.change(ADD_KEY, _values(key), _log_details(key))

    async def find(self, key_id: UUID, actor: Actor, now: datetime) -> KnownKey:
        """
        :raises NotFound: when there is no such key.
        """
        row = await self._find(FIND_KEY, key_id, actor, now=now)
        return KnownKey(
            id=row.id,
            app_id=row.app_id,
            kind=KeyKind(row.kind),
            environment=Environment(row.environment),
            label=row.label,
            is_open=row.is_open,
        )

    async def revoke(self, key_id: UUID, actor: Actor, at: datetime) -> Row:
        return await self._change(REVOKE_KEY, {"id": key_id}, {}, actor, at)

    async def expire(self, key_id: UUID, expires_at: datetime, actor: Actor, at: datetime) -> Row:
        details = {"expires_at": expires_at}
        return await self._change(EXPIRE_KEY, {"id": key_id, **details}, details, actor, at)

    async def set_allowed_origins(
        self, key_id: UUID, origins: Sequence[str], actor: Actor, at: datetime
    ) -> Row:
        details = {"allowed_origins": list(origins)}
        values = {"id": key_id, **details}
        return await self._change(SET_ALLOWED_ORIGINS, values, details, actor, at)

    async def rotate(
        self,
        key_id: UUID,
        key: NewKey,
        *,
        old_until: datetime,
        bound: Bound | None,
        actor: Actor,
        at: datetime,
    ) -> Row:
        """Add the new key and let the old one end, both or neither; return the new one.

        It has the origins that the old one has now.

        :raises ApiRefusal: when more would be open than may be.
        """
        old = {"id": key_id, "old_until": old_until}
        replaced = {"old_until": old_until, "by": key.id}
        async with self._changes(actor, at) as changes:
            # The organization's row before the key's, as when one is added.
            if bound is not None:
                changes.connection.post(LOCK_ORGANIZATION, {"app_id": key.app_id})
            rotated = await changes.change(ROTATE_KEY, old, replaced)
            key = replace(key, allowed_origins=rotated["allowed_origins"])
            # The old key counts while it is valid, and one additional key is allowed meanwhile. So
            # an app at its bound can still replace its keys, one after the other.
            await _keep_within(changes, bound, key, beyond=1)
            details = {**_log_details(key), "instead_of": key_id}
            return await changes.change(ADD_KEY, _values(key), details)

    async def list_all(self, app_id: UUID | None, window: Window) -> Part:
        if app_id is None:
            return await ALL_KEYS.part(self._engine, {}, window)
        return await KEYS.part(self._engine, {"app_id": app_id}, window)


async def _keep_within(
    changes: AuditedTransaction, bound: Bound | None, key: NewKey, *, beyond: int = 0
) -> None:
    values = {"app_id": key.app_id, "now": changes.at}
    await changes.enforce_bound(
        bound, COUNT_OPEN_KEYS, values, lock=LOCK_ORGANIZATION, beyond=beyond
    )


def _values(key: NewKey) -> dict[str, Any]:
    return {**asdict(key), "kind": key.kind.value, "allowed_origins": list(key.allowed_origins)}


LOGGED: Final = ("app_id", "kind", "label", "last_four", "expires_at", "allowed_origins")


def _log_details(key: NewKey) -> dict[str, Any]:
    """Return the details of a key for the log, without the key."""
    values = _values(key)
    return {name: values[name] for name in LOGGED}


@dataclass(frozen=True, slots=True)
class NewKey:
    id: UUID
    app_id: UUID
    kind: KeyKind
    hash: bytes
    last_four: str
    label: str | None
    expires_at: datetime | None
    allowed_origins: Sequence[str]


@dataclass(frozen=True, slots=True)
class KnownKey:
    """What has to be known of a key to change it."""

    id: UUID
    app_id: UUID
    kind: KeyKind
    environment: Environment
    label: str | None
    is_open: bool  # neither revoked nor expired
