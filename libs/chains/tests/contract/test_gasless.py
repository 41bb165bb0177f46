"""Deposits by signature on a real node: Circle's USDC and an OpenZeppelin token with permits.

Rows G16 and G20 are tested by Foundry (evm/test/paymaster, evm/test/invariant); G19 is about
forwarders.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import pytest
import pytest_asyncio
from eth_account import Account

from swap_chains.events import Deposited
from swap_chains.evm import codec
from swap_chains.evm.codec import encode_balance_of, selector
from swap_chains.evm.deploy import Deployer, deploy_contracts, deploy_fiat_token
from swap_chains.evm.gasless import RelayedDeposit, authorization_nonce
from swap_chains.evm.gasless_reader import GaslessDeployment, GaslessReader
from swap_chains.evm.reader import EvmReader
from swap_chains.evm.rpc import Rpc, open_session
from swap_chains.evm.signatures import normalise
from swap_chains.ports import Call, CallSimulation
from swap_domain.gasless import Gasless, GaslessStandard, TokenDomain

from .conftest import ARTIFACTS, EXTERNAL_ACCOUNT, OPERATOR_KEY, OWNER_KEY, USER_KEY

pytestmark = pytest.mark.connected

CHAIN_ID = 31337
SWAP, ANOTHER_SWAP = 7, 8
GAS = 400_000
AMOUNT = 25_500_000
FOR_LONG = 2**40
OPERATOR, USER, OWNER = (
    str(Account.from_key(key).address) for key in (OPERATOR_KEY, USER_KEY, OWNER_KEY)
)
ADMIN = codec.checksum_address("0x" + "ad" * 20)
EIP3009, EIP2612 = GaslessStandard.EIP3009, GaslessStandard.EIP2612
NOT_OPERATOR = selector("NotOperator(address)")


@dataclass
class World:
    """One Paymaster with a token of each standard, on a chain that mines at once."""

    reader: EvmReader
    rpc: Rpc
    ask: Any
    depository: str
    treasury: str
    paymaster: str
    tokens: Mapping[GaslessStandard, str]

    async def relayed(self, standard: GaslessStandard, *, number: int = SWAP) -> RelayedDeposit:
        token, key = self.tokens[standard], codec.depository_id(number)
        nonce = authorization_nonce(
            chain_id=CHAIN_ID,
            paymaster=self.paymaster,
            key=key,
            receiver=self.treasury,
            token=token,
        )
        if standard is EIP2612:
            nonce = await self.view(token, selector("nonces(address)") + codec.address_word(USER))
        return RelayedDeposit(
            standard=standard,
            domain=DOMAINS[standard],
            chain_id=CHAIN_ID,
            token=token,
            paymaster=self.paymaster,
            receiver=self.treasury,
            key=key,
            signer=USER,
            base_units=AMOUNT,
            nonce=nonce,
            valid_after=0,
            valid_before=FOR_LONG,
        )

    async def view(self, to: str, data: bytes) -> int:
        head = await self.reader.head()
        returned = await self.reader.call(Call(to, 0, data, GAS), sender=EXTERNAL_ACCOUNT, at=head)
        return codec.decode_uint(returned)

    async def tried(self, data: bytes, *, to: str | None = None, sender: str) -> CallSimulation:
        call = Call(to or self.paymaster, 0, data, GAS)
        [answer] = await self.reader.simulate([call], sender=sender)
        return answer

    async def sent(self, data: bytes, *, to: str | None = None, sender: str) -> bool:
        """Send it in a separate transaction; return whether it succeeded."""
        fields = {"from": sender, "to": to or self.paymaster, "data": "0x" + data.hex()}
        await self.ask("anvil_impersonateAccount", sender)
        await self.ask("anvil_setBalance", sender, hex(10**20))
        sent = await self.ask("eth_sendTransaction", {**fields, "gas": hex(GAS)})
        await self.ask("anvil_stopImpersonatingAccount", sender)
        while (receipt := await self.ask("eth_getTransactionReceipt", sent)) is None:
            await self.ask("evm_mine")
        return bool(receipt["status"] == "0x1")

    async def balance(self, token: str, account: str) -> int:
        return await self.view(token, encode_balance_of(account))


DOMAINS = {EIP3009: TokenDomain("USD Coin", "2"), EIP2612: TokenDomain("Dai", "1")}


class Deployed(NamedTuple):
    depository: str
    treasury: str
    paymaster: str
    usdc: str
    dai: str


@pytest.fixture(scope="module")
def deployed(anvil_url: str) -> Deployed:
    """Deploy once; each test reverts its changes of the chain."""
    return asyncio.run(_deploy(anvil_url))


async def _deploy(url: str) -> Deployed:
    async with Deployer(url, OWNER_KEY) as deployer:
        depository, treasury = await deploy_contracts(deployer, ARTIFACTS, operators=[OPERATOR])
        paymaster = await deployer.deploy(
            ARTIFACTS / "Paymaster.json", deployer.address, depository, [OPERATOR]
        )
        usdc = await deploy_fiat_token(deployer, ARTIFACTS, admin=ADMIN)
        await deployer.transact(ARTIFACTS / "FiatTokenV2_2.json", usdc, "mint", USER, 10 * AMOUNT)
        dai = await deployer.deploy(ARTIFACTS / "DevToken.json", "Dai", "DAI", 18, USER, AMOUNT)
    return Deployed(depository, treasury, paymaster, usdc, dai)


@pytest_asyncio.fixture
async def world(anvil_url: str, deployed: Deployed) -> AsyncIterator[World]:
    depository, treasury, paymaster, usdc, dai = deployed
    async with open_session() as session:
        rpc = Rpc.to_urls("ETHEREUM_DEVNET", [anvil_url], session, timeout_seconds=30)
        ask = rpc.nodes[0].call
        snapshot = await ask("evm_snapshot")
        reader = EvmReader(rpc, depository=depository, treasury=treasury, tokens=[usdc, dai])
        tokens = {EIP3009: usdc, EIP2612: dai}
        yield World(reader, rpc, ask, depository, treasury, paymaster, tokens)
        await ask("evm_revert", snapshot)


def signed(relay: RelayedDeposit, key: str = USER_KEY) -> bytes:
    made = Account.sign_typed_data(key, full_message=relay.typed_data())
    return normalise(bytes(made.signature))


@pytest.mark.parametrize("standard", GaslessStandard)
class TestEachStandard:
    async def test_signed_amount_is_deposited_for_the_swap(self, world, standard):
        relay = await world.relayed(standard)
        before = await world.balance(relay.token, USER)

        assert await world.sent(relay.call_data(signed(relay)), sender=OPERATOR)

        assert await world.balance(relay.token, world.treasury) == AMOUNT
        assert await world.balance(relay.token, USER) == before - AMOUNT
        assert await world.balance(relay.token, world.paymaster) == 0

    @pytest.mark.fault("G3")
    async def test_g3_a_signature_from_the_mempool_cannot_pay_for_the_thiefs_swap(
        self, world, standard
    ):
        relay = await world.relayed(standard)
        signature = signed(relay)
        theirs = replace(relay, key=codec.depository_id(ANOTHER_SWAP))

        stolen = await world.tried(theirs.call_data(signature), sender=EXTERNAL_ACCOUNT)
        copied = await world.tried(relay.call_data(signature), sender=EXTERNAL_ACCOUNT)

        assert (stolen.is_revert, stolen.data[:4]) == (True, NOT_OPERATOR)
        assert (copied.is_revert, copied.data[:4]) == (True, NOT_OPERATOR)
        assert (await world.tried(relay.call_data(signature), sender=OPERATOR)).succeeded

    @pytest.mark.fault("G3")
    async def test_g3_a_copied_attempt_in_an_earlier_block_does_not_change_the_deposit(
        self, world, standard
    ):
        relay = await world.relayed(standard)
        signature = signed(relay)
        theirs = replace(relay, key=codec.depository_id(ANOTHER_SWAP))

        assert not await world.sent(theirs.call_data(signature), sender=EXTERNAL_ACCOUNT)

        assert await world.balance(relay.token, USER) >= AMOUNT
        assert await world.sent(relay.call_data(signature), sender=OPERATOR)
        assert await world.balance(relay.token, world.treasury) == AMOUNT

    @pytest.mark.fault("G3")
    async def test_g3_the_money_goes_to_no_other_receiver(self, world, standard):
        relay = await world.relayed(standard)
        theirs = replace(relay, receiver=EXTERNAL_ACCOUNT)

        answer = await world.tried(theirs.call_data(signed(relay)), sender=OPERATOR)

        assert answer.is_revert

    async def test_signature_deposits_once(self, world, standard):
        relay = await world.relayed(standard)
        data = relay.call_data(signed(relay))
        assert await world.sent(data, sender=OPERATOR)

        assert (await world.tried(data, sender=OPERATOR)).is_revert

    async def test_the_signature_of_another_key_is_refused(self, world, standard):
        relay = await world.relayed(standard)

        answer = await world.tried(relay.call_data(signed(relay, OPERATOR_KEY)), sender=OPERATOR)

        assert answer.is_revert

    @pytest.mark.fault("G12")
    async def test_g12_signature_reverts_after_its_window(self, world, standard):
        head = await world.reader.head()
        soon = int(head.time.timestamp()) + 60
        relay = replace(await world.relayed(standard), valid_before=soon)
        data = relay.call_data(signed(relay))
        assert (await world.tried(data, sender=OPERATOR)).succeeded

        await world.ask("evm_increaseTime", 61)
        await world.ask("evm_mine")

        assert (await world.tried(data, sender=OPERATOR)).is_revert


@pytest.mark.fault("G1")
async def test_g1_copied_authorization_is_refused_by_the_token(world):
    relay = await world.relayed(EIP3009)
    signature = signed(relay)
    words = (
        codec.address_word(USER)
        + codec.address_word(world.paymaster)
        + codec.uint_word(AMOUNT)
        + codec.uint_word(0)
        + codec.uint_word(FOR_LONG)
        + codec.uint_word(relay.nonce)
        + codec.uint_word(signature[-1])
        + signature[:-1]
    )
    tail = "(address,address,uint256,uint256,uint256,bytes32,uint8,bytes32,bytes32)"

    for name in ("receiveWithAuthorization", "transferWithAuthorization"):
        data = selector(name + tail) + words
        assert not await world.sent(data, to=relay.token, sender=EXTERNAL_ACCOUNT)

    assert await world.sent(relay.call_data(signature), sender=OPERATOR)


@pytest.mark.fault("G3")
async def test_g3_a_mistaken_operator_cannot_use_an_authorization_for_another_swap(world):
    """The nonce is derived from the swap on chain, so an operator cannot change it."""
    relay = await world.relayed(EIP3009)
    bent = replace(relay, key=codec.depository_id(ANOTHER_SWAP))

    assert (await world.tried(bent.call_data(signed(relay)), sender=OPERATOR)).is_revert


@pytest.mark.fault("G2")
async def test_g2_a_permit_that_another_caller_used_first_is_deposited(world):
    relay = await world.relayed(EIP2612)
    signature = signed(relay)
    permit = (
        selector("permit(address,address,uint256,uint256,uint8,bytes32,bytes32)")
        + codec.address_word(USER)
        + codec.address_word(world.paymaster)
        + codec.uint_word(AMOUNT)
        + codec.uint_word(FOR_LONG)
        + codec.uint_word(signature[-1])
        + signature[:-1]
    )
    assert await world.sent(permit, to=relay.token, sender=EXTERNAL_ACCOUNT)

    assert await world.sent(relay.call_data(signature), sender=OPERATOR)

    assert await world.balance(relay.token, world.treasury) == AMOUNT


@pytest.mark.fault("G4")
async def test_g4_the_allowance_of_one_permit_pays_for_no_other_deposit(world):
    relay = await world.relayed(EIP2612)
    assert await world.sent(relay.call_data(signed(relay)), sender=OPERATOR)
    allowance = codec.encode_allowance(USER, world.paymaster)

    assert await world.view(relay.token, allowance) == 0


@pytest.mark.fault("G11")
async def test_g11_a_cancelled_authorization_is_refused(world):
    relay = await world.relayed(EIP3009)
    cancel = selector("cancelAuthorization(address,bytes32,uint8,bytes32,bytes32)")
    typed_data = {
        "types": {
            "EIP712Domain": relay.typed_data()["types"]["EIP712Domain"],
            "CancelAuthorization": [
                {"name": "authorizer", "type": "address"},
                {"name": "nonce", "type": "bytes32"},
            ],
        },
        "primaryType": "CancelAuthorization",
        "domain": relay.typed_data()["domain"],
        "message": {"authorizer": USER, "nonce": relay.nonce_text},
    }
    by_user = bytes(Account.sign_typed_data(USER_KEY, full_message=typed_data).signature)
    words = codec.address_word(USER) + codec.uint_word(relay.nonce)
    data = cancel + words + codec.uint_word(by_user[-1]) + by_user[:-1]
    assert await world.sent(data, to=relay.token, sender=EXTERNAL_ACCOUNT)

    answer = await world.tried(relay.call_data(signed(relay)), sender=OPERATOR)

    assert answer.is_revert


@pytest.mark.fault("G8")
async def test_g8_the_token_decides_about_an_account_that_delegates(world):
    """A key with a delegation (EIP-7702) is recovered here, and refused by the token."""
    relay = await world.relayed(EIP3009)
    data = relay.call_data(signed(relay))
    assert (await world.tried(data, sender=OPERATOR)).succeeded

    await world.ask("anvil_setCode", USER, "0xef0100" + world.treasury[2:])

    assert (await world.tried(data, sender=OPERATOR)).is_revert


SWALLOWS = "0x00"  # a contract that accepts every call and returns nothing
KNOWS_EVERYTHING = (
    "0x631626ba7e60e01b60005260206000f3"  # returns EIP-1271's magic value for every signature
)
BURNS_GAS = "0x5b600056"  # loops forever


def a_deployment(world: World, **tokens: Gasless) -> GaslessDeployment:
    return GaslessDeployment(
        chain_id=CHAIN_ID,
        paymaster=world.paymaster,
        depository=world.depository,
        treasury=world.treasury,
        operators=[OPERATOR],
        tokens=tokens or {t: Gasless(s, DOMAINS[s]) for s, t in world.tokens.items()},
    )


@pytest_asyncio.fixture
async def gasless_reader(world: World) -> GaslessReader:
    return GaslessReader(world.rpc)


class TestWhatIsOffered:
    async def test_tokens_that_match_the_catalogue_are(self, world, gasless_reader):
        found = await gasless_reader.findings(a_deployment(world))

        assert list(found.values()) == [[], []]

    @pytest.mark.parametrize(
        "domain",
        [
            TokenDomain("USDC", "2"),
            TokenDomain("USD Coin", "1"),
            TokenDomain("USD Coin", None),
            TokenDomain("USD Coin", "2", "0x" + f"{CHAIN_ID:064x}"),
        ],
        ids=["name", "version", "no version", "salt"],
    )
    @pytest.mark.fault("G6")
    async def test_g6_a_token_of_another_domain_is_not(self, world, gasless_reader, domain):
        usdc = world.tokens[EIP3009]

        found = await gasless_reader.findings(
            a_deployment(world, **{usdc: Gasless(EIP3009, domain)})
        )

        assert "EIP-712 domain" in found[usdc][0]

    @pytest.mark.fault("G5")
    async def test_g5_a_token_that_accepts_every_call_is_not(self, world, gasless_reader):
        fake = EXTERNAL_ACCOUNT
        await world.ask("anvil_setCode", fake, SWALLOWS)

        found = await gasless_reader.findings(
            a_deployment(world, **{fake: Gasless(EIP2612, TokenDomain("Fake", "1"))})
        )

        assert len(found[fake]) == 2

    async def test_a_token_of_the_other_standard_is_not(self, world, gasless_reader):
        dai = world.tokens[EIP2612]

        found = await gasless_reader.findings(
            a_deployment(world, **{dai: Gasless(EIP3009, DOMAINS[EIP2612])})
        )

        assert found[dai] == ["it does not do eip3009"]

    @pytest.mark.fault("G15")
    async def test_g15_no_token_is_while_the_operator_has_no_gas_money(self, world, gasless_reader):
        await world.ask("anvil_setBalance", OPERATOR, hex(10**12))

        found = await gasless_reader.findings(a_deployment(world))

        assert all("gas money" in findings[0] for findings in found.values())

    @pytest.mark.parametrize(
        ("contract", "call", "says"),
        [
            ("Paymaster", "pause()", "the Paymaster is paused"),
            ("Depository", "pause()", "the Depository is paused"),
        ],
    )
    @pytest.mark.fault("G17", "G18")
    async def test_g17_g18_no_token_is_while_a_contract_is_paused(
        self, world, gasless_reader, contract, call, says
    ):
        to = world.paymaster if contract == "Paymaster" else world.depository
        assert await world.sent(selector(call), to=to, sender=OWNER)

        found = await gasless_reader.findings(a_deployment(world))

        assert all(findings == [says] for findings in found.values())

    @pytest.mark.fault("G17")
    async def test_g17_no_token_is_once_the_treasury_is_not_listed(self, world, gasless_reader):
        remove = selector("removeFromWhitelist(address)") + codec.address_word(world.treasury)
        assert await world.sent(remove, to=world.depository, sender=OWNER)

        found = await gasless_reader.findings(a_deployment(world))

        assert all("does not list" in findings[0] for findings in found.values())


class TestWallets:
    @pytest.mark.fault("G9")
    async def test_g9_a_wallet_with_code_deposits_where_the_token_asks_it(
        self, world, gasless_reader
    ):
        relay = await world.relayed(EIP3009)
        await world.ask("anvil_setCode", USER, KNOWS_EVERYTHING)

        signer_state = await gasless_reader.signer_state(relay)
        answer = await gasless_reader.simulate_relay(relay, b"\x77" * 130, operator=OPERATOR)

        assert signer_state.has_code
        assert answer.succeeded
        assert await world.sent(relay.call_data(b"\x77" * 130), sender=OPERATOR)

    @pytest.mark.parametrize("names_its_key", [False, True], ids=["65 bytes", "97 bytes"])
    async def test_a_wallet_that_asks_its_key_deposits_what_that_key_signed(
        self, world, gasless_reader, anvil_url, names_its_key
    ):
        """Circle's token calls the wallet (EIP-1271), which checks its key's signature."""
        async with Deployer(anvil_url, OWNER_KEY) as deployer:
            wallet = await deployer.deploy(ARTIFACTS / "DevSignerWallet.json", USER)
        relay = replace(await world.relayed(EIP3009), signer=wallet)
        funds = codec.encode_transfer(wallet, AMOUNT)
        assert await world.sent(funds, to=relay.token, sender=USER)
        form = codec.address_word(USER) if names_its_key else b""
        theirs, other = form + signed(relay), form + signed(relay, OPERATOR_KEY)

        assert (await gasless_reader.signer_state(relay)).has_code
        assert (await gasless_reader.simulate_relay(relay, other, operator=OPERATOR)).is_revert
        assert (await gasless_reader.simulate_relay(relay, theirs, operator=OPERATOR)).succeeded
        assert await world.sent(relay.call_data(theirs), sender=OPERATOR)

        assert await world.balance(relay.token, world.treasury) == AMOUNT
        assert await world.balance(relay.token, wallet) == 0

    @pytest.mark.fault("G9")
    async def test_g9_a_wallet_that_burns_all_gas_is_refused_within_the_cap(
        self, world, gasless_reader
    ):
        relay = await world.relayed(EIP3009)
        await world.ask("anvil_setCode", USER, BURNS_GAS)

        answer = await gasless_reader.simulate_relay(relay, b"\x77" * 130, operator=OPERATOR)

        assert not answer.succeeded

    async def test_a_signer_whom_the_token_blocks_is_refused(self, world, gasless_reader):
        relay = await world.relayed(EIP3009)
        block = selector("blacklist(address)") + codec.address_word(USER)
        assert await world.sent(block, to=relay.token, sender=OWNER)

        answer = await gasless_reader.simulate_relay(relay, signed(relay), operator=OPERATOR)

        assert answer.is_revert

    @pytest.mark.parametrize("standard", GaslessStandard)
    async def test_a_nonce_that_was_used_is_seen(self, world, gasless_reader, standard):
        relay = await world.relayed(standard)
        assert not (await gasless_reader.signer_state(relay)).is_nonce_used

        assert await world.sent(relay.call_data(signed(relay)), sender=OPERATOR)

        assert (await gasless_reader.signer_state(relay)).is_nonce_used


class TestABridgedToken:
    """Its domain contains a salt in place of a chain id."""

    SALT = "0x" + f"{CHAIN_ID:064x}"
    DOMAIN = TokenDomain("Bridged Dollar", "1", SALT)

    @pytest_asyncio.fixture
    async def bridged(self, world: World, anvil_url: str) -> str:
        async with Deployer(anvil_url, OWNER_KEY) as deployer:
            artifact = ARTIFACTS / "DevSaltToken.json"
            token = await deployer.deploy(artifact, self.DOMAIN.name, "BUSD")
            await deployer.transact(artifact, token, "mint", USER, AMOUNT)
        return token

    @pytest.mark.fault("G6")
    async def test_g6_is_offered_only_with_its_own_salt(self, world, gasless_reader, bridged):
        for domain in (
            replace(self.DOMAIN, salt=None),
            replace(self.DOMAIN, salt="0x" + f"{137:064x}"),
            replace(self.DOMAIN, version=None),
        ):
            found = await gasless_reader.findings(
                a_deployment(world, **{bridged: Gasless(EIP2612, domain)})
            )
            assert "EIP-712 domain" in found[bridged][0]

        right = Gasless(EIP2612, self.DOMAIN)
        assert await gasless_reader.findings(a_deployment(world, **{bridged: right})) == {
            bridged: []
        }

    async def test_is_deposited_by_what_was_signed(self, world, gasless_reader, bridged):
        listed = await world.relayed(EIP2612)
        relay = replace(listed, token=bridged, domain=self.DOMAIN, nonce=0)
        typed_data = relay.typed_data()
        assert typed_data["domain"] == {
            "name": "Bridged Dollar",
            "version": "1",
            "verifyingContract": bridged,
            "salt": self.SALT,
        }
        data = relay.call_data(signed(relay))

        assert (await gasless_reader.signer_state(relay)).next_nonce == 0
        assert (
            await gasless_reader.simulate_relay(relay, signed(relay), operator=OPERATOR)
        ).succeeded
        start = await world.reader.head()
        assert await world.sent(data, sender=OPERATOR)

        assert await world.balance(bridged, world.treasury) == AMOUNT
        assert (await gasless_reader.signer_state(relay)).is_nonce_used
        head = await world.reader.head()
        moved = await world.reader.movements(first=start.number + 1, last=head)
        [deposited] = [m for added in moved for m in added.movements if isinstance(m, Deposited)]
        assert (deposited.token, deposited.base_units) == (bridged, AMOUNT)
        assert codec.sequence_number_of(deposited.swap_key) == SWAP

    async def test_a_signature_for_another_chain_reverts(self, world, gasless_reader, bridged):
        elsewhere = replace(self.DOMAIN, salt="0x" + f"{137:064x}")
        listed = await world.relayed(EIP2612)
        relay = replace(listed, token=bridged, domain=elsewhere, nonce=0)

        assert (
            await gasless_reader.simulate_relay(relay, signed(relay), operator=OPERATOR)
        ).is_revert
