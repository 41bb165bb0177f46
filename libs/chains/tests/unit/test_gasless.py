"""The signed data, and the accepted forms of signatures; eth_account confirms both."""

from __future__ import annotations

import pytest
from eth_account import Account
from eth_account.messages import _hash_eip191_message, encode_typed_data

from swap_chains.evm import codec
from swap_chains.evm.gasless import RelayedDeposit, authorization_nonce, domain_separator
from swap_chains.evm.signatures import normalise, recover
from swap_domain.gasless import GaslessStandard, TokenDomain

KEY = "0x" + "a1" * 32
SIGNER = Account.from_key(KEY).address
TOKEN, PAYMASTER, TREASURY = (
    codec.checksum_address("0x" + digits * 20) for digits in ("70", "9a", "7e")
)
ORDER = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
DOMAINS = {
    "usual": TokenDomain("USD Coin", "2"),
    "without a version": TokenDomain("Plain", None),
    "bridged, with a salt": TokenDomain("USD Coin (PoS)", "1", "0x" + f"{137:064x}"),
}


def relayed(standard: GaslessStandard, domain: TokenDomain = DOMAINS["usual"]) -> RelayedDeposit:
    key = codec.depository_id(7)
    nonce = authorization_nonce(
        chain_id=31337, paymaster=PAYMASTER, key=key, receiver=TREASURY, token=TOKEN
    )
    return RelayedDeposit(
        standard=standard,
        domain=domain,
        chain_id=31337,
        token=TOKEN,
        paymaster=PAYMASTER,
        receiver=TREASURY,
        key=key,
        signer=SIGNER,
        base_units=25_500_000,
        nonce=nonce if standard is GaslessStandard.EIP3009 else 4,
        valid_after=0,
        valid_before=1_800_000_000,
    )


@pytest.mark.parametrize("domain", DOMAINS.values(), ids=DOMAINS)
@pytest.mark.parametrize("standard", GaslessStandard)
def test_digest_equals_the_one_of_eth_account(standard, domain):
    relay = relayed(standard, domain)

    theirs = encode_typed_data(full_message=relay.typed_data())

    assert relay.digest() == bytes(_hash_eip191_message(theirs))
    assert domain_separator(domain, chain_id=31337, token=TOKEN) == bytes(theirs.header)


@pytest.mark.parametrize("standard", GaslessStandard)
def test_a_key_is_recovered_from_what_it_signed(standard):
    relay = relayed(standard)
    signed = Account.sign_typed_data(KEY, full_message=relay.typed_data())

    assert recover(relay.digest(), bytes(signed.signature)) == SIGNER
    assert recover(b"\x01" * 32, bytes(signed.signature)) != SIGNER


class TestG7:
    """High s, v of 0 and 1, and 64 bytes are converted to the form that tokens accept."""

    def forms(self) -> dict[str, bytes]:
        signed = Account.sign_typed_data(KEY, full_message=self.relay.typed_data())
        plain = bytes(signed.signature)
        r, s, v = plain[:32], int.from_bytes(plain[32:64], "big"), plain[64]
        compact = s | (v - 27) << 255
        return {
            "as wallets give it": plain,
            "v of 0 or 1": plain[:64] + bytes([v - 27]),
            "high s": r + (ORDER - s).to_bytes(32, "big") + bytes([55 - v]),
            "64 bytes": r + compact.to_bytes(32, "big"),
        }

    relay = relayed(GaslessStandard.EIP3009)

    @pytest.mark.parametrize("form", ["as wallets give it", "v of 0 or 1", "high s", "64 bytes"])
    @pytest.mark.fault("G7")
    def test_g7_each_form_becomes_the_one_that_tokens_take(self, form):
        forms = self.forms()

        assert normalise(forms[form]) == forms["as wallets give it"]
        assert recover(self.relay.digest(), normalise(forms[form])) == SIGNER

    @pytest.mark.parametrize(
        "signature",
        [b"", b"\x01" * 10, b"\x01" * 64 + b"\x40", bytes(65), b"\xff" * 64 + b"\x1b"],
        ids=["none", "short", "odd v", "zeros", "s beyond the order"],
    )
    @pytest.mark.fault("G7")
    def test_g7_what_is_no_signature_has_no_signer(self, signature):
        assert recover(self.relay.digest(), normalise(signature)) is None


def test_a_permit_of_a_wallet_with_code_has_no_call():
    with pytest.raises(ValueError, match="no key"):
        relayed(GaslessStandard.EIP2612).call_data(b"\x01" * 130)
