"""The list of swaps as CSV: complete, limited in size, and without formulas."""

from __future__ import annotations

import csv
import io
from datetime import UTC, datetime, timedelta

import pytest

from services.dashboard.tests.integration.test_swaps import a_tenant
from services.dashboard.tests.shop import Api, Dashboard, a_swap, a_transaction
from swap_dashboard.http.swap_export import PAGE_SIZE, cell, csv_of
from swap_dashboard.ports import ApiRefused

pytestmark = pytest.mark.connected
HOSTILE = '=HYPERLINK("https://evil.example";"x"),\r\n"@SUM(1+1)*cmd|\' /C calc\'!A0'


def rows_of(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text, newline="")))


async def test_csv_has_the_swaps_of_every_page(dashboard: Dashboard, api: Api) -> None:
    tenant = await a_tenant(dashboard, api, "many")
    now = datetime.now(UTC)
    many = [
        a_swap(tenant.app, created_at=now - timedelta(hours=1, seconds=number), reference_id=None)
        for number in range(PAGE_SIZE + 20)
    ]
    await api.store(*many)

    answer = await tenant.browser.get(f"/apps/{tenant.app}/swaps.csv")

    assert answer.headers["content-type"].startswith("text/csv")
    assert "attachment" in answer.headers["content-disposition"]
    ids = [row["id"] for row in rows_of(answer.text)]
    assert ids == [str(swap.swap_id) for swap in (tenant.swap, *many)]


async def test_csv_has_only_swaps_that_match_the_filters(dashboard: Dashboard, api: Api) -> None:
    tenant = await a_tenant(dashboard, api, "filtered")
    paid = (a_transaction("input"), a_transaction("output"))
    done = a_swap(tenant.app, status="completed", reference_id="done", transactions=paid)
    await api.store(done)
    path = f"/apps/{tenant.app}/swaps.csv"

    answer = await tenant.browser.get(path, params={"status": "completed", "q": "done"})
    page = await tenant.browser.get(tenant.path, params={"status": "completed", "q": "done"})

    (row,) = rows_of(answer.text)
    assert (row["id"], row["status"]) == (str(done.swap_id), "completed")
    assert row["delivered_amount"] == "2996"
    assert row["output_transaction"] == paid[1].transaction_hash
    assert f"{path}?q=done&amp;status=completed" in page.text


async def test_csv_marks_a_hostile_reference_as_text(dashboard: Dashboard, api: Api) -> None:
    tenant = await a_tenant(dashboard, api, "hostile")
    await api.store(a_swap(tenant.app, reference_id=HOSTILE))

    rows = rows_of((await tenant.browser.get(f"/apps/{tenant.app}/swaps.csv")).text)

    assert f"'{HOSTILE}" in [row["reference"] for row in rows]
    assert {len(row) for row in rows} == {21}


@pytest.mark.parametrize("text", ["=1", " =1", "+1", "-1", "@x", "\t=1", "\r1", "\uff1d1", "\n=1"])
def test_cell_that_begins_like_a_formula_is_marked_as_text(text: str) -> None:
    assert cell(text) == f"'{text}"


def test_cell_has_small_amounts_without_an_exponent() -> None:
    assert (cell(1e-18), cell(None), cell(0.0)) == ("0.000000000000000001", "", "0")


async def test_csv_ends_at_the_row_limit(dashboard: Dashboard, api: Api) -> None:
    tenant = await a_tenant(dashboard, api, "bounded")
    await api.store(*(a_swap(tenant.app) for _ in range(3)))
    joined = await dashboard.http.accept(api.invite(tenant.organization), address="203.0.113.7")
    member = dashboard.http.as_member(joined.token.text)

    parts = [part async for part in csv_of(member, tenant.path, {}, rows_max=2)]

    assert len(rows_of("".join(parts))) == 2


async def test_csv_stream_fails_when_the_api_refuses(dashboard: Dashboard, api: Api) -> None:
    tenant = await a_tenant(dashboard, api, "refused")

    with pytest.raises(ApiRefused):
        async for _ in csv_of(dashboard.http.as_member("gone"), tenant.path, {}):
            pass


async def test_csv_of_another_tenant_is_not_found(dashboard: Dashboard, api: Api) -> None:
    one, other = await a_tenant(dashboard, api, "one"), await a_tenant(dashboard, api, "other")

    outside = await one.browser.get(f"/apps/{other.app}/swaps.csv")
    signed_out = await dashboard.browser().get(f"/apps/{one.app}/swaps.csv")

    assert outside.status_code == 404
    assert signed_out.status_code == 303
