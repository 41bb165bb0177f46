from __future__ import annotations

from dataclasses import replace
from uuid import UUID

from swap_api import observe
from swap_api.funding.adapters.approval_rendering import JsonApprovalRendering
from swap_api.funding.ports import TokenAllowances
from swap_api.funding.usecases.show_signing import ShowSigning
from swap_api.model.addresses import AddressRules
from swap_api.model.gasless import SIGNER_UNKNOWN
from swap_api.model.refusals import ApiRefusal
from swap_api.read_model.swaps import StoredSwap
from swap_domain.catalogue import Catalogue
from swap_runtime.errors import Unavailable


class ResolveDeposit:
    """Decide what the user has to do now to fund a swap; every view uses this answer.

    Allowances and requests for signatures are read from a chain once.
    """

    def __init__(
        self,
        catalogue: Catalogue,
        *,
        rendering: JsonApprovalRendering,
        signing: ShowSigning,
        allowances: TokenAllowances,
    ) -> None:
        self._catalogue = catalogue
        self._addresses = AddressRules(catalogue)
        self._rendering = rendering
        self._signing = signing
        self._allowances = allowances

    async def steps(self, stored: StoredSwap, swap_id: UUID, source_address: str | None) -> bytes:
        """Return the list of steps.

        :raises ApiRefusal: when a signature is needed and no signer is known, or for an invalid
            address.
        """
        if stored.gasless is not None:
            return await self._signing.steps(stored, stored.gasless, swap_id, source_address)
        approval = await self._approval(stored, source_address)
        return self._rendering.steps(stored, approval)

    async def inline(
        self, stored: StoredSwap, swap_id: UUID, source_address: str | None
    ) -> StoredSwap:
        """Return the swap with the action that is to be done now."""
        if stored.gasless is not None:
            return await self._signing.inline(stored, swap_id, source_address)
        approval = await self._approval(stored, source_address)
        if approval is None:
            return stored
        return replace(stored, rendered=replace(stored.rendered, action=approval))

    def missing(self, stored: StoredSwap, source_address: str | None) -> bytes:
        """Return what is missing before a signature is possible, as the next action; else null."""
        if stored.gasless is None or source_address is not None:
            return b"null"
        return self._rendering.without_signer("sign", SIGNER_UNKNOWN)

    async def now(
        self, stored: StoredSwap, swap_id: UUID, source_address: str | None
    ) -> tuple[StoredSwap, bytes]:
        """Return the swap with its action, and the next action; null when there is none.

        Both come from one lookup, so they never contradict each other.

        :raises ApiRefusal: for an address that is none.
        """
        try:
            steps = await self.steps(stored, swap_id, source_address)
        except ApiRefusal as refusal:
            if stored.gasless is None:
                raise
            return stored, self._rendering.without_signer("sign", refusal.message)
        next_action = self._rendering.next_of(steps)
        action = self._rendering.action_of(next_action)
        return replace(stored, rendered=replace(stored.rendered, action=action)), next_action

    async def _approval(self, stored: StoredSwap, source_address: str | None) -> bytes | None:
        """Return the approval that a deposit needs first, if the chain reports one.

        :raises ApiRefusal: for an address that is none.
        """
        if source_address is None:
            return None
        pull = self._rendering.pull_of(stored)
        if pull is None:
            return None
        network = self._catalogue.network(pull.network)
        owner = self._addresses.check(source_address, network, field="source_address")
        try:
            allowed = await self._allowances.allowance(
                network, pull.token, owner=owner, spender=pull.spender
            )
        except Unavailable as error:
            observe.allowance_unknown(network.name, error)
            return None  # the deposit reverts on chain if it lacks an approval
        return None if allowed >= pull.base_units else self._rendering.approval(stored, pull)
