"""The failures of the Job that prepares development chains."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import orjson
import pytest
from swap_k8s import __main__ as jobs
from swap_k8s.chains import DEPLOYMENTS, FORWARDED, prepare_chains
from swap_k8s.config_maps import ConfigMaps

from swap_stack.daemon import StackError
from swap_stack.node import NodeError

ROOT = Path(__file__).parents[4]
SIGNER_KEY = f"0x{'11' * 32}"


class DeploymentsOfAnotherRelease:
    """The ConfigMaps of a cluster with chains that an older release prepared."""

    def __init__(self) -> None:
        self.applied: dict[str, Mapping[str, str]] = {}

    async def find(self, name: str) -> Mapping[str, str] | None:
        stored: dict[str, dict[str, Any]] = {network: {} for network in FORWARDED}
        return {name: orjson.dumps(stored).decode()}

    async def apply(self, name: str, data: Mapping[str, str]) -> None:
        self.applied[name] = data


async def test_contracts_of_another_release_raise_one_error_and_stay_stored() -> None:
    config_maps = DeploymentsOfAnotherRelease()

    with pytest.raises(StackError, match="another release"):
        await prepare_chains(cast(ConfigMaps, config_maps), ROOT, FORWARDED, SIGNER_KEY)

    assert list(config_maps.applied) == [DEPLOYMENTS]  # and no catalogue


def test_refusal_of_a_node_is_reported_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> None:
        raise NodeError("eth_sendTransaction: out of funds")

    monkeypatch.setitem(jobs.JOBS, ("chains",), refuse)

    with pytest.raises(SystemExit, match="out of funds"):
        jobs.main(["chains"])
