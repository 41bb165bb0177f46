"""What deposits by signature need from the outside."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Protocol
from uuid import UUID

from swap_api.model.gasless import (
    KnownAuthorization,
    SignRequest,
    Steps,
    Submission,
)
from swap_api.read_model.swaps import StoredSwap
from swap_chains.evm.gasless import RelayedDeposit
from swap_chains.evm.gasless_reader import SignerState
from swap_chains.ports import Simulated
from swap_domain.authorization_status import AuthorizationStatus
from swap_domain.catalogue import Network
from swap_runtime.messaging.outbox import Outgoing


class SignRequests(Protocol):
    """What signers were asked to sign, and which of it was submitted."""

    async def all_of(self, swap_id: UUID, signer: str) -> list[SignRequest]:
        """Return what a signer was asked for a swap, the newest first."""
        ...

    async def newest(self, swap_id: UUID, signer: str) -> SignRequest | None: ...

    async def count_signers(self, swap_id: UUID) -> int:
        """Return how many signers were asked for a swap."""
        ...

    async def last_asked(self, swap_id: UUID) -> SignRequest | None:
        """Return what any signer was asked last."""
        ...

    async def submitted(self, swap_id: UUID) -> Submission | None:
        """Return the newest signature that was taken, whoever signed."""
        ...

    async def keep(self, request: SignRequest) -> SignRequest:
        """Save what is asked, and return what was saved first under its number."""
        ...

    async def refuse(self, request: SignRequest) -> None:
        """Remember that the signature that came was no good; another may come."""
        ...

    async def submit(
        self, request: SignRequest, message: Callable[[int], Outgoing], *, now: datetime
    ) -> bool:
        """Take a signature with its message, all or nothing; False when another one came first.

        :param message: makes it, given which submission of the swap it is.
        """
        ...


class GaslessChains(Protocol):
    """The chains, as far as deposits by signature ask them.

    Every method raises Unavailable when no node answers.
    """

    async def findings(self, network: Network) -> Mapping[str, Sequence[str]]:
        """Return, for each token of the catalogue that may be signed for, what speaks against."""
        ...

    async def signer_state(self, network: Network, relayed: RelayedDeposit) -> SignerState: ...

    async def simulate_relay(
        self, network: Network, relayed: RelayedDeposit, signature: bytes
    ) -> Simulated:
        """Return what the very deposit would do now.

        :raises ValueError: when there is no such call.
        """
        ...


class GaslessRendering(Protocol):
    """From what is known about a signature to the bytes that are answered."""

    def sign_action(self, stored: StoredSwap, relayed: RelayedDeposit) -> bytes:
        """Return the action that asks a signer, complete."""
        ...

    def sign_steps(self, stored: StoredSwap, steps: Steps, relayed: RelayedDeposit | None) -> bytes:
        """Return the list of `GET …/deposit_actions`."""
        ...

    def authorization(
        self, status: AuthorizationStatus, known: KnownAuthorization | None, head: int | None
    ) -> bytes: ...


class DepositAddresses(Protocol):
    async def verify(self, network: Network) -> None:
        """Make sure that the network's factory computes deposit addresses as we do, once.

        :raises ApiRefusal: while no node tells, or when it does not.
        """
        ...


class Depositories(Protocol):
    async def findings(self, network: Network) -> Sequence[str]:
        """Return what speaks against deposits through the Depository; nothing while it is open.

        :raises Unavailable: when no node tells.
        """
        ...
