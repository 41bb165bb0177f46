"""Signatures, if a signing library is installed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

try:
    from eth_account import Account
except ImportError:
    Account = None


class RequirementMissing(pytest.skip.Exception):
    """A rule cannot be tested here and is skipped; the message names what is missing."""


def needs_signing() -> None:
    """
    :raises RequirementMissing: where no signing library is installed.
    """
    if Account is None:
        raise RequirementMissing("nothing can be signed: install eth-account")


def sign(account: Any, typed_data: Mapping[str, Any]) -> str:
    """Return the signature of eth_signTypedData_v4."""
    signed = account.sign_typed_data(full_message=dict(typed_data))
    return "0x" + bytes(signed.signature).hex()
