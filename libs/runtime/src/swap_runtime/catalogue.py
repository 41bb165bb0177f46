"""Reads the catalogue of networks, tokens and routes from its YAML file."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import yaml

from swap_domain.catalogue import Catalogue
from swap_domain.catalogue_document import catalogue_from


@cache
def load_catalogue(path: Path) -> Catalogue:
    """Return the catalogue; a mistake in it stops the process at start."""
    with path.open() as file:
        document = yaml.load(file, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    return catalogue_from(document)
