from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from swap_api.funding.ports import GaslessChains
from swap_api.funding.store.sign_requests import PostgresSignRequests
from swap_api.funding.usecases.offer_gasless import OfferGasless
from swap_api.model.addresses import AddressRules
from swap_api.model.gasless import (
    GaslessSwap,
    SignRequest,
    relayed_for,
    window,
    with_requested_window,
)
from swap_api.model.refusals import ApiRefusal
from swap_chains.evm.gasless import RelayedDeposit
from swap_contracts.public.errors import ErrorCode
from swap_domain.catalogue import Catalogue
from swap_domain.gasless import GaslessStandard
from swap_runtime.clock import Clock

# Any address can be named as a signer, and each has separate rows. A swap has one payer, who may
# change the wallet a few times. Concurrent first requests may exceed the number by a few.
SIGNERS_MAX: Final = 20


@dataclass(frozen=True, slots=True)
class SignatureDraft:
    """What a wallet is to sign, with what it is about."""

    request: SignRequest
    relayed: RelayedDeposit


class RequestSignature:
    """Say what a signer has to sign for a swap: the same bytes until they are worth nothing."""

    def __init__(
        self,
        catalogue: Catalogue,
        *,
        offer: OfferGasless,
        chains: GaslessChains,
        requests: PostgresSignRequests,
        clock: Clock,
    ) -> None:
        self._catalogue = catalogue
        self._addresses = AddressRules(catalogue)
        self._offer = offer
        self._chains = chains
        self._requests = requests
        self._clock = clock

    def check_address(self, swap: GaslessSwap, address: str) -> str:
        """Return a signer's address in its checksummed form.

        :raises ApiRefusal: when it is none that could sign.
        """
        network = self._catalogue.network(swap.network)
        return self._addresses.check(address, network, field="source_address")

    async def draft(
        self, swap: GaslessSwap, swap_id: UUID, signer: str, *, deadline: datetime, issue: int = 1
    ) -> SignatureDraft | None:
        """Draft the next request for a signature; None when the chain accepts no further one.

        :raises ApiRefusal: when the token is not offered like that now.
        :raises Unavailable: when no node answers.
        """
        network = self._catalogue.network(swap.network)
        gasless = self._offer.require(network, network.token(swap.token))
        bare = relayed_for(network, gasless, swap, signer=signer)
        signer_state = await self._chains.signer_state(network, bare)
        is_permit = gasless.standard is GaslessStandard.EIP2612
        if signer_state.is_nonce_used and not is_permit:
            return None
        request = SignRequest(
            swap_id=swap_id,
            signer=signer,
            issue=issue,
            standard=gasless.standard,
            nonce=signer_state.next_nonce or 0 if is_permit else bare.nonce,
            valid_after=0,
            valid_before=window(self._clock(), deadline),
        )
        return SignatureDraft(request, with_requested_window(bare, request))

    async def __call__(
        self, swap: GaslessSwap, swap_id: UUID, signer: str, *, deadline: datetime
    ) -> SignatureDraft | None:
        """Return the signer's open request, or a new one that is stored.

        :raises ApiRefusal: when the token is not offered like that now, or for a signer above
            the limit.
        :raises Unavailable: when no node answers.
        """
        known = await self._requests.newest(swap_id, signer)
        if known is not None and known.can_be_signed(self._clock()):
            network = self._catalogue.network(swap.network)
            gasless = self._offer.require(network, network.token(swap.token))
            relayed_again = with_requested_window(
                relayed_for(network, gasless, swap, signer=signer), known
            )
            if not (await self._chains.signer_state(network, relayed_again)).is_nonce_used:
                return SignatureDraft(known, relayed_again)
        if known is None and await self._requests.count_signers(swap_id) >= SIGNERS_MAX:
            raise ApiRefusal(
                ErrorCode.LIMIT_REACHED,
                f"A swap may have {SIGNERS_MAX} signers; sign with one that was asked, "
                "or create another swap",
                metadata={"limit": "signers_per_swap", "most": SIGNERS_MAX},
            )
        issue = 1 if known is None else known.issue + 1
        drafted = await self.draft(swap, swap_id, signer, deadline=deadline, issue=issue)
        if drafted is None:
            return None
        # Concurrent requests get the one that was stored first.
        stored = await self._requests.keep(drafted.request)
        return SignatureDraft(stored, with_requested_window(drafted.relayed, stored))
