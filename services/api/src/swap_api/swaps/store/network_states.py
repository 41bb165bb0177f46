"""How the networks are, read from two published views."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Final

from swap_api.swaps.decide.network_states import NetworkState, OneProviderCap
from swap_domain.catalogue import Catalogue
from swap_runtime.postgres.database import Engine, reading
from swap_runtime.postgres.sql import sql

NETWORK_STATES: Final = sql("""
SELECT network, progress.block_number, progress.block_time, state.tokens, state.payable_tokens,
       state.stuck, coalesce(state.is_stopped, false) OR halt.network IS NOT NULL AS is_stopped,
       coalesce(withheld.deposits, 0) AS withheld, closed.network IS NOT NULL AS is_closed
FROM chain_watcher.progress AS progress
FULL JOIN settler.network_state AS state USING (network)
FULL JOIN settler.closed_network AS closed USING (network)
LEFT JOIN chain_watcher.halted_network AS halt USING (network)
LEFT JOIN chain_watcher.withheld_deposits AS withheld USING (network)
""")
ONE_PROVIDER_CAPS: Final = sql("""
SELECT network, token, cap_base_units, used_base_units FROM chain_watcher.one_provider_exposure
ORDER BY network, token
""")


class PostgresNetworkStates:
    def __init__(
        self, engine: Engine, catalogue: Catalogue, *, providers: Mapping[str, int]
    ) -> None:
        """
        :param providers: how many independent providers each network's nodes have.
        """
        self._engine = engine
        self._providers = providers
        self._symbols = {
            (network.name, token.address): token.symbol
            for network in catalogue.networks.values()
            for token in network.tokens
        }

    async def current(self) -> Mapping[str, NetworkState]:
        """
        :raises Unavailable: when Postgres is away.
        """
        async with reading(self._engine) as connection:
            rows = await connection.execute(NETWORK_STATES)
            exposures = await connection.execute(ONE_PROVIDER_CAPS)
        caps: defaultdict[str, list[OneProviderCap]] = defaultdict(list)
        for one in exposures:
            token = self._symbols.get((one.network, one.token), one.token)
            cap, used = int(one.cap_base_units), int(one.used_base_units)
            caps[one.network].append(OneProviderCap(token, cap, used))
        unknown = {n: NetworkState(providers=count) for n, count in self._providers.items()}
        return unknown | {
            row.network: NetworkState(
                head=row.block_number,
                head_at=row.block_time,
                tokens=row.tokens or 0,
                payable_tokens=row.payable_tokens or 0,
                stuck_swaps=row.stuck,
                is_stopped=bool(row.is_stopped),
                is_closed=row.is_closed,
                providers=self._providers.get(row.network, 1),
                withheld=row.withheld,
                caps=tuple(caps[row.network]),
            )
            for row in rows
        }
