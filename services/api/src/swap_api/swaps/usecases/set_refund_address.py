from __future__ import annotations

from uuid import UUID

from swap_api import observe
from swap_api.model.addresses import AddressRules, refuse_own
from swap_api.model.keys import Caller
from swap_api.model.refusals import Invalid, NotFound
from swap_api.read_model.store.swaps import PostgresSwaps
from swap_api.swaps.store.own_addresses import PostgresOwnAddresses
from swap_api.swaps.store.refund_addresses import PostgresRefundAddresses
from swap_api.swaps.usecases.screen_parties import ScreenParties
from swap_contracts.swaps import RefundAddressSet
from swap_contracts.topics import SWAP_REQUESTS
from swap_contracts.tracing import trace_id_of
from swap_domain.catalogue import Catalogue
from swap_runtime.clock import Clock
from swap_runtime.messaging.outbox import Outgoing

FIELD = "refund_address"


class SetRefundAddress:
    """Set the refund address of a swap that has none."""

    def __init__(
        self,
        catalogue: Catalogue,
        swaps: PostgresSwaps,
        *,
        refund_addresses: PostgresRefundAddresses,
        own_addresses: PostgresOwnAddresses,
        clock: Clock,
        screen_parties: ScreenParties,
    ) -> None:
        self._screen_parties = screen_parties
        self._catalogue = catalogue
        self._swaps = swaps
        self._refund_addresses = refund_addresses
        self._own_addresses = own_addresses
        self._addresses = AddressRules(catalogue)
        self._clock = clock

    async def __call__(self, caller: Caller, swap_id: UUID, address: str) -> None:
        """
        :raises NotFound: for an unknown id and for one of another tenant alike.
        :raises Invalid: when another address was set before.
        :raises ApiRefusal: when it is no address on the source network.
        """
        network_name = await self._swaps.source_network(caller.app_id, swap_id)
        if network_name is None:
            raise NotFound
        network = self._catalogue.network(network_name)
        checked = self._addresses.check(address, network, field=FIELD)
        refuse_own({FIELD: checked}, await self._own_addresses.among([checked.lower()]))
        await self._screen_parties({FIELD: (network.name, checked)})
        body = RefundAddressSet(swap_id=swap_id, refund_address=checked)
        envelope = SWAP_REQUESTS.seal(
            body,
            version=f"refund/{checked}",
            occurred_at=self._clock(),
            trace_id=trace_id_of(swap_id),
        )
        outgoing = Outgoing.of(SWAP_REQUESTS, envelope)
        if not await self._refund_addresses.set_first(swap_id, checked, outgoing):
            raise Invalid.field(FIELD, "is set already, to another address")
        observe.refund_address_set(swap_id)
