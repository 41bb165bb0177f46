"""Every request of the collection, run by a common program for such collections."""

from __future__ import annotations

import asyncio
from typing import Final

import pytest

from swap_stack.places import ROOT
from tests.plugins.stack import Stack

NEWMAN: Final = ROOT / "tools/node/node_modules/.bin/newman"
COLLECTION: Final = ROOT / "sdk/collection/swap.postman_collection.json"


@pytest.mark.skipif(not NEWMAN.exists(), reason="`make install-node-tools` installs it")
async def test_every_request_is_answered_as_documented(stack: Stack) -> None:
    [partner] = [row for row in stack.description["partners"] if row["name"] == "sandbox"]
    variables = {"baseUrl": stack.description["gateway"]["url"], "apiKey": partner["api_key"]}
    options = (
        word for name, value in variables.items() for word in ("--env-var", f"{name}={value}")
    )

    newman = await asyncio.create_subprocess_exec(
        NEWMAN, "run", COLLECTION, "--color", "off", *options, stdout=asyncio.subprocess.PIPE
    )
    output, _ = await newman.communicate()

    assert newman.returncode == 0, output.decode()
