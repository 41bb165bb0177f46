"""Every overlay is accepted by a real API server with the operators' own definitions."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import AsyncIterator, Iterator

import pytest
import yaml
from swap_cluster.kubectl import kubectl
from tools import check_crds

from deploy.k8s.tests.rendered_overlay import OVERLAYS, RenderedOverlay

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900)]
FOLDERS = (*OVERLAYS, "staging/gateway", "production/gateway")
# No package registry has its definition.
WITHOUT_DEFINITION = {"ObjectStore"}
DEFINITION = "CustomResourceDefinition"
NAMESPACE = "overlay-tried"
MODES = ("enforce", "audit", "warn")


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


def applicable(rendered: RenderedOverlay) -> Iterator[str]:
    """Yield the objects in a separate namespace, because an existing Job cannot be changed."""
    for each in rendered.objects:
        if each["kind"] not in {*WITHOUT_DEFINITION, "Namespace"}:
            yield json.dumps({**each, "metadata": {**each["metadata"], "namespace": NAMESPACE}})


@pytest.fixture
async def namespace(definitions: None) -> AsyncIterator[None]:
    """Create the namespace: a dry run creates none for its objects."""
    labels = {f"pod-security.kubernetes.io/{mode}": "restricted" for mode in MODES}
    document = {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": NAMESPACE, "labels": labels},
    }
    await kubectl("apply", "-f", "-", text=json.dumps(document))
    yield
    await kubectl("delete", "namespace", NAMESPACE)


@pytest.mark.parametrize("folder", FOLDERS)
async def test_api_server_accepts_the_overlay(folder: str, namespace: None) -> None:
    objects = list(applicable(RenderedOverlay.of(folder)))

    answer = await kubectl(
        *("apply", "--dry-run=server", "--validate=strict", "-f", "-"), text="\n".join(objects)
    )

    assert "Warning" not in answer, answer
    assert len(answer.splitlines()) == len(objects)
