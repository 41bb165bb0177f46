"""Keys in AWS KMS: a private key never leaves KMS, which signs digests on request."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any

from aiobotocore.config import AioConfig
from aiobotocore.session import get_session
from botocore.exceptions import BotoCoreError, ClientError

from swap_chains.errors import KeyUnusable
from swap_chains.evm.keys import address_of_der, recoverable


@dataclass(frozen=True, slots=True)
class Credentials:
    access_key_id: str
    secret_access_key: str
    session_token: str | None = None

    def __repr__(self) -> str:
        return f"Credentials({self.access_key_id})"


class AwsKms:
    """A client of KMS. A request is sent once and limited in time; the sender lane tries again."""

    def __init__(
        self,
        *,
        region: str,
        credentials: Credentials,
        url: str | None = None,
        timeout_seconds: float = 3,
    ) -> None:
        """
        :param url: the endpoint; that of the region by default.
        """
        self._options = {
            "region_name": region,
            "endpoint_url": url,
            "aws_access_key_id": credentials.access_key_id,
            "aws_secret_access_key": credentials.secret_access_key,
            "aws_session_token": credentials.session_token,
        }
        self._timeout_seconds = timeout_seconds
        self._resources = AsyncExitStack()
        self._client: Any = None

    async def open(self) -> None:
        """Load the description of KMS and make the client; nothing is sent."""
        config = AioConfig(
            retries={"total_max_attempts": 1},
            # Only settings of the service decide where it connects.
            ignore_configured_endpoint_urls=True,
            proxies={},
        )
        client = get_session().create_client("kms", config=config, **self._options)
        self._client = await self._resources.enter_async_context(client)

    async def close(self) -> None:
        await self._resources.aclose()

    async def sign(self, key_id: str, digest: bytes) -> bytes:
        """Return the signature of a digest, in DER.

        :raises KeyUnusable: when KMS does not answer in time, or refuses.
        """

        async def send() -> Any:
            return await self._client.sign(
                KeyId=key_id,
                Message=digest,
                MessageType="DIGEST",
                SigningAlgorithm="ECDSA_SHA_256",
            )

        return await self._member("Signature", send)

    async def public_key(self, key_id: str) -> bytes:
        """Return the public key, in DER.

        :raises KeyUnusable: when KMS does not answer in time, or refuses.
        """
        return await self._member("PublicKey", lambda: self._client.get_public_key(KeyId=key_id))

    async def _member(self, name: str, send: Callable[[], Awaitable[Any]]) -> bytes:
        """Return a member of a reply."""
        try:
            async with asyncio.timeout(self._timeout_seconds):
                return bytes((await send())[name])
        except ClientError as error:
            code = error.response["Error"].get("Code")
            raise KeyUnusable(f"KMS refused the request for {name}: {code}") from error
        except (BotoCoreError, OSError, ValueError, TypeError, KeyError) as error:
            raise KeyUnusable(f"KMS sent no {name}: {type(error).__name__}") from error


class KmsKey:
    """One account's key in KMS. Its address is compared with KMS before the first signature."""

    def __init__(self, kms: AwsKms, *, key_id: str, address: str) -> None:
        """
        :param address: checksummed; a signature by another account is refused.
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
        signature = await self._kms.sign(self._key_id, digest)
        return recoverable(signature, digest, address=self._address)

    async def _check(self) -> None:
        """
        :raises KeyUnusable: when KMS has another account's key there.
        """
        async with self._checking:
            if self._is_checked:
                return
            found = address_of_der(await self._kms.public_key(self._key_id))
            if found != self._address:
                raise KeyUnusable(f"KMS has the key of {found} there, not of {self._address}")
            self._is_checked = True
