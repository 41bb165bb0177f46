"""Endpoints, in Postgres."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Final
from uuid import UUID

from swap_notifier.adapters import statements
from swap_notifier.adapters.disabling import disable
from swap_notifier.adapters.rows import to_endpoint
from swap_notifier.domain.endpoints import DisabledByOperator, Endpoint, SecretStorage, TooMany
from swap_notifier.domain.outcomes import DisabledReason
from swap_notifier.domain.urls import place_of
from swap_runtime.operators.operator_log import log_order
from swap_runtime.postgres.columns import columns
from swap_runtime.postgres.database import Engine, Transaction, read_alone, transaction
from swap_runtime.sealing import Sealing, Unreadable

SECRETS: Final = ("secret", "previous_secret", "earlier_secret")


class PostgresEndpoints:
    def __init__(self, engine: Engine, sealing: Sealing) -> None:
        self._engine = engine
        self._sealing = sealing

    async def add(self, endpoint: Endpoint, *, secret: str, most: int | None = None) -> None:
        """
        :param most: how many its app may have; None where an operator adds it.
        :raises TooMany: when its app has so many already.
        :raises DisabledByOperator: when an operator disabled one of the app with the same URL.
        """
        async with transaction(self._engine) as connection:
            if most is not None:
                await _keep_within(connection, endpoint, most)
            sealed = self._sealing.seal(secret, owner_id=endpoint.id)
            values = {**asdict(endpoint), "secret": sealed}
            connection.post(statements.ADD_ENDPOINT, values)
            await log_order(connection)

    async def list_endpoints(self, app_id: UUID | None) -> Sequence[Endpoint]:
        is_one = app_id is not None
        statement = statements.ENDPOINTS_OF_APP if is_one else statements.ENDPOINTS
        rows = await read_alone(self._engine, statement, {"app_id": app_id})
        return [to_endpoint(row) for row in rows]

    async def find(self, endpoint_id: UUID) -> Endpoint | None:
        rows = await read_alone(self._engine, statements.ENDPOINT, {"id": endpoint_id})
        row = rows.one_or_none()
        return None if row is None else to_endpoint(row)

    async def rotate(
        self, endpoint_id: UUID, *, secret: str, at: datetime, until: datetime
    ) -> bool:
        """Give it a new secret; the present one signs beside it `until` then.

        The earlier one also signs until the end that was set when it was replaced.
        """
        sealed = self._sealing.seal(secret, owner_id=endpoint_id)
        values = {"id": endpoint_id, "secret": sealed, "at": at, "until": until}
        async with transaction(self._engine) as connection:
            is_rotated = bool(await connection.execute(statements.ROTATE, values))
            if is_rotated:
                await log_order(connection)
        return is_rotated

    async def choose_events(
        self, endpoint_id: UUID, *, wants_updates: bool, wants_notices: bool
    ) -> Endpoint | None:
        """Return the endpoint with the events that it gets from now on."""
        values = {
            "id": endpoint_id,
            "wants_updates": wants_updates,
            "wants_notices": wants_notices,
        }
        async with transaction(self._engine) as connection:
            if not (await connection.execute(statements.CHOOSE_EVENTS, values)).changed:
                return None
            await log_order(connection)
            rows = await connection.execute(statements.ENDPOINT, {"id": endpoint_id})
        return to_endpoint(rows.one())

    async def disable(self, endpoint_id: UUID, *, reason: DisabledReason, at: datetime) -> bool:
        """Stop sending to it; what waits for it is discarded, what is under way ends.

        Of one that is disabled already the reason stays, unless an operator's takes its place.
        Endpoints of its app with `wants_notices` are notified.
        """
        async with transaction(self._engine) as connection:
            is_disabled = bool(await disable(connection, [endpoint_id], reason=reason, at=at))
            if is_disabled:
                await log_order(connection)
        return is_disabled

    async def enable(
        self, endpoint_id: UUID, *, at: datetime, undoes_operator: bool = True
    ) -> bool:
        """Send to it what happens from now on; what waited for it meanwhile is discarded.

        :raises DisabledByOperator: when an operator disabled it and an owner enables it.
        """
        async with transaction(self._engine) as connection:
            connection.post(statements.DISCARD, {"at": at})
            if not await _is_there(connection, endpoint_id, undoes_operator=undoes_operator):
                return False
            connection.post(statements.ENABLE, {"id": endpoint_id, "at": at})
            await log_order(connection)
        return True

    async def remove(
        self, endpoint_id: UUID, *, reason: DisabledReason, at: datetime, undoes_operator: bool
    ) -> bool:
        """Stop sending to it, and hide it.

        :param reason: why it is disabled, unless it is already.
        :raises DisabledByOperator: as `enable` does.
        """
        async with transaction(self._engine) as connection:
            if not await _is_there(connection, endpoint_id, undoes_operator=undoes_operator):
                return False
            values = {"id": endpoint_id, "reason": reason.value, "at": at}
            connection.post(statements.REMOVE, values)
            connection.post(statements.DISCARD, {"at": at})
            await log_order(connection)
        return True

    async def seal_anew(self, *, limit: int) -> int:
        """Seal with the first key what something else sealed; return how many endpoints'."""
        keys = {"first": self._sealing.first_key_id, "known": list(self._sealing.key_ids)}
        async with transaction(self._engine) as connection:
            rows = await connection.execute(statements.OLDER_SECRETS, {**keys, "limit": limit})
            anew = []
            for row in rows:
                stored = {name: getattr(row, name) for name in SECRETS}
                sealed = {name: self._anew(row.id, one) for name, one in stored.items()}
                if sealed != stored:
                    anew.append({"id": row.id, **sealed})
            if anew:
                connection.post(statements.SEAL_SECRETS, columns(anew))
        return len(anew)

    def _anew(self, endpoint_id: UUID, sealed: str | None) -> str | None:
        """Return it sealed with the first key; as it is, where it is so, or nothing opens it."""
        if sealed is None or self._sealing.is_current(sealed):
            return sealed
        try:
            secret = self._sealing.open(sealed, owner_id=endpoint_id)
        except Unreadable:
            return sealed
        return self._sealing.seal(secret, owner_id=endpoint_id)

    async def count_secrets(self) -> Mapping[SecretStorage, int]:
        count: Counter[SecretStorage] = Counter()
        for row in await read_alone(self._engine, statements.SECRETS_BY_KEY):
            count[self._storage_of(row.key_id)] += row.number
        return {storage: count[storage] for storage in SecretStorage}

    def _storage_of(self, key_id: str) -> SecretStorage:
        if key_id == self._sealing.first_key_id:
            return SecretStorage.FIRST_KEY
        return (
            SecretStorage.OTHER_KEY if key_id in self._sealing.key_ids else SecretStorage.UNREADABLE
        )


async def _keep_within(connection: Transaction, endpoint: Endpoint, most: int) -> None:
    """Serialize additions to the app by a lock, and count its endpoints.

    :raises TooMany: when there is no room for one more.
    :raises DisabledByOperator: when an operator disabled one that leads to the same place.
    """
    values = {"app_id": endpoint.app_id}
    connection.post(statements.LOCK_APP, values)
    found = (await connection.execute(statements.COUNT_ENDPOINTS, values)).one()
    if place_of(endpoint.url) in map(place_of, found.kept_disabled or ()):
        raise DisabledByOperator
    if found.there >= most:
        raise TooMany


async def _is_there(connection: Transaction, endpoint_id: UUID, *, undoes_operator: bool) -> bool:
    """Hold the endpoint, if there is such a one.

    :raises DisabledByOperator: when an operator disabled it, and this undoes no operator's doing.
    """
    row = (await connection.execute(statements.LOCK, {"id": endpoint_id})).one_or_none()
    if row is None:
        return False
    if row.disabled_reason == DisabledReason.OPERATOR and not undoes_operator:
        raise DisabledByOperator
    return True
