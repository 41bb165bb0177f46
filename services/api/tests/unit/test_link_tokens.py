"""Tokens of pay links: derived, distinguished, and replaced with their key."""

from __future__ import annotations

from uuid import UUID

import pytest
from pydantic import ValidationError

from swap_api.admission.decide.link_tokens import HmacLinkTokens
from swap_api.admission.decide.pay_links import LinkRight
from swap_api.settings import ApiGroup

SWAP = UUID("5f0b2f3c-6b1e-4f7e-9d3c-1a2b3c4d5e6f")
OTHER = UUID("5f0b2f3c-6b1e-4f7e-9d3c-1a2b3c4d5e70")
OLD, NEW = b"an old key of links", b"a new key of links"
PEPPER = b"a pepper for tests"


def tokens(*keys: bytes) -> HmacLinkTokens:
    return HmacLinkTokens(keys, pepper=PEPPER)


@pytest.mark.parametrize("right", LinkRight)
def test_a_token_declares_its_permits(right: LinkRight) -> None:
    made = tokens(NEW).make(SWAP, right)

    assert tokens(NEW).right_of(SWAP, made) is right
    assert tokens(NEW).make(SWAP, right) == made


def test_rights_have_different_tokens() -> None:
    assert len({tokens(NEW).make(SWAP, right) for right in LinkRight}) == len(LinkRight)


def test_a_token_opens_no_other_swap() -> None:
    assert tokens(NEW).right_of(OTHER, tokens(NEW).make(SWAP, LinkRight.PAY)) is None


def test_a_replaced_key_reads_until_it_is_removed() -> None:
    made = tokens(OLD).make(SWAP, LinkRight.PAY)

    assert tokens(NEW, OLD).right_of(SWAP, made) is LinkRight.PAY
    assert tokens(NEW, OLD).make(SWAP, LinkRight.PAY) != made
    assert tokens(NEW).right_of(SWAP, made) is None


def test_key_is_derived_where_none_is_configured() -> None:
    made = tokens().make(SWAP, LinkRight.PAY)

    assert tokens().right_of(SWAP, made) is LinkRight.PAY
    assert tokens(NEW).right_of(SWAP, made) is None
    assert HmacLinkTokens((), pepper=b"another pepper").right_of(SWAP, made) is None


@pytest.mark.parametrize("text", ["", "svc_pay_", "svc_pay_" + "0" * 32, "é" * 40, "x" * 10_000])
def test_invalid_token_gives_no_right(text: str) -> None:
    assert tokens(NEW).right_of(SWAP, text) is None


def test_short_keys_are_refused() -> None:
    values = {
        "database_url": "postgresql://nowhere",
        "internal_port": 0,
        "port": 0,
        "quoter_url": "http://127.0.0.1:1",
        "key_pepper": "a pepper for tests",
    }

    with pytest.raises(ValidationError, match="16 characters"):
        ApiGroup.model_validate({**values, "pay_link_keys": ["short"]})


def test_a_derived_key_outlives_its_pepper_while_that_is_known() -> None:
    made = tokens().make(SWAP, LinkRight.PAY)
    rotated = HmacLinkTokens((), pepper=NEW, other_peppers=[PEPPER])

    assert rotated.right_of(SWAP, made) is LinkRight.PAY
    assert rotated.make(SWAP, LinkRight.PAY) != made
