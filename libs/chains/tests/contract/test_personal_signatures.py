"""Signatures that a wallet with code accepts (EIP-1271), on a real node."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from eth_account import Account
from eth_account.messages import encode_defunct

from swap_chains.evm.deploy import Deployer
from swap_chains.evm.personal_signatures import WalletAnswer, ask_wallet, personal_digest
from swap_chains.evm.rpc import Rpc, open_session

from .conftest import ARTIFACTS, EXTERNAL_ACCOUNT, OPERATOR_KEY, OWNER_KEY, USER_KEY, Addresses

pytestmark = pytest.mark.connected

TEXT = "the transfer of 5 USDC pays for the swap"
YES = "1626ba7e"
SAYS_NOTHING = "0x00"
REVERTS = "0x5f5ffd"
NEVER_ENDS = "0x5b5f56"
REVERTS_WITH_YES = f"0x63{YES}60e01b5f5260205ffd"
NO = "0x63ffffffff60e01b5f5260205ff3"
ONE = "0x60015f5260205ff3"
YES_AND_MORE = f"0x63{YES}60e01b5f5260405ff3"  # two words
YES_AND_DIRT = f"0x64{YES}0160d81b5f5260205ff3"  # one word, with a byte after the four
FOUR_BYTES = f"0x63{YES}60e01b5f5260045ff3"
HALF_A_MEGABYTE = "0x6207a1205ff3"
JUST_YES = f"0x63{YES}60e01b5f5260205ff3"


@pytest_asyncio.fixture
async def rpc(anvil_url: str) -> AsyncIterator[Rpc]:
    async with open_session() as session:
        yield Rpc.to_urls("ETHEREUM_DEVNET", [anvil_url], session, timeout_seconds=30)


@pytest.fixture(scope="session")
def wallet(anvil_url: str, contracts: Addresses) -> str:
    """Return a wallet that accepts the signatures of the user's key."""

    async def deployed() -> str:
        async with Deployer(anvil_url, OWNER_KEY) as deployer:
            key = Account.from_key(USER_KEY).address
            return await deployer.deploy(ARTIFACTS / "DevSignerWallet.json", key)

    return asyncio.run(deployed())


def signed(text: str = TEXT, key: str = USER_KEY) -> bytes:
    return bytes(Account.sign_message(encode_defunct(text=text), key).signature)


class TestAWallet:
    async def test_takes_what_its_key_signed(self, rpc, wallet):
        answer = await ask_wallet(rpc, wallet, personal_digest(TEXT), signed())

        assert answer is WalletAnswer.ACCEPTED

    @pytest.mark.parametrize(
        "signature",
        [
            pytest.param(signed(key=OPERATOR_KEY), id="of another key"),
            pytest.param(signed("something else"), id="of another text"),
            pytest.param(signed()[:-1], id="cut off"),
            pytest.param(signed() + b"\0", id="too long"),
            pytest.param(b"", id="none"),
            pytest.param(b"\xff" * 65, id="no point of the curve"),
            pytest.param(b"\x77" * 4_000, id="much"),
        ],
    )
    async def test_takes_no_other(self, rpc, wallet, signature):
        answer = await ask_wallet(rpc, wallet, personal_digest(TEXT), signature)

        assert answer is WalletAnswer.REFUSED

    async def test_refuses_a_signature_of_another_text(self, rpc, wallet):
        answer = await ask_wallet(rpc, wallet, personal_digest(TEXT + "."), signed())

        assert answer is WalletAnswer.REFUSED


class TestCode:
    @pytest.mark.parametrize(
        "code",
        [
            pytest.param(SAYS_NOTHING, id="says nothing"),
            pytest.param(REVERTS, id="reverts"),
            pytest.param(REVERTS_WITH_YES, id="reverts with a yes"),
            pytest.param(NEVER_ENDS, id="burns its gas"),
            pytest.param(NO, id="says no"),
            pytest.param(ONE, id="says true"),
            pytest.param(YES_AND_MORE, id="says yes and more"),
            pytest.param(YES_AND_DIRT, id="says nearly yes"),
            pytest.param(FOUR_BYTES, id="says yes in four bytes"),
            pytest.param(HALF_A_MEGABYTE, id="says half a megabyte"),
        ],
    )
    async def test_with_any_answer_but_yes_denies(self, rpc, code):
        await rpc.nodes[0].call("anvil_setCode", EXTERNAL_ACCOUNT, code)
        try:
            answer = await ask_wallet(rpc, EXTERNAL_ACCOUNT, personal_digest(TEXT), signed())
            assert answer is WalletAnswer.REFUSED
        finally:
            await rpc.nodes[0].call("anvil_setCode", EXTERNAL_ACCOUNT, "0x")

    async def test_that_accepts_every_signature_accepts_an_empty_one(self, rpc):
        await rpc.nodes[0].call("anvil_setCode", EXTERNAL_ACCOUNT, JUST_YES)
        try:
            answer = await ask_wallet(rpc, EXTERNAL_ACCOUNT, personal_digest(TEXT), b"")
            assert answer is WalletAnswer.ACCEPTED
        finally:
            await rpc.nodes[0].call("anvil_setCode", EXTERNAL_ACCOUNT, "0x")

    async def test_that_is_missing_is_reported(self, rpc):
        answer = await ask_wallet(rpc, EXTERNAL_ACCOUNT, personal_digest(TEXT), signed())

        assert answer is WalletAnswer.NO_CODE
