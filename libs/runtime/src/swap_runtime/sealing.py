"""Secrets at rest: AES-256-GCM, bound to what they belong to."""

from __future__ import annotations

from base64 import b64decode, urlsafe_b64decode, urlsafe_b64encode
from binascii import Error as NotBase64
from collections.abc import Sequence
from functools import lru_cache
from hashlib import sha256
from secrets import token_bytes
from typing import Final
from uuid import UUID

from Crypto.Cipher import AES

FORM: Final = "v1"
KEY_BYTES: Final = 32
NONCE_BYTES: Final = 12
TAG_BYTES: Final = 16
CLEAR_KEY_ID: Final = ""  # of what was stored before anything was sealed


class Unreadable(Exception):
    """A stored secret cannot be opened: its key is not among ours, or it was changed."""


class Sealing:
    """Seals with the first key, opens with any.

    The stored value has its format, the id of its key, and then nonce, tag and ciphertext.
    """

    def __init__(self, keys: Sequence[bytes]) -> None:
        """
        :raises ValueError: without a key, or with one that is not 256 bits.
        """
        if not keys or any(len(key) != KEY_BYTES for key in keys):
            raise ValueError(f"there must be keys, of {KEY_BYTES} bytes each")
        self._keys = {_id_of(key): key for key in keys}
        self._opened = lru_cache(maxsize=4096)(self._open)

    @classmethod
    def with_keys(cls, texts: Sequence[str]) -> Sealing:
        """Read the keys as settings hold them, in base64; no error shows one.

        :raises ValueError: when one is none.
        """
        try:
            keys = [b64decode(text, validate=True) for text in texts]
        except NotBase64:
            raise ValueError("a key is not base64") from None
        return cls(keys)

    @property
    def first_key_id(self) -> str:
        return next(iter(self._keys))

    @property
    def key_ids(self) -> Sequence[str]:
        """The keys of whatever can be read, with the one of what is not sealed yet."""
        return [*self._keys, CLEAR_KEY_ID]

    def is_current(self, sealed: str) -> bool:
        """Whether the first key sealed it."""
        return sealed.startswith(f"{FORM}.{self.first_key_id}.")

    def seal(self, secret: str, *, owner_id: UUID) -> str:
        nonce = token_bytes(NONCE_BYTES)
        cipher = AES.new(self._keys[self.first_key_id], AES.MODE_GCM, nonce=nonce)
        cipher.update(owner_id.bytes)
        text, tag = cipher.encrypt_and_digest(secret.encode())
        body = urlsafe_b64encode(nonce + tag + text).decode()
        return f"{FORM}.{self.first_key_id}.{body}"

    def open(self, sealed: str, *, owner_id: UUID) -> str:
        """
        :raises Unreadable: when none of the keys opens it for this owner.
        """
        return self._opened(sealed, owner_id)

    def open_once(self, sealed: str, *, owner_id: UUID) -> str:
        """Open it, and keep nothing of it in memory. Text that was never sealed is refused.

        :raises Unreadable: when none of the keys opens it for this owner.
        """
        if not sealed.startswith(f"{FORM}."):
            raise Unreadable("it is not sealed")
        return self._open(sealed, owner_id)

    def _open(self, sealed: str, owner_id: UUID) -> str:
        form, _, rest = sealed.partition(".")
        if not rest:
            return sealed
        key_id, _, body = rest.partition(".")
        if form != FORM or key_id not in self._keys:
            raise Unreadable(f"sealed in form {form} with key {key_id}, which is not ours")
        try:
            content = urlsafe_b64decode(body)
            nonce, text = content[:NONCE_BYTES], content[NONCE_BYTES + TAG_BYTES :]
            tag = content[NONCE_BYTES : NONCE_BYTES + TAG_BYTES]
            cipher = AES.new(self._keys[key_id], AES.MODE_GCM, nonce=nonce)
            cipher.update(owner_id.bytes)
            return cipher.decrypt_and_verify(text, tag).decode()
        except ValueError as error:
            raise Unreadable(f"key {key_id} does not open it for this owner") from error


def _id_of(key: bytes) -> str:
    """Name a key without showing anything of it."""
    return sha256(b"webhook secrets/" + key).hexdigest()[:12]
