"""The chain queries of funding."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from swap_chains.evm.gasless import RelayedDeposit
from swap_chains.evm.gasless_reader import SignerState
from swap_chains.evm.personal_signatures import WalletAnswer
from swap_chains.ports import CallSimulation
from swap_domain.catalogue import Network


class GaslessChains(Protocol):
    """The chain queries of deposits by signature.

    Every method raises Unavailable when no node answers.
    """

    async def findings(self, network: Network) -> Mapping[str, Sequence[str]]:
        """Return, for each token of the catalogue that may be signed for, why it is not offered."""
        ...

    async def signer_state(self, network: Network, relayed: RelayedDeposit) -> SignerState: ...

    async def simulate_relay(
        self, network: Network, relayed: RelayedDeposit, signature: bytes
    ) -> CallSimulation:
        """Return what the very deposit would do now.

        :raises ValueError: when there is no such call.
        """
        ...


class DepositAddresses(Protocol):
    async def verify(self, network: Network) -> None:
        """Make sure that the network's factory computes deposit addresses as we do, once.

        :raises ApiRefusal: while no node answers, or when it does not.
        """
        ...


class Depositories(Protocol):
    async def findings(self, network: Network) -> Sequence[str]:
        """Return why deposits through the Depository are impossible; nothing while it is open.

        :raises Unavailable: when no node answers.
        """
        ...


class TokenAllowances(Protocol):
    async def allowance(self, network: Network, token: str, *, owner: str, spender: str) -> int:
        """Return how much a wallet lets a contract take now.

        :raises Unavailable: when no node answers.
        """
        ...


class Wallets(Protocol):
    """Wallets with code, on their chains."""

    async def ask(
        self, network: Network, wallet: str, digest: bytes, signature: bytes
    ) -> WalletAnswer:
        """Ask the code at an address whether a signature is its own.

        :raises Unavailable: when no node answers, or two providers do not report the same.
        """
        ...
