"""A payer with the link of a swap, for tests of the pay page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

import httpx

from services.dashboard.tests.shop import Api, Dashboard, a_swap
from swap_contracts.swaps import SwapChanged


@dataclass(frozen=True, slots=True)
class Link:
    """A swap of a shop, and the parts of its pay link."""

    app: str
    swap: SwapChanged
    token: str

    def path(self, what: str = "", **query: str) -> str:
        end = f"/{what}" if what else ""
        return f"/pay/{self.swap.swap_id}{end}?{urlencode({'token': self.token, **query})}"


async def a_link(api: Api, *, may_set_refund_address: bool = False, **changes: Any) -> Link:
    app = api.an_app(api.an_organization("Shop"), "checkout of the shop")
    swap = a_swap(app, **{"reference_id": "order 4711", **changes})
    await api.store(swap)
    return Link(app, swap, token_of(api, app, swap.swap_id, may_set_refund_address))


def token_of(api: Api, app: str, swap_id: UUID, may_set_refund_address: bool = False) -> str:
    key = api.order(f"/apps/{app}/keys", {"kind": "secret"})["key"]
    answer = httpx.get(
        f"{api.url}/api/v2/swaps/{swap_id}/pay_link",
        params={"may_set_refund_address": str(may_set_refund_address).lower()},
        headers={"X-SVC-APIKEY": key},
        timeout=20,
    )
    assert answer.status_code == 200, answer.text
    return str(answer.json()["data"]["read_token"])


async def read(dashboard: Dashboard, path: str, **headers: str) -> httpx.Response:
    return await dashboard.browser().get(path, headers=headers)
