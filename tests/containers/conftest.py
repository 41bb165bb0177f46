"""Every test here needs Docker; without `STACK=containers` they are skipped with that reason."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

REASON = "needs Docker: STACK=containers runs it"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if os.environ.get("STACK") == "containers":
        return
    for item in items:
        if "containers" in item.path.parts:
            item.add_marker(pytest.mark.skip(reason=REASON))


@pytest.fixture(scope="session")
def redis_url() -> Iterator[str]:
    from tests.containers.parts import valkey_url  # noqa: PLC0415  # other tests do not need Docker

    with valkey_url() as url:
        yield url
