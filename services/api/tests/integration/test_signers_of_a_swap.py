"""The limit of wallets that may request a signature for one swap."""

from __future__ import annotations

from pathlib import Path

import pytest
from api_harness import App, Harness
from gasless_swaps import (
    WALLET,
    a_gasless_catalogue,
    an_app_with_offers,
    create_gasless_swap,
    steps,
    to_sign,
)

from swap_api.funding.usecases.request_signature import SIGNERS_MAX

pytestmark = pytest.mark.connected


@pytest.fixture
def catalogue_file(tmp_path: Path) -> Path:
    return a_gasless_catalogue(tmp_path)


@pytest.fixture
async def app(api: Harness) -> App:
    return await an_app_with_offers(api)


async def test_signers_of_a_swap_are_limited(api: Harness, app: App) -> None:
    swap_id = (await create_gasless_swap(api, app))["swap"]["id"]
    wallets = [f"0x{n << 64:040x}" for n in range(1, SIGNERS_MAX)]
    for wallet in (*wallets, WALLET):
        await to_sign(api, app, swap_id, wallet)

    refused = await steps(api, app, swap_id, source_address=f"0x{SIGNERS_MAX << 64:040x}")
    again = await to_sign(api, app, swap_id)
    link = (await api.get(app, f"/swaps/{swap_id}/pay_link")).json()["data"]
    paid = await api.client.get(
        f"/pay/v1/swaps/{swap_id}",
        params={"source_address": f"0x{SIGNERS_MAX << 64:040x}"},
        headers={"Authorization": f"Bearer {link['read_token']}"},
    )

    assert refused["code"] == "LIMIT_REACHED"
    assert refused["metadata"]["limit"] == "signers_per_swap"
    assert refused["metadata"]["most"] == SIGNERS_MAX
    assert again["step"] == "sign"
    assert paid.json()["data"]["next_action"]["detail"] == refused["message"]
    [row] = await api.rows("SELECT count(*) AS number FROM sign_request")
    assert row.number == SIGNERS_MAX
