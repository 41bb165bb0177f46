"""One sign-in at an identity provider, from the button to the way back."""

from __future__ import annotations

import hmac
from base64 import urlsafe_b64encode
from dataclasses import dataclass
from hashlib import sha256


class ProviderUnavailable(Exception):
    """The identity provider does not answer, or its configuration is not usable."""


class ProviderRefused(Exception):
    """The identity provider refuses the sign-in, or its answer does not pass a check."""


@dataclass(frozen=True, slots=True)
class OidcRequest:
    """What the browser keeps in a cookie. The provider sees what is derived from the secret."""

    secret: str
    target: str  # where the browser goes afterwards
    invitation: str = ""  # that is accepted with it

    @property
    def state(self) -> str:
        return self._derive(b"state")

    @property
    def nonce(self) -> str:
        return self._derive(b"nonce")

    @property
    def code_verifier(self) -> str:
        return self._derive(b"code verifier")

    def has_state(self, text: str) -> bool:
        return hmac.compare_digest(self.state.encode(), text.encode(errors="replace"))

    def _derive(self, purpose: bytes) -> str:
        made = hmac.digest(self.secret.encode(), purpose, sha256)
        return urlsafe_b64encode(made).decode().rstrip("=")
