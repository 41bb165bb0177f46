"""Signs users' transactions with little CPU time: the services use the same processor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from coincurve import PrivateKey

from swap_chains.evm.codec import keccak

TIP = 10**9
FEE_CAP = 200 * 10**9
DYNAMIC_FEE = b"\x02"
Item = bytes | Sequence["Item"]


@dataclass(slots=True)
class Wallet:
    """One account on one chain; its nonces are counted here and never queried."""

    key: PrivateKey
    address: str
    chain_id: int
    nonce: int

    @classmethod
    def from_key(cls, private_key: str, address: str, *, chain_id: int, nonce: int) -> Wallet:
        return cls(PrivateKey(bytes.fromhex(private_key[2:])), address, chain_id, nonce)

    def sign(self, to: str, *, value: int = 0, data: bytes = b"", gas: int) -> bytes:
        """Return the next signed transaction of the account."""
        fields: list[Item] = [
            number(self.chain_id),
            number(self.nonce),
            number(TIP),
            number(FEE_CAP),
            number(gas),
            bytes.fromhex(to[2:]),
            number(value),
            data,
            (),
        ]
        self.nonce += 1
        signature = self.key.sign_recoverable(
            keccak(DYNAMIC_FEE + rlp(fields)),
            hasher=None,
        )
        r, s, parity = signature[:32], signature[32:64], signature[64]
        return DYNAMIC_FEE + rlp([*fields, number(parity), r.lstrip(b"\0"), s.lstrip(b"\0")])


def number(value: int) -> bytes:
    return value.to_bytes((value.bit_length() + 7) // 8, "big")


def rlp(item: Item) -> bytes:
    """Encode as RLP."""
    if isinstance(item, bytes):
        if len(item) == 1 and item[0] < 0x80:
            return item
        return _prefix(len(item), 0x80) + item
    body = b"".join(rlp(one) for one in item)
    return _prefix(len(body), 0xC0) + body


def _prefix(length: int, offset: int) -> bytes:
    if length < 56:
        return bytes([offset + length])
    size = number(length)
    return bytes([offset + 55 + len(size)]) + size
