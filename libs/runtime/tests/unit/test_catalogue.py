from __future__ import annotations

from pathlib import Path

import pytest

from swap_domain.catalogue_document import CatalogueInvalid
from swap_runtime.catalogue import load_catalogue


class TestLoadCatalogue:
    def test_refuses_a_file_with_a_mistake(self, tmp_path: Path) -> None:
        path = tmp_path / "catalogue.yaml"
        path.write_text("networks: none\n")

        with pytest.raises(CatalogueInvalid):
            load_catalogue(path, str)
