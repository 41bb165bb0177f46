"""Chains with answers about signatures that a test sets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from swap_api.model.refusals import ApiRefusal
from swap_chains.evm.gasless import RelayedDeposit
from swap_chains.evm.gasless_reader import SignerState
from swap_chains.evm.personal_signatures import WalletAnswer
from swap_chains.evm.transaction_lookup import UNKNOWN_TRANSACTION, LocatedTransaction
from swap_chains.ports import CallSimulation
from swap_contracts.public.errors import ErrorCode
from swap_domain.catalogue import Network
from swap_domain.gasless import GaslessStandard
from swap_runtime.errors import Unavailable

DONE = CallSimulation(succeeded=True, is_revert=False, data=b"", text="")
REVERTED = CallSimulation(succeeded=False, is_revert=True, data=b"", text="execution reverted")


class FakeChains:
    """Every signer has funds and every deposit works, until a test changes it."""

    def __init__(self) -> None:
        self.is_away = False
        self.against: dict[str, list[str]] = {}  # findings, by token
        self.balance = 10**30
        self.has_code = False
        self.is_nonce_used = False
        self.next_nonce = 0
        self.answer = DONE
        self.allowed = 0
        self.allowances_asked: list[tuple[str, str, str, str]] = []
        self.tries: list[tuple[RelayedDeposit, bytes]] = []

    async def findings(self, network: Network) -> Mapping[str, Sequence[str]]:
        self._check()
        offered = [token.address for token in network.tokens if network.gasless(token) is not None]
        return {address: self.against.get(address, []) for address in offered}

    async def signer_state(self, network: Network, relayed: RelayedDeposit) -> SignerState:
        self._check()
        if relayed.standard is GaslessStandard.EIP2612:
            is_used = relayed.nonce != self.next_nonce
            return SignerState(self.balance, self.has_code, self.next_nonce, is_used)
        return SignerState(self.balance, self.has_code, None, self.is_nonce_used)

    async def simulate_relay(
        self, network: Network, relayed: RelayedDeposit, signature: bytes
    ) -> CallSimulation:
        self._check()
        relayed.call_data(signature)
        self.tries.append((relayed, signature))
        return self.answer

    async def allowance(self, network: Network, token: str, *, owner: str, spender: str) -> int:
        self._check()
        self.allowances_asked.append((network.name, token, owner, spender))
        return self.allowed

    def _check(self) -> None:
        if self.is_away:
            raise Unavailable("no node answers")


class FakeDepositories:
    """Depositories that accept deposits, until a test changes it."""

    def __init__(self) -> None:
        self.is_away = False
        self.against: dict[str, list[str]] = {}  # findings, by network

    async def findings(self, network: Network) -> Sequence[str]:
        if self.is_away:
            raise Unavailable("no node answers")
        return self.against.get(network.name, [])


class FakeWallets:
    """Wallets without code, until a test adds code to one."""

    def __init__(self) -> None:
        self.is_away = False
        self.accepted_signatures: dict[
            str, bytes
        ] = {}  # the signatures that each wallet with code accepts
        self.requests: list[str] = []

    async def ask(
        self, network: Network, wallet: str, digest: bytes, signature: bytes
    ) -> WalletAnswer:
        if self.is_away:
            raise Unavailable("no node answers")
        self.requests.append(wallet)
        if wallet not in self.accepted_signatures:
            return WalletAnswer.NO_CODE
        is_taken = self.accepted_signatures[wallet] == signature
        return WalletAnswer.ACCEPTED if is_taken else WalletAnswer.REFUSED


class FakeChainTransactions:
    """Nodes without any transaction, until a test adds one."""

    def __init__(self) -> None:
        self.is_away = False
        self.located: dict[tuple[str, str], LocatedTransaction] = {}  # by network and hash
        self.requests: list[tuple[str, str]] = []

    async def locate(self, network: Network, transaction_hash: str) -> LocatedTransaction:
        if self.is_away:
            raise Unavailable("no node answers")
        self.requests.append((network.name, transaction_hash))
        return self.located.get((network.name, transaction_hash), UNKNOWN_TRANSACTION)


class FakeDepositAddresses:
    """Factories that compute the service's deposit addresses, until a test stops them."""

    def __init__(self) -> None:
        self.is_away = False
        self._verified: set[str] = set()

    async def verify(self, network: Network) -> None:
        if self.is_away and network.name not in self._verified:
            raise ApiRefusal(
                ErrorCode.SERVICE_UNAVAILABLE,
                f"Deposit addresses on {network.display_name} cannot be given for the moment",
                headers={"retry-after": "5"},
            )
        self._verified.add(network.name)

    def start_without_nodes(self) -> None:
        """Set the state of a process that started while no node answered."""
        self.is_away = True
        self._verified.clear()
