"""How far single providers are accepted: the caps as configured, and what they are used for."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from swap_chain_watcher.adapters import evidence_statements as statements
from swap_chain_watcher.domain.evidence import Exposure, WithheldDeposits
from swap_chain_watcher.domain.policy import Policy
from swap_runtime.postgres.columns import columns
from swap_runtime.postgres.database import Engine, read_alone, transaction


class PostgresTrust:
    """How much single providers may confirm now."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def set_caps(self, policies: Sequence[Policy]) -> None:
        """Replace the stored caps by the configured ones; other services show them."""
        async with transaction(self._engine) as connection:
            connection.post(statements.FORGET_CAPS)
            for policy in policies:
                if (caps := policy.caps) is None:
                    continue
                rows = [
                    {
                        "network": policy.network.name,
                        "token": token.address,
                        "base_units": str(caps.base_units[token.address.lower()]),
                    }
                    for token in policy.network.tokens
                ]
                connection.post(statements.SET_CAPS, {"span": caps.span, **columns(rows)})

    async def exposures(self) -> Sequence[Exposure]:
        rows = await read_alone(self._engine, statements.EXPOSURES)
        return [
            Exposure(r.network, r.token, int(r.cap_base_units), int(r.used_base_units))
            for r in rows
        ]

    async def list_withheld(self) -> Sequence[WithheldDeposits]:
        rows = await read_alone(self._engine, statements.WITHHELD)
        return [
            WithheldDeposits(r.network, r.deposits, timedelta(seconds=int(r.seconds))) for r in rows
        ]
