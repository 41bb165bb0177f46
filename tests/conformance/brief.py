"""Swaps of an app with a deposit window of seconds: created first, checked last."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from tests.conformance.signing import RequirementMissing
from tests.conformance.target import Answer, Target
from tests.conformance.world import World, new_address

KEY: Final = "brief"
WITHIN_SECONDS: Final = 30
GASLESS: Final = {"use_gasless": True}


@dataclass(frozen=True, slots=True)
class LateSignature:
    """A gasless swap that is signed when too little of its time is left."""

    created: Mapping[str, Any]
    step: Mapping[str, Any]  # the requested signature
    body: Mapping[str, str]  # the submitted signature
    answer: Answer


class Brief:
    def __init__(self, world: World) -> None:
        self._world = world
        self._recipient = new_address()

    def begin(self) -> None:
        """Create the swaps, so that they have expired when they are checked."""
        for make in (lambda: self.waiting, lambda: self.signed):
            _suppress(make)

    @property
    def target(self) -> Target:
        return self._world.target

    @cached_property
    def waiting(self) -> Mapping[str, Any]:
        """Return an unpaid swap, as it was created.

        :raises RequirementMissing: where no swap expires soon.
        """
        self._needs_key()
        body = {"destination_address": self._recipient, "reference_id": "brief"}
        return self.target.create(self._world.order(**body), key=KEY)

    @cached_property
    def signed(self) -> LateSignature:
        """
        :raises RequirementMissing: where no swap expires soon, or no token can be deposited by a
            signature.
        """
        self._needs_key()
        world, target = self._world, self.target
        order = world.order(world.gasless_route, **GASLESS)
        created = target.create(order, key=KEY)
        path, signer = f"/api/v2/swaps/{created['swap']['id']}", world.signer
        query = {"source_address": signer.address}
        steps = target.get(f"{path}/deposit_actions", "[DepositActionsItem]", key=KEY, **query)
        [step] = [one for one in steps if one["type"] == "sign"]
        body = {"signature": signer.sign(step["typed_data"]), "signer_address": signer.address}
        answer = target.ask("POST", f"{path}/authorize", key=KEY, json=body)
        return LateSignature(created, step, body, answer)

    @cached_property
    def expired(self) -> Mapping[str, Any]:
        """Return the unpaid swap, after its expiry."""
        return self._wait_for_end(str(self.waiting["swap"]["id"]))

    @cached_property
    def signed_expired(self) -> Mapping[str, Any]:
        return self._wait_for_end(str(self.signed.created["swap"]["id"]))

    def list_ids(self, **query: Any) -> list[str]:
        """Return the ids of the swaps to the recipient of the unpaid one."""
        request = {"address": self._recipient, **query}
        swaps = self.target.get("/api/v2/swaps", "[PreparedSwapResponse]", key=KEY, **request)
        return [str(one["swap"]["id"]) for one in swaps]

    def _wait_for_end(self, swap_id: str) -> Mapping[str, Any]:
        def read() -> Mapping[str, Any] | None:
            path = f"/api/v2/swaps/{swap_id}"
            answer = self.target.get(path, "PreparedSwapResponse", key=KEY)
            return None if answer["swap"]["status"] == "user_transfer_pending" else dict(answer)

        return dict(self._world.wait_for(read, within=WITHIN_SECONDS))

    def _needs_key(self) -> None:
        """
        :raises RequirementMissing: where there is no key of such an app.
        """
        if KEY not in self.target.keys:
            raise RequirementMissing(
                "every swap here waits for six hours: give CONFORMANCE_BRIEF_KEY"
            )


def _suppress(make: Callable[[], object]) -> None:
    """Create it if possible; on failure the tests that use it report the reason."""
    try:
        make()
    except (RequirementMissing, AssertionError):
        return
