"""What of a request's body may be stored: declared members, without secrets."""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from typing import Any, Final

BODY_MAX: Final = 4096  # bytes of a body that is read, and characters that are stored
REDACTED: Final = "[redacted]"
OTHERS: Final = "[other members]"
SECRET_MEMBERS: Final = frozenset({"signature"})
HASH_MEMBERS: Final = frozenset({"transaction_id"})

_CREDENTIAL: Final = re.compile(r"svc_(live|test|user|invite)_|whsec_|bearer ", re.IGNORECASE)
# A private key has as many digits as a transaction hash, and a signature has more.
_LONG_HEX: Final = re.compile(r"[0-9a-fA-F]{64}")
_HASH: Final = re.compile(r"(0x)?[0-9a-fA-F]{64}")


def redact(body: bytes, declared: Collection[str]) -> tuple[str | None, bool]:
    """Return the text to store, and whether something was cut off.

    :param declared: the members that the endpoint takes. Of others not even the name is stored.
    """
    if len(body) > BODY_MAX:
        return None, True
    try:
        content = json.loads(body)
    except (ValueError, RecursionError):
        return None, False
    if not isinstance(content, dict):
        return None, False
    shown = {name: _redact(name, value) for name, value in content.items() if name in declared}
    if others := len(content) - len(shown):
        shown[OTHERS] = others
    text = json.dumps(shown, ensure_ascii=False)
    return text[:BODY_MAX], len(text) > BODY_MAX


def _redact(name: str, value: Any) -> Any:
    if name in SECRET_MEMBERS or isinstance(value, dict | list):
        return REDACTED
    if not isinstance(value, str):
        return value
    if name in HASH_MEMBERS and _HASH.fullmatch(value):
        return value
    is_secret = _CREDENTIAL.search(value) or _LONG_HEX.search(value)
    # NUL and lone surrogates cannot be stored as text.
    return REDACTED if is_secret else value.replace("\0", "").encode(errors="replace").decode()
