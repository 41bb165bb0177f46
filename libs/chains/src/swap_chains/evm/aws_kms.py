"""A key in AWS KMS: it never leaves there, and signs digests on request."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import urlsplit

import aiohttp
import orjson

from swap_chains.errors import KeyUnusable
from swap_chains.evm.keys import address_of_der, recoverable

_ALGORITHM: Final = "AWS4-HMAC-SHA256"
_SERVICE: Final = "kms"
_TARGET: Final = "TrentService"
_CONTENT_TYPE: Final = "application/x-amz-json-1.1"


@dataclass(frozen=True, slots=True)
class Credentials:
    access_key_id: str
    secret_access_key: str
    session_token: str | None = None

    def __repr__(self) -> str:
        return f"Credentials({self.access_key_id})"


class AwsKms:
    """Asks KMS, signed by our credentials and bounded in time."""

    def __init__(
        self,
        session: aiohttp.ClientSession,
        *,
        region: str,
        credentials: Credentials,
        clock: Callable[[], datetime],
        url: str | None = None,
        timeout_seconds: float = 3,
    ) -> None:
        self._session = session
        self._region = region
        self._credentials = credentials
        self._clock = clock
        self._url = url or f"https://kms.{region}.amazonaws.com/"
        self._timeout = aiohttp.ClientTimeout(total=timeout_seconds)

    async def ask(self, operation: str, question: Mapping[str, Any]) -> Mapping[str, Any]:
        """
        :raises KeyUnusable: when it does not answer in time, or refuses.
        """
        body = orjson.dumps(dict(question))
        headers = self._signed({"x-amz-target": f"{_TARGET}.{operation}"}, body)
        try:
            async with self._session.post(
                self._url, data=body, headers=headers, timeout=self._timeout
            ) as answer:
                reply = dict(orjson.loads(await answer.read()))
        except (aiohttp.ClientError, TimeoutError, ValueError, TypeError) as error:
            raise KeyUnusable(f"KMS did not answer {operation}: {type(error).__name__}") from error
        if answer.status != HTTPStatus.OK:
            raise KeyUnusable(f"KMS refused {operation}: {reply.get('__type', answer.status)}")
        return reply

    def _signed(self, more: Mapping[str, str], body: bytes) -> dict[str, str]:
        """Return the headers with a signature of the request, version 4."""
        at = self._clock().strftime("%Y%m%dT%H%M%SZ")
        credentials, url = self._credentials, urlsplit(self._url)
        headers = {"content-type": _CONTENT_TYPE, "host": url.netloc, "x-amz-date": at, **more}
        if credentials.session_token:
            headers["x-amz-security-token"] = credentials.session_token
        names = ";".join(sorted(headers))
        lines = "".join(f"{name}:{headers[name]}\n" for name in sorted(headers))
        digest = hashlib.sha256(body).hexdigest()
        canonical = f"POST\n{url.path or '/'}\n\n{lines}\n{names}\n{digest}"
        scope = f"{at[:8]}/{self._region}/{_SERVICE}/aws4_request"
        hashed = hashlib.sha256(canonical.encode()).hexdigest()
        to_sign = f"{_ALGORITHM}\n{at}\n{scope}\n{hashed}"
        key = f"AWS4{credentials.secret_access_key}".encode()
        for part in scope.split("/"):
            key = hmac.digest(key, part.encode(), "sha256")
        signature = hmac.digest(key, to_sign.encode(), "sha256").hex()
        granted = f"Credential={credentials.access_key_id}/{scope}"
        authorization = f"{_ALGORITHM} {granted}, SignedHeaders={names}, Signature={signature}"
        return {**headers, "authorization": authorization}


class KmsKey:
    """One account's key in KMS. Which account it is was asked, not believed."""

    def __init__(self, kms: AwsKms, *, key_id: str, address: str) -> None:
        """
        :param address: checksummed; what is signed by another account is refused.
        """
        self._kms = kms
        self._key_id = key_id
        self._address = address
        self._is_checked = False
        self._checking = asyncio.Lock()

    def __repr__(self) -> str:
        return f"KmsKey({self._address})"

    @property
    def address(self) -> str:
        return self._address

    async def sign(self, digest: bytes) -> bytes:
        await self._check()
        reply = await self._kms.ask(
            "Sign",
            {
                "KeyId": self._key_id,
                "Message": base64.b64encode(digest).decode(),
                "MessageType": "DIGEST",
                "SigningAlgorithm": "ECDSA_SHA_256",
            },
        )
        return recoverable(_bytes(reply, "Signature"), digest, address=self._address)

    async def _check(self) -> None:
        """
        :raises KeyUnusable: when KMS has another account's key there.
        """
        async with self._checking:
            if self._is_checked:
                return
            reply = await self._kms.ask("GetPublicKey", {"KeyId": self._key_id})
            found = address_of_der(_bytes(reply, "PublicKey"))
            if found != self._address:
                raise KeyUnusable(f"KMS has the key of {found} there, not of {self._address}")
            self._is_checked = True


def _bytes(reply: Mapping[str, Any], name: str) -> bytes:
    try:
        return base64.b64decode(reply[name], validate=True)
    except (KeyError, TypeError, ValueError) as error:
        raise KeyUnusable(f"KMS told no {name}") from error
