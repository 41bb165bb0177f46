"""The catalogue's network types are those of the public model."""

from __future__ import annotations

from typing import get_args

from swap_contracts.public.models import NetworkType
from swap_domain.catalogue_document import NETWORK_TYPES


def test_the_loader_accepts_the_types_of_the_public_model_and_no_others() -> None:
    assert frozenset(get_args(NetworkType)) == NETWORK_TYPES
