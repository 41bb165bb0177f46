"""Chain data for the api: one suite for the fakes and for the adapters on anvil."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from typing import Any, Final

import pytest
from api_factories import a_catalogue
from eth_account import Account
from eth_account.messages import encode_defunct
from fake_chains import FakeDepositAddresses, FakeDepositories, FakeWallets

from libs.chains.tests.contract.conftest import (
    ARTIFACTS,
    EXTERNAL_ACCOUNT,
    OWNER_KEY,
    USER_KEY,
    Addresses,
    anvil_url,
    contracts,
)
from swap_api.funding.adapters.chains import EvmDepositories, EvmWallets
from swap_api.funding.adapters.deposit_addresses import CheckedDepositAddresses
from swap_api.funding.ports import DepositAddresses, Depositories, Wallets
from swap_api.model.refusals import ApiRefusal
from swap_chains.evm.deploy import Deployer
from swap_chains.evm.deposit_addresses import INIT_CODE_HASH
from swap_chains.evm.depositories import IS_PAUSED
from swap_chains.evm.personal_signatures import VALID, WalletAnswer, personal_digest
from swap_chains.evm.rpc import Rpc, open_session
from swap_contracts.public.errors import ErrorCode
from swap_domain.catalogue import Catalogue, Network
from swap_domain.catalogue import DepositAddresses as AddressContracts
from swap_runtime.errors import Unavailable
from tests.support.falsifying_node import a_falsifying_node

__all__ = ["anvil_url", "contracts"]  # fixtures

NAME: Final = "ETHEREUM_DEVNET"
CLOSED_PORT: Final = "http://127.0.0.1:1"
TEXT: Final = "the transfer of 5 USDC pays for the swap"
DIGEST: Final = personal_digest(TEXT)
SIGNATURE: Final = bytes(Account.sign_message(encode_defunct(text=TEXT), USER_KEY).signature)
OnAnvil = tuple[str, Catalogue, str]
BOTH = ["fake", pytest.param("anvil", marks=pytest.mark.connected)]


@dataclass
class Subject:
    """The ports, the queried network, and a wallet with code."""

    wallets: Wallets
    depositories: Depositories
    addresses: DepositAddresses
    network: Network
    wallet: str
    nodes: dict[str, tuple[str, ...]]  # the nodes for deposit addresses
    away: Subject | None = None  # the same ports, with nodes that do not answer
    url: str | None = None

    async def pause_deposits(self, *, is_paused: bool) -> None:
        if isinstance(self.depositories, FakeDepositories):
            self.depositories.against[NAME] = [IS_PAUSED] if is_paused else []
            return
        assert self.url is not None
        assert self.network.contracts.depository is not None
        order = "pause" if is_paused else "unpause"
        async with Deployer(self.url, OWNER_KEY) as deployer:
            depository = self.network.contracts.depository
            await deployer.transact(ARTIFACTS / "Depository.json", depository, order)

    def make_nodes_unavailable(self) -> None:
        if isinstance(self.addresses, FakeDepositAddresses):
            self.addresses.is_away = True
        self.nodes[NAME] = (CLOSED_PORT,)


def fake_subjects(*, is_away: bool = False) -> Subject:
    wallets, depositories, addresses = FakeWallets(), FakeDepositories(), FakeDepositAddresses()
    wallets.accepted_signatures["0x" + "aa" * 20] = SIGNATURE
    wallets.is_away = depositories.is_away = addresses.is_away = is_away
    network = a_catalogue().network(NAME)
    return Subject(wallets, depositories, addresses, network, "0x" + "aa" * 20, nodes={})


async def deployed_wallet(url: str) -> str:
    async with Deployer(url, OWNER_KEY) as deployer:
        key = Account.from_key(USER_KEY).address
        return await deployer.deploy(ARTIFACTS / "DevSignerWallet.json", key)


async def init_code_hash(url: str, factory: str) -> str:
    async with open_session() as session:
        rpc = Rpc.to_urls(NAME, [url], session, timeout_seconds=30)
        arguments = {"to": factory, "data": "0x" + INIT_CODE_HASH.hex()}
        return str(await rpc.nodes[0].call("eth_call", arguments, "latest"))


@pytest.fixture(scope="module")
def on_anvil(anvil_url: str, contracts: Addresses) -> OnAnvil:
    """Return the node, a catalogue with its contracts, and a wallet with code."""
    depository, treasury, _, _, factory = contracts
    known = a_catalogue()
    there = AddressContracts(factory, asyncio.run(init_code_hash(anvil_url, factory)))
    network = known.network(NAME)
    changed = replace(
        network.contracts, treasury=treasury, depository=depository, deposit_addresses=there
    )
    networks = {**known.networks, NAME: replace(network, contracts=changed)}
    wallet = asyncio.run(deployed_wallet(anvil_url))
    return anvil_url, replace(known, networks=networks), wallet


@pytest.fixture(params=BOTH)
def there(request: pytest.FixtureRequest) -> OnAnvil | None:
    """Return the contracts on anvil, or None for the fakes."""
    if request.param == "fake":
        return None
    found: OnAnvil = request.getfixturevalue("on_anvil")
    return found


@pytest.fixture
async def subject(there: OnAnvil | None) -> AsyncIterator[Subject]:
    if there is None:
        yield replace(fake_subjects(), away=fake_subjects(is_away=True))
        return
    url, catalogue, wallet = there
    async with open_session() as session:

        def asking(node: str) -> Subject:
            nodes = {NAME: (node,)}
            return Subject(
                EvmWallets(catalogue, nodes, session),
                EvmDepositories(catalogue, nodes, session),
                CheckedDepositAddresses(catalogue, nodes, session),
                catalogue.network(NAME),
                wallet,
                nodes,
                url=node,
            )

        yield replace(asking(url), away=asking(CLOSED_PORT))


def accept_every_code(method: str, params: list[Any], result: Any) -> Any:
    changed = {"eth_getCode": "0x60", "eth_call": "0x" + VALID.hex()}
    return changed.get(method, result)


class TestWallets:
    async def test_with_code_take_their_own_signature(self, subject: Subject) -> None:
        arguments = subject.network, subject.wallet, DIGEST
        assert await subject.wallets.ask(*arguments, SIGNATURE) is WalletAnswer.ACCEPTED
        assert await subject.wallets.ask(*arguments, SIGNATURE[::-1]) is WalletAnswer.REFUSED

    async def test_without_code_take_no_signature(self, subject: Subject) -> None:
        arguments = subject.network, EXTERNAL_ACCOUNT, DIGEST
        assert await subject.wallets.ask(*arguments, SIGNATURE) is WalletAnswer.NO_CODE

    async def test_are_unavailable_without_a_node(self, subject: Subject) -> None:
        assert subject.away is not None
        with pytest.raises(Unavailable):
            await subject.away.wallets.ask(subject.network, subject.wallet, DIGEST, SIGNATURE)

    @pytest.mark.connected
    @pytest.mark.parametrize("is_first", [True, False])
    async def test_are_unavailable_while_one_of_two_nodes_is_false(
        self, on_anvil: OnAnvil, is_first: bool
    ) -> None:
        """One reports code that accepts everything for a key's account; the other reports none."""
        url, catalogue, wallet = on_anvil
        arguments = catalogue.network(NAME), EXTERNAL_ACCOUNT, DIGEST, SIGNATURE
        with a_falsifying_node(url) as false_node:
            nodes = {NAME: (false_node.url, url) if is_first else (url, false_node.url)}
            async with open_session() as session:
                wallets = EvmWallets(catalogue, nodes, session)
                assert await wallets.ask(*arguments) is WalletAnswer.NO_CODE
                correct_node = catalogue.network(NAME), wallet, DIGEST, SIGNATURE
                assert await wallets.ask(*correct_node) is WalletAnswer.ACCEPTED

                false_node.change = accept_every_code

                with pytest.raises(Unavailable):
                    await wallets.ask(*arguments)


class TestDepositories:
    async def test_have_no_findings_until_they_are_paused(self, subject: Subject) -> None:
        assert list(await subject.depositories.findings(subject.network)) == []

        await subject.pause_deposits(is_paused=True)
        assert list(await subject.depositories.findings(subject.network)) == [IS_PAUSED]

        await subject.pause_deposits(is_paused=False)
        assert list(await subject.depositories.findings(subject.network)) == []

    async def test_are_unavailable_without_a_node(self, subject: Subject) -> None:
        assert subject.away is not None
        with pytest.raises(Unavailable):
            await subject.away.depositories.findings(subject.network)


class TestDepositAddresses:
    async def test_are_verified_once(self, subject: Subject) -> None:
        await subject.addresses.verify(subject.network)
        subject.make_nodes_unavailable()

        await subject.addresses.verify(subject.network)
        with pytest.raises(ApiRefusal):
            await subject.addresses.verify(replace(subject.network, name="ANOTHER"))

    async def test_are_refused_without_a_node(self, subject: Subject) -> None:
        assert subject.away is not None
        with pytest.raises(ApiRefusal) as refused:
            await subject.away.addresses.verify(subject.network)

        assert refused.value.code is ErrorCode.SERVICE_UNAVAILABLE
        assert refused.value.headers == {"retry-after": "5"}
