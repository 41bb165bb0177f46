"""What stands at deposit addresses, on Postgres."""

from __future__ import annotations

from swap_runtime.postgres.database import Engine, reading
from swap_settler.model.store.sweeps import HAS_DUE, HAS_UNBOOKED


class PostgresDueSweeps:
    """What stands at deposit addresses. Locks nothing."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def has_due(self, network: str) -> bool:
        async with reading(self._engine) as connection:
            return bool(await connection.scalar(HAS_DUE, {"network": network}))

    async def has_unbooked(self, network: str) -> bool:
        """Whether final sweeps wait to be booked, or stored ones to be confirmed."""
        async with reading(self._engine) as connection:
            return bool(await connection.scalar(HAS_UNBOOKED, {"network": network}))
