"""The cluster of this machine with `overlays/dev`; without one, its tests are skipped."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest
from swap_cluster.clients import describe_stack
from swap_cluster.cluster import start_cluster
from swap_cluster.deployment import deploy
from swap_cluster.images import load_images
from swap_cluster.machine import binaries_are_built, images_unavailable_reason, unavailable_reason

from deploy.cluster.tests.cluster.traffic import Traffic
from deploy.cluster.tests.cluster.visitor import TIMEOUT, Visitor
from swap_sdk import AsyncClient, Retries
from swap_stack.report import Report


@pytest.fixture(scope="session")
def cluster() -> None:
    """Start the cluster if it is not running; nothing is built here."""
    reason = unavailable_reason() or images_unavailable_reason()
    if reason is None and not binaries_are_built():
        reason = "Kubernetes is not built here: `make cluster-up` does it once."
    if reason is not None:
        pytest.skip(f"NOTHING was tested on a cluster: {reason}")
    asyncio.run(start_cluster(Report()))


@pytest.fixture(scope="session")
def stack(cluster: None) -> dict[str, Any]:
    """Deploy the overlay with this checkout's image, and return its description for a client."""

    async def deploy_and_describe() -> dict[str, Any]:
        report = Report()
        await load_images(report)
        await deploy(report)
        return await describe_stack()

    return asyncio.run(deploy_and_describe())


@pytest.fixture
async def visitor(stack: dict[str, Any]) -> AsyncIterator[Visitor]:
    """Return a member with a session of the dashboard."""
    cookies = aiohttp.CookieJar(unsafe=True)  # its host is an IP address
    async with aiohttp.ClientSession(cookie_jar=cookies, timeout=TIMEOUT) as session:
        visitor = Visitor(stack, session)
        await visitor.sign_in()
        yield visitor


@pytest.fixture
async def traffic(stack: dict[str, Any]) -> AsyncIterator[Traffic]:
    key = stack["partners"][0]["api_key"]
    no_retries = Retries(attempts_max=1)
    async with AsyncClient(stack["gateway"]["url"], key, retries=no_retries) as partner:
        yield Traffic(stack, partner)
