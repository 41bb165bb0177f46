"""Every overlay is accepted by a real API server that knows the operators' own definitions."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Iterator
from contextlib import suppress

import pytest
import yaml
from swap_cluster.kubectl import get, kubectl
from tools import check_crds

from deploy.k8s.tests.rendered import OVERLAYS, Rendered
from swap_stack.programs import ProgramFailed

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900)]
FOLDERS = (*OVERLAYS, "staging/gateway", "production/gateway")
# No registry of packages has its definition.
WITHOUT_DEFINITION = {"ObjectStore"}
DEFINITION = "CustomResourceDefinition"


@pytest.fixture(scope="module")
def definitions(cluster: None) -> None:
    """Apply the definitions of Strimzi, CloudNativePG, KEDA, External Secrets and the others."""
    missing = [name for name in ("go", "mvn") if shutil.which(name) is None]
    if missing:
        pytest.skip(f"NO overlay was tried on an API server: {' and '.join(missing)} missing")
    asyncio.run(_apply_definitions())


async def _apply_definitions() -> None:
    texts = []
    for file in check_crds.definitions():
        for each in yaml.load_all(file.read_text(), Loader=check_crds.Loader):
            if each is not None and each.get("kind") == DEFINITION:
                texts.append(json.dumps(each))
    await kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", text="\n".join(texts))
    await kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=120s")


def applicable(rendered: Rendered) -> Iterator[str]:
    for each in rendered.objects:
        if each["kind"] not in WITHOUT_DEFINITION:
            yield json.dumps(each)


@pytest.mark.parametrize("folder", FOLDERS)
async def test_the_api_server_accepts_the_overlay(folder: str, definitions: None) -> None:
    rendered = Rendered.of(folder)
    [namespace] = rendered.of_kind("Namespace")
    name = namespace["metadata"]["name"]
    known = {each["metadata"]["name"] for each in (await get("namespaces"))["items"]}
    if name not in known:  # a dry run makes none for the objects in it
        await kubectl("apply", "-f", "-", text=json.dumps(namespace))
    try:
        answer = await kubectl(
            *("apply", "--dry-run=server", "--validate=strict", "-f", "-"),
            text="\n".join(applicable(rendered)),
        )
    finally:
        if name not in known:
            with suppress(ProgramFailed):
                await kubectl("delete", "namespace", name, "--wait=false")

    assert "Warning" not in answer, answer
    assert len(answer.splitlines()) == len(list(applicable(rendered)))
