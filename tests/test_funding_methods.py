"""Messages, the domain, the quoter and the settler name the same funding methods."""

from __future__ import annotations

from typing import get_args

from swap_contracts import quoting
from swap_domain import funding
from swap_quoter.domain.refusals import Method as QuotedMethod
from swap_settler.model.swap import Method

NAMES = frozenset(get_args(quoting.FundingMethod))


def test_the_domain_has_the_names_of_messages() -> None:
    assert frozenset(get_args(funding.FundingMethod)) == NAMES


def test_the_quoter_has_the_names_of_messages() -> None:
    assert frozenset(QuotedMethod) == NAMES


def test_the_settler_adds_only_the_owners_funding() -> None:
    assert frozenset(Method) - {Method.FUNDING} == NAMES
