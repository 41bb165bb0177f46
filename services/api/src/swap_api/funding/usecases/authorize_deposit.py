from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from swap_api import observe
from swap_api.funding.ports import GaslessChains
from swap_api.funding.store.sign_requests import PostgresSignRequests
from swap_api.funding.usecases.offer_gasless import OfferGasless
from swap_api.funding.usecases.request_signature import RequestSignature
from swap_api.model.gasless import (
    GaslessSwap,
    SignRequest,
    accepts_another,
    relayed_for,
    with_requested_window,
)
from swap_api.model.keys import Caller
from swap_api.model.refusals import ApiRefusal, Invalid
from swap_api.read_model.store.swaps import PostgresSwaps
from swap_api.read_model.swaps import StoredSwap
from swap_api.read_model.usecases.find_own_swap import find_own_swap
from swap_chains.evm.codec import selector
from swap_chains.evm.gasless import RelayedDeposit
from swap_chains.evm.gasless_reader import SignerState
from swap_chains.evm.signatures import SIGNATURE_BYTES, normalise, recover
from swap_contracts.public.errors import ErrorCode
from swap_contracts.swaps import AuthorizationSubmitted
from swap_contracts.topics import SWAP_REQUESTS
from swap_contracts.tracing import trace_id_of
from swap_domain.catalogue import Catalogue
from swap_runtime.clock import Clock
from swap_runtime.errors import Unavailable
from swap_runtime.messaging.outbox import Outgoing

SIGNATURE_BYTES_MAX: Final = 4096
PAUSED: Final = selector("EnforcedPause()")
STEP_WAITS: Final = "action_required"


@dataclass(frozen=True, slots=True)
class SignedAuthorization:
    """What came, read."""

    signer: str
    signature: bytes  # normalised


class AuthorizeDeposit:
    """Take a signature that deposits for a swap, once the very deposit was tried on the chain."""

    def __init__(
        self,
        catalogue: Catalogue,
        *,
        swaps: PostgresSwaps,
        offer: OfferGasless,
        ask: RequestSignature,
        chains: GaslessChains,
        requests: PostgresSignRequests,
        clock: Clock,
    ) -> None:
        self._catalogue = catalogue
        self._swaps = swaps
        self._offer = offer
        self._ask = ask
        self._chains = chains
        self._requests = requests
        self._clock = clock

    async def __call__(self, caller: Caller, swap_id: UUID, signature: str, signer: str) -> None:
        """
        :raises NotFound: for an unknown id and for one of another tenant alike.
        :raises ApiRefusal: when it is not accepted; then nothing is stored.
        :raises Unavailable: when no node answers.
        """
        stored = await find_own_swap(self._swaps, caller, swap_id)
        swap = stored.gasless
        if swap is None:
            raise not_requested()
        signed = SignedAuthorization(
            self._ask.check_address(swap, signer), read_signature(signature)
        )
        requests = await self._requests.newest_five(swap_id, signed.signer)
        if not requests:
            raise not_requested()
        await self._check_turn(stored, swap, swap_id)
        request, relayed = self._applicable(swap, signed, requests)
        if not request.can_be_relayed(self._clock()):
            raise _expiry_refusal()
        try:
            await self._check_on_chain(swap, relayed, signed)
        except ApiRefusal as refusal:
            if refusal.code is ErrorCode.SIGNATURE_INVALID:
                await self._requests.refuse(request)
            raise
        await self._submit(request, relayed, signed)
        observe.authorization_accepted(swap_id, swap.network, request.standard.value)

    async def _check_turn(self, stored: StoredSwap, swap: GaslessSwap, swap_id: UUID) -> None:
        newest = await self._requests.find_submission(swap_id)
        if not accepts_another(swap, newest, self._clock()):
            raise already_submitted()
        if stored.rendered.step_status != STEP_WAITS:
            raise ApiRefusal(
                ErrorCode.SWAP_NOT_PAYABLE, "This swap takes no money any more; create another"
            )

    def _applicable(
        self, swap: GaslessSwap, signed: SignedAuthorization, requests: list[SignRequest]
    ) -> tuple[SignRequest, RelayedDeposit]:
        """Return which of the requests was signed: the newest, unless a key signed another."""
        network = self._catalogue.network(swap.network)
        gasless = self._offer.require(network, network.token(swap.token))
        bare = relayed_for(network, gasless, swap, signer=signed.signer)
        applicable = [(request, with_requested_window(bare, request)) for request in requests]
        for request, relayed in applicable:
            if recover(relayed.digest(), signed.signature) == signed.signer:
                return request, relayed
        return applicable[0]

    async def _check_on_chain(
        self, swap: GaslessSwap, relayed: RelayedDeposit, signed: SignedAuthorization
    ) -> None:
        """Decide by the chain: what a key signs may be another thing for the token."""
        network = self._catalogue.network(swap.network)
        signer_state = await self._chains.signer_state(network, relayed)
        recovered = recover(relayed.digest(), signed.signature)
        if recovered != signed.signer and not signer_state.has_code:
            raise _invalid("The signature is not the signer's over this data")
        if signer_state.base_units < relayed.base_units:
            raise ApiRefusal(
                ErrorCode.INSUFFICIENT_SIGNER_BALANCE,
                "The signer holds less than the deposit amount; top up and submit again",
            )
        self._check_nonce(signer_state)
        try:
            answer = await self._chains.simulate_relay(network, relayed, signed.signature)
        except ValueError:
            raise _invalid(
                "This token takes no signatures of wallets with code; use another method"
            ) from None
        if answer.succeeded:
            return
        if answer.data[:4] == PAUSED:
            raise ApiRefusal(
                ErrorCode.UNSUPPORTED_GASLESS,
                "Deposits by signature are paused; choose another funding method",
            )
        if not answer.is_revert and not signer_state.has_code:
            raise Unavailable("no node could try the deposit")
        raise _invalid("The token refuses this signature for this deposit")

    def _check_nonce(self, signer_state: SignerState) -> None:
        if signer_state.is_nonce_used:
            raise _invalid("The signature's nonce was used or cancelled; fetch and sign anew")

    async def _submit(
        self, request: SignRequest, relayed: RelayedDeposit, signed: SignedAuthorization
    ) -> None:
        now = self._clock()

        def message(submission: int) -> Outgoing:
            body = AuthorizationSubmitted(
                swap_id=request.swap_id,
                typed_data=json.dumps(relayed.typed_data()),
                signature="0x" + signed.signature.hex(),
                signer=signed.signer,
                submission=submission,
            )
            envelope = SWAP_REQUESTS.seal(
                body,
                version=f"authorized/{submission}",
                occurred_at=now,
                trace_id=trace_id_of(request.swap_id),
            )
            return Outgoing.of(SWAP_REQUESTS, envelope)

        if not await self._requests.submit(request, message, now=now):
            raise already_submitted()


def not_requested() -> ApiRefusal:
    return ApiRefusal(
        ErrorCode.AUTHORIZATION_NOT_REQUESTED,
        "There is no authorization request found; fetch the deposit actions first",
    )


def already_submitted() -> ApiRefusal:
    return ApiRefusal(ErrorCode.AUTHORIZATION_ALREADY_SUBMITTED, "This swap is already authorized")


def _expiry_refusal() -> ApiRefusal:
    return ApiRefusal(
        ErrorCode.AUTHORIZATION_EXPIRED,
        "The authorization expired; fetch the deposit actions and sign again",
    )


def _invalid(message: str) -> ApiRefusal:
    return ApiRefusal(ErrorCode.SIGNATURE_INVALID, message)


def read_signature(text: str) -> bytes:
    """Return a signature in the one form that is checked.

    :raises Invalid: when it is none.
    """
    try:
        signature = bytes.fromhex(text.removeprefix("0x"))
    except ValueError:
        raise Invalid.field("signature", "must be bytes in hex") from None
    if not signature or len(signature) > SIGNATURE_BYTES_MAX:
        raise Invalid.field("signature", f"must have 1 to {SIGNATURE_BYTES_MAX} bytes")
    return normalise(signature) if len(signature) <= SIGNATURE_BYTES else signature
