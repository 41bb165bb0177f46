"""The state of networks, from the api's public route."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, Final

from swap_dashboard.adapters.api_client import data_of, open_client, request
from swap_dashboard.domain.status import NetworkStatus
from swap_dashboard.ports import ApiRefused, ApiUnavailable

PATH: Final = "/public/v1/status"
CONNECTIONS_MAX: Final = 4


class HttpStatusApi:
    def __init__(self, url: str, *, answer_seconds: float) -> None:
        self._client = open_client(
            url, answer_seconds=answer_seconds, connections_max=CONNECTIONS_MAX
        )

    async def networks(self) -> Sequence[NetworkStatus]:
        """
        :raises ApiUnavailable: when the api does not answer, or refuses so many requests.
        """
        try:
            data = data_of(await request(self._client, "GET", PATH))
        except ApiRefused as refused:
            raise ApiUnavailable(refused.code) from refused
        return [_to_status(one) for one in data["networks"]]

    async def close(self) -> None:
        await self._client.aclose()


def _to_status(one: Mapping[str, Any]) -> NetworkStatus:
    """Return the state of a network. An api of an earlier version omits some of its fields."""
    lag = one["lag_seconds"]
    return NetworkStatus(
        name=one["name"],
        display_name=one.get("display_name", one["name"]),
        head=one["head"],
        lag=None if lag is None else timedelta(seconds=lag),
        liquidity=one["liquidity"],
        is_stopped=one["payouts"] == "stopped",
        is_closed=one.get("new_swaps") == "closed",
        stuck_swaps=one["stuck_swaps"],
    )
