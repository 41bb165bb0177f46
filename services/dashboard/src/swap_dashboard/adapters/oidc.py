"""An OpenID provider over HTTP: authorization code with PKCE, state and nonce."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import httpx
import orjson
from authlib.oauth2.rfc6749.parameters import prepare_grant_uri
from authlib.oauth2.rfc7636 import create_s256_code_challenge
from authlib.oidc.core import CodeIDToken
from authlib.oidc.discovery import get_well_known_url
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet

from swap_dashboard import observe
from swap_dashboard.domain.oidc import OidcRequest, ProviderRefused, ProviderUnavailable
from swap_dashboard.ports import Clock
from swap_runtime.postgres.database import forbid_open_transaction

SCOPE: Final = "openid email"
# Signatures by a key pair. With a symmetric algorithm the client's secret could sign.
ALGORITHMS: Final = ("RS256", "PS256", "ES256", "EdDSA")
LEEWAY_SECONDS: Final = 60
ANSWER_BYTES_MAX: Final = 256 * 1024
ENDPOINTS: Final = ("authorization_endpoint", "token_endpoint", "userinfo_endpoint", "jwks_uri")
Document = Mapping[str, Any]


class OpenIdProvider:
    """The OpenID provider of this deployment."""

    def __init__(
        self,
        issuer: str,
        *,
        client_id: str,
        client_secret: str,
        redirect_uri: str,
        answer_seconds: float,
        clock: Clock,
    ) -> None:
        self._issuer = issuer
        self._client_id = client_id
        self._client_secret = client_secret
        self._redirect_uri = redirect_uri
        self._clock = clock
        self._client = httpx.AsyncClient(
            timeout=answer_seconds, follow_redirects=False, trust_env=False
        )

    async def authorization_url(self, request: OidcRequest) -> str:
        """
        :raises ProviderUnavailable: when the provider does not answer.
        """
        metadata = await self._metadata()
        url: str = prepare_grant_uri(
            metadata["authorization_endpoint"],
            client_id=self._client_id,
            response_type="code",
            redirect_uri=self._redirect_uri,
            scope=SCOPE,
            state=request.state,
            nonce=request.nonce,
            code_challenge=create_s256_code_challenge(request.code_verifier),
            code_challenge_method="S256",
        )
        return url

    async def verified_email(self, request: OidcRequest, code: str) -> str:
        """Exchange a code, and return the email that the provider has verified.

        :raises ProviderUnavailable: when the provider does not answer.
        :raises ProviderRefused: when a check fails, or the email is not verified.
        """
        metadata = await self._metadata()
        tokens = await self._request(
            "POST",
            metadata["token_endpoint"],
            data={
                "grant_type": "authorization_code",
                "code": code,
                "redirect_uri": self._redirect_uri,
                "code_verifier": request.code_verifier,
            },
            auth=httpx.BasicAuth(self._client_id, self._client_secret),
        )
        keys = await self._request("GET", metadata["jwks_uri"])
        subject = self._subject_of(tokens, keys, request)
        headers = {"Authorization": f"Bearer {tokens.get('access_token', '')}"}
        person = await self._request("GET", metadata["userinfo_endpoint"], headers=headers)
        if person.get("sub") != subject:
            raise ProviderRefused("the user info is about another person")
        email = person.get("email")
        # The word "true" is no promise: the claim is a boolean.
        if person.get("email_verified") is not True or not isinstance(email, str):
            raise ProviderRefused("the email is not verified")
        return email

    async def close(self) -> None:
        await self._client.aclose()

    def _subject_of(self, tokens: Document, keys: Document, request: OidcRequest) -> str:
        options = {
            "iss": {"essential": True, "value": self._issuer},
            "aud": {"essential": True, "value": self._client_id},
        }
        expected = {
            "nonce": request.nonce,
            "client_id": self._client_id,
            "access_token": tokens.get("access_token"),
        }
        try:
            token = jwt.decode(
                str(tokens.get("id_token", "")),
                KeySet.import_key_set(dict(keys)),  # type: ignore[arg-type]
                algorithms=ALGORITHMS,
            )
            claims = CodeIDToken(token.claims, token.header, options, expected)
            claims.validate(now=int(self._clock().timestamp()), leeway=LEEWAY_SECONDS)
        except (JoseError, ValueError, KeyError, TypeError) as error:
            raise ProviderRefused(f"the ID token is refused: {type(error).__name__}") from error
        return str(claims["sub"])

    async def _metadata(self) -> Document:
        metadata = await self._request("GET", get_well_known_url(self._issuer, external=True))
        # Another issuer's configuration under this address is a mix-up.
        if metadata.get("issuer") != self._issuer:
            raise ProviderUnavailable("the configuration names another issuer")
        if not all(isinstance(metadata.get(name), str) for name in ENDPOINTS):
            raise ProviderUnavailable("the configuration lacks an endpoint")
        return metadata

    async def _request(self, method: str, url: str, **options: Any) -> Document:
        forbid_open_transaction("the identity provider")
        try:
            answer = await self._client.request(method, url, **options)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            observe.provider_unavailable(type(error).__name__)
            raise ProviderUnavailable(type(error).__name__) from error
        if answer.status_code in range(400, 500):
            raise ProviderRefused(f"the provider answers {answer.status_code}")
        if answer.status_code != httpx.codes.OK or len(answer.content) > ANSWER_BYTES_MAX:
            observe.provider_unavailable(str(answer.status_code))
            raise ProviderUnavailable(f"the provider answers {answer.status_code}")
        try:
            document = orjson.loads(answer.content)
        except orjson.JSONDecodeError:
            raise ProviderUnavailable("the provider answers no JSON") from None
        if not isinstance(document, dict):
            raise ProviderUnavailable("the provider answers no object")
        return document
