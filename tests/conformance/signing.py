"""Signing, where something that can sign is installed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

try:
    from eth_account import Account
except ImportError:
    Account = None


class RequirementMissing(pytest.skip.Exception):
    """A rule cannot be asked about here, and is skipped; the words say what is missing."""


def needs_signing() -> None:
    """
    :raises RequirementMissing: where nothing can sign.
    """
    if Account is None:
        raise RequirementMissing("nothing can be signed: install eth-account")


def sign(account: Any, typed_data: Mapping[str, Any]) -> str:
    """Return what eth_signTypedData_v4 gives."""
    signed = account.sign_typed_data(full_message=dict(typed_data))
    return "0x" + bytes(signed.signature).hex()
