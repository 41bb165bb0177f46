"""Keys that sign transactions: one in memory, from an encrypted file, or in a key service.

A signature leaves here only in the one form that chains take, and only if it is this key's.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final, Protocol

import orjson
from coincurve import PrivateKey, PublicKey
from eth_account import Account

from swap_chains.errors import KeyUnusable
from swap_chains.evm.codec import checksum_address, keccak
from swap_chains.evm.signatures import normalise, recover

_WORD: Final = 32
_SEQUENCE: Final = 0x30
_INTEGER: Final = 0x02
_LONG_FORM: Final = 0x80
_POINT_BYTES: Final = 65  # 0x04, x and y: how a public key ends in its DER


class Key(Protocol):
    """Signs digests for one account."""

    @property
    def address(self) -> str: ...

    async def sign(self, digest: bytes) -> bytes:
        """Return r, s in its lower half, and v as 27 or 28.

        :raises KeyUnusable: when it cannot be used now, or is not the account's.
        """
        ...


class LocalKey:
    """A key in this process's memory. Its repr never shows it."""

    def __init__(self, private_key: str) -> None:
        """
        :raises ValueError: when it is none; the text does not show it.
        """
        try:
            secret = bytes.fromhex(private_key.removeprefix("0x"))
            if len(secret) != _WORD:
                raise ValueError
            self._key = PrivateKey(secret)
        except Exception:
            raise ValueError("this is no private key") from None
        self._address = address_of(self._key.public_key.format(compressed=False))

    def __repr__(self) -> str:
        return f"LocalKey({self._address})"

    @property
    def address(self) -> str:
        return self._address

    async def sign(self, digest: bytes) -> bytes:
        return normalise(self._key.sign_recoverable(digest, hasher=None))


def keystore_key(path: Path, password: str) -> LocalKey:
    """Return the key in an encrypted keystore file, as Ethereum's clients write it (version 3).

    :raises ValueError: when it cannot be opened.
    """
    try:
        opened: bytes = Account.decrypt(orjson.loads(path.read_bytes()), password)
    except Exception:
        raise ValueError(f"the keystore {path.name} cannot be opened") from None
    return LocalKey(bytes(opened).hex())


def recoverable(der: bytes, digest: bytes, *, address: str) -> bytes:
    """Return a DER signature as chains take it, once it is certain that it is the account's.

    A key service does not return which of the two possible keys signed. In half of the cases s is
    in its upper half, which chains refuse.

    :raises KeyUnusable: when it is no signature of that account.
    """
    r, s = _integers(der)
    for parity in (0, 1):
        signature = normalise(r + s + bytes([parity]))
        if recover(digest, signature) == address:
            return signature
    raise KeyUnusable(f"what was signed is not by {address}")


def address_of_der(public_key: bytes) -> str:
    """Return the account of a public key in DER, as key services give it.

    :raises KeyUnusable: when it is no key of this curve.
    """
    try:
        point = PublicKey(public_key[-_POINT_BYTES:]).format(compressed=False)
    except Exception:
        raise KeyUnusable("the key service has another kind of key") from None
    return address_of(point)


def address_of(point: bytes) -> str:
    return checksum_address("0x" + keccak(point[1:])[-20:].hex())


def _integers(der: bytes) -> tuple[bytes, bytes]:
    """Read a sequence of two integers."""
    try:
        body, rest = _read(der, _SEQUENCE)
        r, tail = _read(body, _INTEGER)
        s, end = _read(tail, _INTEGER)
        if rest or end:
            raise ValueError("more than a signature")
        words = [int.from_bytes(part, "big").to_bytes(_WORD, "big") for part in (r, s)]
    except (ValueError, IndexError, OverflowError) as error:
        raise KeyUnusable(f"the key service gave no signature: {error}") from error
    return words[0], words[1]


def _read(data: bytes, tag: int) -> tuple[bytes, bytes]:
    """Return the content of the element that data begins with, and what follows it."""
    length = data[1]
    if data[0] != tag or length >= _LONG_FORM or len(data) < 2 + length:
        raise ValueError("not DER")
    return data[2 : 2 + length], data[2 + length :]
