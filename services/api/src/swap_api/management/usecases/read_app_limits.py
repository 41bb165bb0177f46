from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from swap_api.admission.decide.rate_limits import Kind, Rates
from swap_api.management.store.partners import PostgresPartners
from swap_api.model.keys import Allowances
from swap_api.model.members import Actor
from swap_api.read_model.store.swaps import PostgresSwaps
from swap_api.settings import ApiGroup

Limits = Mapping[str, Any]  # as in `AppLimitsModel`


class ReadAppLimits:
    """Read what an app may, and how much of it is used.

    The rates that are used change with each request: the headers of every answer say them.
    """

    def __init__(
        self,
        swaps: PostgresSwaps,
        partners: PostgresPartners,
        *,
        rates: Rates,
        group: ApiGroup,
        networks: Sequence[str],
    ) -> None:
        """
        :param group: the deployment's bounds of what waits for money.
        :param networks: those with deposit addresses.
        """
        self._swaps = swaps
        self._partners = partners
        self._rates = rates
        self._group = group
        self._networks = networks

    async def __call__(self, app_id: UUID, *, actor: Actor) -> Limits:
        """
        :raises NotFound: when there is no such app, or it is another organization's.
        """
        app = await self._partners.find_app(app_id, actor)
        allowances = Allowances(
            reads=app["reads_per_minute"],
            prices=app["prices_per_minute"],
            creates=app["creates_per_minute"],
            ceiling_factor=app["ceiling_factor"],
        )
        own, group = app["pending_swaps_max"], self._group
        swaps_max = own or group.pending_swaps_secret
        return {
            "is_lifted": group.limits_lifted or app["limits_lifted"],
            "burst_minutes": self._rates.burst_minutes,
            "rates": [self._rate(kind, allowances) for kind in Kind],
            "unpaid_swaps": {
                "number": await self._swaps.count(app_id, None, up_to=swaps_max),
                "max": swaps_max,
                "max_of_client": own or group.pending_swaps_publishable,
            },
            "deposit_addresses": [
                {
                    "network": network,
                    "number": await self._swaps.count_addresses(
                        network, app_id, up_to=group.deposit_addresses_per_app
                    ),
                    "max": group.deposit_addresses_per_app,
                }
                for network in self._networks
            ],
        }

    def _rate(self, kind: Kind, allowances: Allowances) -> Mapping[str, Any]:
        return {
            "kind": kind,
            "per_minute": self._rates.ceiling(kind, allowances),
            "per_minute_of_client": self._rates.of(kind, allowances),
        }
