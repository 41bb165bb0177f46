"""How the networks are, as it is answered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

import orjson

from swap_api.swaps.decide.network_states import NetworkState
from swap_domain.catalogue import Network

SECOND: Final = timedelta(seconds=1)


def render_status(
    networks: Sequence[Network], states: Mapping[str, NetworkState], *, at: datetime
) -> bytes:
    """Return a StatusModel with every network, also one that nothing is known of."""
    nothing = NetworkState()
    states_of_networks = [_network(one, states.get(one.name, nothing), at) for one in networks]
    return orjson.dumps({"networks": states_of_networks})


def _network(network: Network, state: NetworkState, at: datetime) -> dict[str, Any]:
    head_at = state.head_at
    return {
        "name": network.name,
        "display_name": network.display_name,
        "head": state.head,
        "head_at": None if head_at is None else head_at.isoformat(),
        "lag_seconds": None if head_at is None else max((at - head_at) // SECOND, 0),
        "liquidity": _liquidity(state),
        "payouts": "stopped" if state.is_stopped else "running",
        "new_swaps": "closed" if state.is_closed else "open",
        "stuck_swaps": state.stuck_swaps,
        "node_providers": state.providers,
        "deposits_withheld": state.withheld,
        "one_provider_caps": [
            {
                "token": cap.token,
                "cap_base_units": str(cap.cap_base_units),
                "used_base_units": str(cap.used_base_units),
            }
            for cap in state.caps
        ],
    }


def _liquidity(state: NetworkState) -> str:
    if not state.payable_tokens:
        return "none"
    return "available" if state.payable_tokens == state.tokens else "partial"
