"""Reads the catalogue of networks, tokens and routes from its YAML file."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import yaml

from swap_domain.catalogue import Catalogue
from swap_domain.catalogue_document import ToAddress, catalogue_from


@cache
def load_catalogue(path: Path, to_address: ToAddress) -> Catalogue:
    """Return the catalogue; `to_address` converts every address.

    :raises CatalogueInvalid: for a mistake, which stops the service.
    """
    with path.open() as file:
        document = yaml.load(file, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    return catalogue_from(document, to_address=to_address)
