"""What a user signs so that the Paymaster deposits for him, and the Paymaster's calls. Pure.

An authorization to receive (EIP-3009) has a nonce that follows from the swap, so that it pays for
no other. A permit (EIP-2612) defines only the spender and the amount. Its user decides for which
swap, and only the Paymaster's operators can use it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from swap_chains.evm import codec
from swap_chains.evm.codec import WORD, address_word, keccak, selector, uint_word
from swap_chains.evm.signatures import SIGNATURE_BYTES
from swap_domain.gasless import GaslessStandard, TokenDomain

Members = list[dict[str, str]]

DEPOSIT: Final = "(bytes32,address,address,address,uint256)"
DEPOSIT_WITH_AUTHORIZATION: Final = selector(
    f"depositWithAuthorization({DEPOSIT},uint256,uint256,uint8,bytes32,bytes32)"
)
DEPOSIT_WITH_WALLET_AUTHORIZATION: Final = selector(
    f"depositWithWalletAuthorization({DEPOSIT},uint256,uint256,bytes)"
)
DEPOSIT_WITH_PERMIT: Final = selector(
    f"depositWithPermit({DEPOSIT},uint256,uint256,uint8,bytes32,bytes32)"
)
AUTHORIZATION_STATE: Final = selector("authorizationState(address,bytes32)")
NONCES: Final = selector("nonces(address)")
DOMAIN_SEPARATOR: Final = selector("DOMAIN_SEPARATOR()")
RECEIVE_TYPEHASH: Final = selector("RECEIVE_WITH_AUTHORIZATION_TYPEHASH()")
PAYMASTERS_DEPOSITORY: Final = selector("depository()")
PAUSED: Final = selector("paused()")

_DOMAIN: Final = "EIP712Domain"
_TYPES: Final[dict[GaslessStandard, tuple[str, tuple[tuple[str, str], ...]]]] = {
    GaslessStandard.EIP3009: (
        "ReceiveWithAuthorization",
        (
            ("from", "address"),
            ("to", "address"),
            ("value", "uint256"),
            ("validAfter", "uint256"),
            ("validBefore", "uint256"),
            ("nonce", "bytes32"),
        ),
    ),
    GaslessStandard.EIP2612: (
        "Permit",
        (
            ("owner", "address"),
            ("spender", "address"),
            ("value", "uint256"),
            ("nonce", "uint256"),
            ("deadline", "uint256"),
        ),
    ),
}


@dataclass(frozen=True, slots=True)
class RelayedDeposit:
    """One deposit by signature, with everything that it is bound to."""

    standard: GaslessStandard
    domain: TokenDomain
    chain_id: int
    token: str
    paymaster: str
    receiver: str  # the Depository's: the Treasury
    key: str  # the swap, as it is passed to the Depository
    signer: str
    base_units: int
    nonce: int
    valid_after: int  # unix seconds; a permit is valid at once
    valid_before: int

    @property
    def nonce_text(self) -> str:
        """The nonce as the typed data has it."""
        is_permit = self.standard is GaslessStandard.EIP2612
        return str(self.nonce) if is_permit else f"0x{self.nonce:064x}"

    def typed_data(self) -> dict[str, Any]:
        """Return what `eth_signTypedData_v4` takes. Integers are digits, but the chain id."""
        primary, members = _TYPES[self.standard]
        return {
            "types": {
                _DOMAIN: _to_members(_domain_members(self.domain)),
                primary: _to_members(members),
            },
            "primaryType": primary,
            "domain": self._domain_values(),
            "message": self._message(),
        }

    def digest(self) -> bytes:
        """Return the hash that is signed."""
        primary, members = _TYPES[self.standard]
        words = [_word(kind, self._message()[name]) for name, kind in members]
        hashed = keccak(_type_hash(primary, members) + b"".join(words))
        separator = domain_separator(self.domain, chain_id=self.chain_id, token=self.token)
        return keccak(b"\x19\x01" + separator + hashed)

    def call_data(self, signature: bytes) -> bytes:
        """Return the Paymaster's call.

        :param signature: normalised. One that is no key's goes the way of wallets with code.
        :raises ValueError: for a permit that no key has signed.
        """
        deposit = (
            bytes.fromhex(self.key[2:])
            + address_word(self.token)
            + address_word(self.receiver)
            + address_word(self.signer)
            + uint_word(self.base_units)
        )
        if self.standard is GaslessStandard.EIP2612:
            period = uint_word(self.nonce) + uint_word(self.valid_before)
            return DEPOSIT_WITH_PERMIT + deposit + period + _v_r_s(signature)
        period = uint_word(self.valid_after) + uint_word(self.valid_before)
        if len(signature) == SIGNATURE_BYTES:
            return DEPOSIT_WITH_AUTHORIZATION + deposit + period + _v_r_s(signature)
        head = len(deposit) + len(period) + WORD
        padding = bytes(-len(signature) % WORD)
        tail = uint_word(head) + uint_word(len(signature)) + signature + padding
        return DEPOSIT_WITH_WALLET_AUTHORIZATION + deposit + period + tail

    def _domain_values(self) -> dict[str, Any]:
        values: dict[str, Any] = {
            "name": self.domain.name,
            "version": self.domain.version,
            "chainId": self.chain_id,
            "verifyingContract": self.token,
            "salt": self.domain.salt,
        }
        return {name: values[name] for name, _ in _domain_members(self.domain)}

    def _message(self) -> dict[str, str]:
        if self.standard is GaslessStandard.EIP2612:
            return {
                "owner": self.signer,
                "spender": self.paymaster,
                "value": str(self.base_units),
                "nonce": self.nonce_text,
                "deadline": str(self.valid_before),
            }
        return {
            "from": self.signer,
            "to": self.paymaster,
            "value": str(self.base_units),
            "validAfter": str(self.valid_after),
            "validBefore": str(self.valid_before),
            "nonce": self.nonce_text,
        }


def authorization_nonce(
    *, chain_id: int, paymaster: str, key: str, receiver: str, token: str
) -> int:
    """Return the only nonce with which the Paymaster takes an authorization for a swap."""
    bound = (
        uint_word(chain_id)
        + address_word(paymaster)
        + bytes.fromhex(key[2:])
        + address_word(receiver)
        + address_word(token)
    )
    return int.from_bytes(keccak(bound), "big")


def domain_separator(domain: TokenDomain, *, chain_id: int, token: str) -> bytes:
    """Return what the token must answer to DOMAIN_SEPARATOR(), if its domain is this one."""
    members = _domain_members(domain)
    values = {
        "name": domain.name,
        "version": domain.version or "",
        "chainId": str(chain_id),
        "verifyingContract": token,
        "salt": domain.salt or "",
    }
    words = [_word(kind, values[name]) for name, kind in members]
    return keccak(_type_hash(_DOMAIN, members) + b"".join(words))


def receive_typehash() -> bytes:
    """Return what an EIP-3009 token must answer to RECEIVE_WITH_AUTHORIZATION_TYPEHASH()."""
    return _type_hash(*_TYPES[GaslessStandard.EIP3009])


def encode_authorization_state(signer: str, nonce: int) -> bytes:
    return AUTHORIZATION_STATE + address_word(signer) + uint_word(nonce)


def encode_nonces(signer: str) -> bytes:
    return NONCES + address_word(signer)


def _domain_members(domain: TokenDomain) -> tuple[tuple[str, str], ...]:
    """Return the members that the token's domain has, in the order of EIP-712."""
    version = (("version", "string"),) if domain.version is not None else ()
    if domain.salt is not None:
        rest: tuple[tuple[str, str], ...] = (("verifyingContract", "address"), ("salt", "bytes32"))
    else:
        rest = (("chainId", "uint256"), ("verifyingContract", "address"))
    return (("name", "string"), *version, *rest)


def _type_hash(name: str, members: tuple[tuple[str, str], ...]) -> bytes:
    fields = ",".join(f"{kind} {member}" for member, kind in members)
    return keccak(f"{name}({fields})".encode())


def _word(kind: str, value: str) -> bytes:
    match kind:
        case "string":
            return keccak(value.encode())
        case "address":
            return address_word(value)
        case "bytes32":
            return bytes.fromhex(value[2:])
        case _:
            return uint_word(int(value))


def _to_members(members: tuple[tuple[str, str], ...]) -> Members:
    return [{"name": name, "type": kind} for name, kind in members]


def _v_r_s(signature: bytes) -> bytes:
    if len(signature) != SIGNATURE_BYTES:
        raise ValueError(f"{len(signature)} bytes are no key's signature")
    return codec.uint_word(signature[-1]) + signature[:-1]
