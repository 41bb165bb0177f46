"""Callers by API key: looked up by a keyed hash, cached for a few seconds."""

from __future__ import annotations

import hmac
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from time import monotonic
from typing import Final
from uuid import UUID

from pydantic import SecretStr

from swap_api.call_batching import CallBatcher
from swap_api.model.keys import Allowances, Caller, Environment, KeyKind
from swap_runtime.clock import Clock
from swap_runtime.postgres.database import Engine, execute_alone, read_alone
from swap_runtime.postgres.sql import Row, sql

FIND_CALLERS: Final = sql("""
SELECT api_key.hash, api_key.id AS key_id, api_key.app_id, api_key.kind, api_key.expires_at,
       api_key.allowed_origins, app.environment, app.reads_per_minute, app.prices_per_minute,
       app.creates_per_minute, app.ceiling_factor, app.pending_swaps_max, app.limits_lifted,
       app.swap_lifetime, app.fee_basis_points
FROM api_key JOIN app ON app.id = api_key.app_id
WHERE api_key.hash = ANY(CAST(:hashes AS bytea[])) AND api_key.revoked_at IS NULL
""")
NOTE_USE: Final = sql("""
UPDATE api_key SET last_used_at = used.at
FROM unnest(CAST(:id AS uuid[]), CAST(:at AS timestamptz[])) AS used(id, at)
WHERE api_key.id = used.id AND (api_key.last_used_at IS NULL OR api_key.last_used_at < used.at)
""")

CACHE_TTL: Final = timedelta(seconds=5)
CACHE_MAX: Final = 10_000
KEY_LENGTH_MAX: Final = 256


class KeyHashes:
    """Keyed, so that a copy of the table alone is worth nothing."""

    def __init__(self, pepper: SecretStr, others: Sequence[SecretStr] = ()) -> None:
        """
        :param others: of a rotation: hashes with one of them are replaced at their use.
        """
        self._peppered, *self._others = (
            hmac.new(one.get_secret_value().encode(), digestmod="sha256")
            for one in (pepper, *others)
        )

    def __call__(self, key: str) -> bytes:
        return _digest(self._peppered, key)

    def by_other_peppers(self, key: str) -> list[bytes]:
        return [_digest(other, key) for other in self._others]


def _digest(peppered: hmac.HMAC, key: str) -> bytes:
    keyed = peppered.copy()
    keyed.update(key.encode())
    return keyed.digest()


LookUp = Callable[[bytes], Awaitable[Caller | None]]


@dataclass(frozen=True, slots=True)
class _CachedCaller:
    caller: Caller | None
    until: float


class PostgresCallers:
    def __init__(
        self,
        engine: Engine,
        hashes: KeyHashes,
        *,
        clock: Clock,
        find_rotated: Callable[[str, LookUp], Awaitable[Caller | None]],
    ) -> None:
        """
        :param find_rotated: looks for a key by the other peppers, while one is being replaced.
        """
        self._engine = engine
        self._hashes = hashes
        self._find_rotated = find_rotated
        self._clock = clock
        self._remembered: OrderedDict[bytes, _CachedCaller] = OrderedDict()
        self._used: dict[UUID, datetime] = {}
        self._asking: CallBatcher[bytes, Caller | None] = CallBatcher(
            self._ask, batch_max=64, concurrent_batches_max=2
        )

    async def find(self, key: str) -> Caller | None:
        """Return the key's caller; None when it is unknown or revoked.

        :raises Unavailable: when that cannot be looked up.
        """
        if len(key) > KEY_LENGTH_MAX:
            return None
        key_hash = self._hashes(key)
        known = self._remembered.get(key_hash)
        if known is None or known.until < monotonic():
            caller = await self._asking(key_hash)
            if caller is None:
                caller = await self._find_rotated(key, self._asking)
            known = self._remember(key_hash, caller)
        caller = self._without_expired(known.caller)
        if caller is not None:
            self._used[caller.key_id] = self._clock()
        return caller

    def cached_caller(self, key: str) -> Caller | None:
        """Return the key's caller at its last lookup, of any age."""
        known = self._remembered.get(self._hashes(key)) if len(key) <= KEY_LENGTH_MAX else None
        return None if known is None else self._without_expired(known.caller)

    async def save_uses(self) -> None:
        """Store when keys were last used; a crash loses the latest uses."""
        used, self._used = self._used, {}
        if used:
            values = {"id": list(used), "at": list(used.values())}
            await execute_alone(self._engine, NOTE_USE, values)

    def _without_expired(self, caller: Caller | None) -> Caller | None:
        if caller is None or caller.expires_at is None or caller.expires_at > self._clock():
            return caller
        return None

    def _remember(self, key_hash: bytes, caller: Caller | None) -> _CachedCaller:
        known = _CachedCaller(caller, monotonic() + CACHE_TTL.total_seconds())
        self._remembered[key_hash] = known
        self._remembered.move_to_end(key_hash)
        while len(self._remembered) > CACHE_MAX:
            self._remembered.popitem(last=False)
        return known

    async def _ask(self, hashes: Sequence[bytes]) -> Sequence[Caller | Exception | None]:
        rows = await read_alone(self._engine, FIND_CALLERS, {"hashes": list(set(hashes))})
        found: Mapping[bytes, Caller] = {bytes(row.hash): _to_caller(row) for row in rows}
        return [found.get(key_hash) for key_hash in hashes]


def _to_caller(row: Row) -> Caller:
    return Caller(
        key_id=row.key_id,
        app_id=row.app_id,
        environment=Environment(row.environment),
        kind=KeyKind(row.kind),
        allowances=Allowances(
            reads=row.reads_per_minute,
            prices=row.prices_per_minute,
            creates=row.creates_per_minute,
            ceiling_factor=row.ceiling_factor,
            pending_swaps=row.pending_swaps_max,
            is_lifted=row.limits_lifted,
            swap_lifetime=row.swap_lifetime,
            fee_basis_points=row.fee_basis_points,
        ),
        expires_at=row.expires_at,
        allowed_origins=frozenset(row.allowed_origins),
    )
