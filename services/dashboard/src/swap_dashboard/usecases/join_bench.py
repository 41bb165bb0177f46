from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from swap_dashboard.adapters.bench import HttpBench
from swap_dashboard.ports import BenchRefused, BenchUnavailable, MemberApi

LABEL: Final = "test bench"


class JoinBench:
    """Have the test bench play the users of an app."""

    def __init__(self, bench: HttpBench) -> None:
        self._bench = bench

    async def __call__(
        self, api: MemberApi, app: Mapping[str, Any], *, lifetime_seconds: int | None
    ) -> None:
        """Make a key of the app as its member, and hand it over. It is stored nowhere else.

        The lifetime comes last: nothing of the app changes when the bench does not take it. An app
        that the bench plays already keeps its key and its lifetime.

        :param lifetime_seconds: how long the app's swaps wait from now on; None: as before.
        :raises ApiRefused: when the member may not, or the app has as many keys as it may. Where
            only the lifetime is refused, the bench plays the app already.
        :raises BenchRefused: when the bench does not take the key, which is then revoked.
        :raises BenchUnavailable: when the bench does not answer; the key is revoked.
        """
        if await self._bench.has_key_of(app["id"]):
            return
        made = await api.post(f"/apps/{app['id']}/keys", {"kind": "secret", "label": LABEL})
        try:
            await self._bench.add(app["id"], made.data["key"])
        except (BenchRefused, BenchUnavailable):
            await api.post(f"/keys/{made.data['id']}/revoke")
            raise
        if lifetime_seconds is not None:
            settings = {"swap_lifetime_seconds": lifetime_seconds}
            await api.post(f"/apps/{app['id']}", settings)
