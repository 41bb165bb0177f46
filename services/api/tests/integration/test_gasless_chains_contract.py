"""Chain data about signatures and allowances: one suite for the fake and for anvil."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

import pytest
from api_factories import DAI, USDC, a_catalogue
from fake_chains import REVERTED, FakeChains

from libs.chains.tests.contract.conftest import anvil_url
from libs.chains.tests.contract.test_gasless import (
    AMOUNT,
    DOMAINS,
    OPERATOR,
    OWNER,
    World,
    deployed,
    signed,
    world,
)
from swap_api.funding.adapters.chains import EvmAllowances, EvmGaslessChains
from swap_api.funding.ports import GaslessChains, TokenAllowances
from swap_chains.evm.codec import ZERO_ADDRESS, depository_id, encode_approve, selector
from swap_chains.evm.gasless import RelayedDeposit
from swap_chains.evm.rpc import open_session
from swap_domain.catalogue import Network
from swap_domain.gasless import Gasless, GaslessStandard
from swap_runtime.errors import Unavailable

__all__ = ["anvil_url", "deployed", "world"]  # fixtures

NAME: Final = "ETHEREUM_DEVNET"
CLOSED_PORT: Final = "http://127.0.0.1:1"
OnNode = tuple[str, World]
EIP3009, EIP2612 = GaslessStandard.EIP3009, GaslessStandard.EIP2612
BOTH = ["fake", pytest.param("anvil", marks=pytest.mark.connected)]


def a_network(tokens: Mapping[GaslessStandard, str]) -> Network:
    """Return a network whose tokens are the coin and one of each standard."""
    network = a_catalogue().network(NAME)
    coin = network.native
    of_standards = [
        replace(coin, symbol=standard.value, address=address, gasless=_offered(standard))
        for standard, address in tokens.items()
    ]
    return replace(network, tokens=(coin, *of_standards))


def _offered(standard: GaslessStandard) -> Gasless:
    return Gasless(standard, DOMAINS[standard])


@dataclass
class Subject:
    """The ports on chains in memory."""

    gasless: GaslessChains
    allowances: TokenAllowances
    network: Network
    fake: FakeChains = field(default_factory=FakeChains)

    async def relayed(self, standard: GaslessStandard) -> RelayedDeposit:
        contracts = self.network.contracts
        [token] = [t.address for t in self.network.tokens if t.symbol == standard.value]
        assert contracts.paymaster is not None
        return RelayedDeposit(
            standard=standard,
            domain=DOMAINS[standard],
            chain_id=self.network.chain_id,
            token=token,
            paymaster=contracts.paymaster,
            receiver=contracts.treasury,
            key=depository_id(7),
            signer="0x" + "51" * 20,
            base_units=AMOUNT,
            nonce=self.fake.next_nonce if standard is EIP2612 else 7,
            valid_after=0,
            valid_before=2**40,
        )

    async def deposit(self, relayed: RelayedDeposit) -> None:
        """Mine the signed deposit."""
        self.fake.is_nonce_used = True
        self.fake.next_nonce += 1
        self.fake.balance -= relayed.base_units

    async def refuse(self) -> None:
        """Make deposits with this signature revert."""
        self.fake.answer = REVERTED

    async def pause(self) -> None:
        self.fake.against = {t.address: ["the Paymaster is paused"] for t in self.network.tokens}

    async def approve(self, relayed: RelayedDeposit, base_units: int) -> None:
        self.fake.allowed = base_units

    def make_nodes_unavailable(self) -> None:
        self.fake.is_away = True


@dataclass
class OnAnvil(Subject):
    """The ports on a node."""

    world: World | None = None
    away: tuple[GaslessChains, TokenAllowances] | None = None

    @property
    def _world(self) -> World:
        assert self.world is not None
        return self.world

    async def relayed(self, standard: GaslessStandard) -> RelayedDeposit:
        return await self._world.relayed(standard)

    async def deposit(self, relayed: RelayedDeposit) -> None:
        data = relayed.call_data(signed(relayed))
        assert await self._world.sent(data, sender=self.network.signers[0])

    async def refuse(self) -> None:
        await self.deposit(await self.relayed(EIP3009))  # a signature can be used once

    async def pause(self) -> None:
        assert await self._world.sent(selector("pause()"), sender=OWNER)

    async def approve(self, relayed: RelayedDeposit, base_units: int) -> None:
        assert self.network.contracts.depository is not None
        data = encode_approve(self.network.contracts.depository, base_units)
        assert await self._world.sent(data, to=relayed.token, sender=relayed.signer)

    def make_nodes_unavailable(self) -> None:
        assert self.away is not None
        self.gasless, self.allowances = self.away


def fake_subject() -> Subject:
    fake = FakeChains()
    return Subject(fake, fake, a_network({EIP3009: USDC, EIP2612: DAI}), fake)


@pytest.fixture(params=BOTH)
def there(request: pytest.FixtureRequest) -> OnNode | None:
    """Return the node with its contracts, or None for the fake."""
    if request.param == "fake":
        return None
    return request.getfixturevalue("anvil_url"), request.getfixturevalue("world")


@pytest.fixture
async def subject(there: OnNode | None) -> AsyncIterator[Subject]:
    if there is None:
        yield fake_subject()
        return
    url, world = there
    known = a_network(world.tokens)
    contracts = replace(
        known.contracts,
        paymaster=world.paymaster,
        depository=world.depository,
        treasury=world.treasury,
    )
    network = replace(known, contracts=contracts, signers=(OPERATOR,))
    catalogue = replace(a_catalogue(), networks={NAME: network})
    async with open_session() as session:

        def asking(node: str) -> tuple[GaslessChains, TokenAllowances]:
            nodes = {NAME: (node,)}
            return (
                EvmGaslessChains(catalogue, nodes, session),
                EvmAllowances(catalogue, nodes, session),
            )

        yield OnAnvil(*asking(url), network, world=world, away=asking(CLOSED_PORT))


class TestFindings:
    async def test_are_about_each_token_that_may_be_signed_for(self, subject: Subject) -> None:
        found = await subject.gasless.findings(subject.network)

        signable = {t.address for t in subject.network.tokens if t.address != ZERO_ADDRESS}
        assert set(found) == signable
        assert not any(found.values())

    @pytest.mark.parametrize("contract", ["paymaster", "depository"])
    async def test_are_empty_without_a_contract(self, subject: Subject, contract: str) -> None:
        changes: dict[str, None] = {contract: None}
        contracts = replace(subject.network.contracts, **changes)

        network = replace(subject.network, contracts=contracts)
        assert await subject.gasless.findings(network) == {}

    async def test_report_what_disables_all_tokens(self, subject: Subject) -> None:
        await subject.pause()

        found = await subject.gasless.findings(subject.network)

        assert [list(against) for against in found.values()] == [["the Paymaster is paused"]] * 2


class TestStanding:
    async def test_of_an_authorization_has_no_next_nonce(self, subject: Subject) -> None:
        relayed = await subject.relayed(EIP3009)

        quota_state = await subject.gasless.signer_state(subject.network, relayed)

        assert quota_state.base_units >= relayed.base_units
        assert (quota_state.has_code, quota_state.next_nonce) == (False, None)
        assert not quota_state.is_nonce_used

    async def test_of_a_permit_has_the_nonce_to_sign(self, subject: Subject) -> None:
        relayed = await subject.relayed(EIP2612)

        quota_state = await subject.gasless.signer_state(subject.network, relayed)
        later = replace(relayed, nonce=relayed.nonce + 1)

        assert (quota_state.next_nonce, quota_state.is_nonce_used) == (relayed.nonce, False)
        assert (await subject.gasless.signer_state(subject.network, later)).is_nonce_used

    @pytest.mark.parametrize("standard", GaslessStandard)
    async def test_after_the_deposit_its_nonce_is_used(
        self, subject: Subject, standard: GaslessStandard
    ) -> None:
        relayed = await subject.relayed(standard)
        before = await subject.gasless.signer_state(subject.network, relayed)

        await subject.deposit(relayed)

        after = await subject.gasless.signer_state(subject.network, relayed)
        assert after.is_nonce_used
        assert after.base_units == before.base_units - relayed.base_units
        assert after.next_nonce == (relayed.nonce + 1 if standard is EIP2612 else None)


class TestTrial:
    async def test_succeeds_with_the_signature_of_the_signer(self, subject: Subject) -> None:
        relayed = await subject.relayed(EIP3009)

        answer = await subject.gasless.simulate_relay(subject.network, relayed, signed(relayed))

        assert (answer.succeeded, answer.is_revert) == (True, False)

    async def test_reverts_where_the_deposit_would(self, subject: Subject) -> None:
        relayed = await subject.relayed(EIP3009)
        await subject.refuse()

        answer = await subject.gasless.simulate_relay(subject.network, relayed, signed(relayed))

        assert (answer.succeeded, answer.is_revert) == (False, True)

    async def test_of_a_permit_that_no_key_signed_is_none(self, subject: Subject) -> None:
        relayed = await subject.relayed(EIP2612)

        with pytest.raises(ValueError, match="signature"):
            await subject.gasless.simulate_relay(subject.network, relayed, b"of a wallet")


class TestAllowance:
    async def test_is_what_the_owner_approved(self, subject: Subject) -> None:
        relayed, spender = await subject.relayed(EIP2612), subject.network.contracts.depository
        assert spender is not None
        parties = {"owner": relayed.signer, "spender": spender}
        assert await subject.allowances.allowance(subject.network, relayed.token, **parties) == 0

        await subject.approve(relayed, 17)

        assert await subject.allowances.allowance(subject.network, relayed.token, **parties) == 17


async def test_everything_is_unavailable_without_a_node(subject: Subject) -> None:
    relayed = await subject.relayed(EIP3009)
    subject.make_nodes_unavailable()

    with pytest.raises(Unavailable):
        await subject.gasless.findings(subject.network)
    with pytest.raises(Unavailable):
        await subject.gasless.signer_state(subject.network, relayed)
    with pytest.raises(Unavailable):
        await subject.gasless.simulate_relay(subject.network, relayed, signed(relayed))
    with pytest.raises(Unavailable):
        await subject.allowances.allowance(
            subject.network, relayed.token, owner=relayed.signer, spender=relayed.paymaster
        )
