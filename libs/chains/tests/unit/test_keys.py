"""Keys in memory, in a file and in KMS: each signs the same transaction, and only for its account.

The KMS here is a stub of its HTTP protocol, because the usual mock hashes the digest again. It
returns s in either half, as the real one does.
"""

from __future__ import annotations

import asyncio
import base64
import json
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from coincurve import PrivateKey
from eth_account import Account

from swap_chains.errors import KeyUnusable
from swap_chains.evm.aws_kms import AwsKms, Credentials, KmsKey
from swap_chains.evm.codec import checksum_address, keccak
from swap_chains.evm.keys import LocalKey, keystore_key, recoverable
from swap_chains.evm.rpc import Rpc
from swap_chains.evm.sender import EvmSender
from swap_chains.evm.signatures import recover
from swap_chains.ports import Call, Fees

KEY, OTHER_KEY = "0x" + "4b" * 32, "0x" + "4c" * 32
ADDRESS = Account.from_key(KEY).address
ORDER = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
CALL = Call(checksum_address("0x" + "7e" * 20), 5, b"\x01", 100_000)
FEES = Fees(30, 2)
CREDENTIALS = Credentials("AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", "session")
# The DER prefix of a key of this curve.
SPKI = bytes.fromhex("3056301006072a8648ce3d020106052b8104000a034200")


def der_of(signature: bytes, *, high_s: bool) -> bytes:
    r, s = (int.from_bytes(signature[n : n + 32], "big") for n in (0, 32))
    s = max(s, ORDER - s) if high_s else min(s, ORDER - s)
    parts = b"".join(_integer(number) for number in (r, s))
    return bytes([0x30, len(parts)]) + parts


def _integer(number: int) -> bytes:
    content = number.to_bytes(number.bit_length() // 8 + 1, "big")
    return bytes([0x02, len(content)]) + content


LOADED_SECONDS = 60  # enough for the first connection on any machine


@dataclass
class KmsStub:
    """Signs prehashed digests; every second signature has s in its upper half."""

    key: str = KEY
    is_refusing: bool = False
    is_slow: bool = False
    reply: str | None = None
    requests: list[web.Request] = field(default_factory=list)
    signed: int = 0

    async def answer(self, request: web.Request) -> web.Response:
        self.requests.append(request)
        if self.is_slow:
            await asyncio.Event().wait()
        if self.reply is not None:
            return web.Response(text=self.reply, content_type="application/json")
        if self.is_refusing:
            return web.json_response({"__type": "ThrottlingException"}, status=400)
        question = await request.json()
        key = PrivateKey.from_hex(self.key[2:])
        if request.headers["X-Amz-Target"] == "TrentService.GetPublicKey":
            public = SPKI + key.public_key.format(compressed=False)
            return web.json_response({"PublicKey": base64.b64encode(public).decode()})
        assert question["MessageType"] == "DIGEST"
        assert question["SigningAlgorithm"] == "ECDSA_SHA_256"
        digest = base64.b64decode(question["Message"])
        signature = key.sign_recoverable(digest, hasher=None)
        self.signed += 1
        der = der_of(signature, high_s=self.signed % 2 == 0)
        return web.json_response({"Signature": base64.b64encode(der).decode()})


@pytest.fixture
async def stub():
    return KmsStub()


@asynccontextmanager
async def serving(stub, *, timeout_seconds=LOADED_SECONDS):
    app = web.Application()
    app.router.add_post("/", stub.answer)
    async with TestServer(app) as server:
        kms = AwsKms(
            region="eu-central-1",
            credentials=CREDENTIALS,
            url=str(server.make_url("/")),
            timeout_seconds=timeout_seconds,
        )
        await kms.open()
        yield kms
        await kms.close()


@pytest.fixture
async def kms(stub):
    async with serving(stub) as kms:
        yield kms


def sender_of(session, **key):
    rpc = Rpc.to_urls("TESTNET", ["http://127.0.0.1:1"], session, timeout_seconds=1)
    return EvmSender(rpc, chain_id=31337, **key)


class TestAnyKey:
    async def test_signs_what_eth_account_would(self, session):
        signed = await sender_of(session, private_key=KEY).sign(CALL, nonce=7, fees=FEES)

        expected = Account.from_key(KEY).sign_transaction(
            {
                "type": 2,
                "chainId": 31337,
                "nonce": 7,
                "to": CALL.to,
                "value": CALL.value,
                "data": CALL.data,
                "gas": CALL.gas_limit,
                "maxFeePerGas": 30,
                "maxPriorityFeePerGas": 2,
            }
        )
        assert signed.raw == bytes(expected.raw_transaction)

    async def test_of_an_encrypted_file_is_the_one_that_was_put_in(self, tmp_path):
        path = tmp_path / "signer.json"
        path.write_text(json.dumps(Account.encrypt(KEY, "secret", kdf="pbkdf2", iterations=2)))

        assert keystore_key(path, "secret").address == ADDRESS
        with pytest.raises(ValueError, match=r"signer\.json cannot be opened"):
            keystore_key(path, "wrong")

    def test_is_in_no_representation_or_error(self):
        assert KEY[2:] not in repr(LocalKey(KEY))
        with pytest.raises(ValueError, match="no private key") as refused:
            LocalKey("0xnonsense")
        assert "nonsense" not in str(refused.value)


class TestAKeyInKms:
    @pytest.mark.fault("S28")
    async def test_s28_signs_for_its_account_with_s_in_the_lower_half(self, kms, session):
        sender = sender_of(session, key=KmsKey(kms, key_id="k", address=ADDRESS))

        for nonce in range(4):
            signed = await sender.sign(CALL, nonce=nonce, fees=FEES)
            assert Account.recover_transaction(signed.raw) == ADDRESS
            local = await sender_of(session, private_key=KEY).sign(CALL, nonce=nonce, fees=FEES)
            assert signed.raw == local.raw

    @pytest.mark.fault("S28")
    async def test_s28_of_another_account_is_refused_before_it_signs(self, kms, stub):
        stub.key = OTHER_KEY

        with pytest.raises(KeyUnusable, match="not of"):
            await KmsKey(kms, key_id="k", address=ADDRESS).sign(keccak(b"x"))
        assert stub.signed == 0

    @pytest.mark.fault("S28")
    async def test_s28_that_signs_with_another_key_later_is_refused(self, kms, stub):
        key = KmsKey(kms, key_id="k", address=ADDRESS)
        await key.sign(keccak(b"x"))
        stub.key = OTHER_KEY

        with pytest.raises(KeyUnusable, match="is not by"):
            await key.sign(keccak(b"y"))

    @pytest.mark.fault("S28")
    async def test_s28_that_refuses_is_abandoned_and_queried_again(self, kms, stub):
        key = KmsKey(kms, key_id="k", address=ADDRESS)
        stub.is_refusing = True

        with pytest.raises(KeyUnusable):
            await key.sign(keccak(b"x"))

        stub.is_refusing = False
        await key.sign(keccak(b"x"))

    @pytest.mark.fault("S28")
    async def test_s28_that_is_slow_is_given_up_in_bounded_time(self, stub):
        stub.is_slow = True

        async with asyncio.timeout(LOADED_SECONDS), serving(stub, timeout_seconds=0.5) as kms:
            with pytest.raises(KeyUnusable):
                await KmsKey(kms, key_id="k", address=ADDRESS).sign(keccak(b"x"))

    async def test_is_used_by_a_signed_request(self, kms, stub):
        await KmsKey(kms, key_id="k", address=ADDRESS).sign(keccak(b"x"))

        for request in stub.requests:
            day = request.headers["X-Amz-Date"][:8]
            assert request.headers["X-Amz-Security-Token"] == "session"
            assert request.headers["Authorization"].startswith(
                f"AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/{day}/eu-central-1/kms/aws4_request, "
                "SignedHeaders=content-type;host;x-amz-date;x-amz-security-token;x-amz-target, "
            )
        assert CREDENTIALS.secret_access_key not in repr(CREDENTIALS)

    @pytest.mark.parametrize("variable", ["HTTP_PROXY", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_KMS"])
    async def test_is_at_the_configured_address_in_any_environment(
        self, stub, monkeypatch, variable
    ):
        monkeypatch.setenv(variable, "http://127.0.0.1:1")
        async with serving(stub) as kms:
            await KmsKey(kms, key_id="k", address=ADDRESS).sign(keccak(b"x"))

        assert stub.signed == 1

    @pytest.mark.parametrize(
        "reply", ["", "<html>", "{}", '{"PublicKey": 1}', '{"PublicKey": "%"}']
    )
    async def test_without_a_usable_answer_is_unusable(self, kms, stub, reply):
        stub.reply = reply

        with pytest.raises(KeyUnusable):
            await KmsKey(kms, key_id="k", address=ADDRESS).sign(keccak(b"x"))
        assert len(stub.requests) == 1


@pytest.mark.parametrize("der", [b"", b"\x30", b"\x31\x00", b"\x30\x04\x02\x01\x01", b"\x30" * 80])
def test_invalid_signature_is_refused(der):
    with pytest.raises(KeyUnusable):
        recoverable(der, keccak(b"x"), address=ADDRESS)


async def test_a_local_signature_is_recovered():
    digest = keccak(b"x")

    assert recover(digest, await LocalKey(KEY).sign(digest)) == ADDRESS
