"""The earnings of an app's own fee: balances and entries of that app only."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from api_harness import Harness
from people import Person, a_colleague, an_owner

from swap_api.model.members import Role
from swap_contracts.public.app_fees import AppFeesModel, FeeEntryModel
from swap_domain.catalogue import NATIVE
from tests.plugins.postgres import Database
from tests.support.fees import Fees

pytestmark = pytest.mark.connected
NETWORK = "ETHEREUM_DEVNET"
FEE = 25 * 10**14
PARTNER = "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC"
HASH = "0x" + "5f" * 32
BEGAN = datetime(2026, 1, 1, tzinfo=UTC)


def after(minutes: int) -> datetime:
    return BEGAN + timedelta(minutes=minutes)


def of_coin(database: Database, app_id: str) -> Fees:
    return Fees(database.superuser_url, app_id, network=NETWORK, token=NATIVE)


async def entries(person: Person, app_id: str, **query: Any) -> list[dict[str, Any]]:
    answer = await person.get(f"/apps/{app_id}/fees/entries", params=query)
    assert answer.status_code == 200, answer.text
    return list(answer.json()["data"])


@pytest.fixture
async def owner(api: Harness) -> Person:
    return await an_owner(api)


class TestBalances:
    async def test_add_up_to_what_was_earned(
        self, api: Harness, owner: Person, database: Database
    ) -> None:
        app_id = await owner.an_app()
        fees = of_coin(database, app_id)
        for minutes in range(4):
            fees.earn(FEE, at=after(minutes))
        fees.pay(FEE, at=after(5), to_address=PARTNER, transaction_hash=HASH)
        fees.pay(FEE, at=after(6), to_address=PARTNER, state="dead")
        fees.pay(FEE, at=after(7), to_address=PARTNER, state="broadcast")

        [balance] = (await owner.get(f"/apps/{app_id}/fees")).json()["data"]

        AppFeesModel.model_validate(balance)
        assert (balance["network"], balance["token"]) == (NETWORK, "ETH")
        named = ("earned", "waiting", "pending", "paid_out")
        assert [int(balance[one]["amount_in_base_units"]) // FEE for one in named] == [4, 2, 1, 1]
        assert balance["earned"] == {
            "amount": 0.01,
            "amount_in_base_units": str(4 * FEE),
            "decimals": 18,
        }

    async def test_of_no_fee_are_none(self, api: Harness, owner: Person) -> None:
        app_id = await owner.an_app()

        assert (await owner.get(f"/apps/{app_id}/fees")).json()["data"] == []
        assert await entries(owner, app_id) == []


class TestEntries:
    async def test_are_fees_with_their_swaps_and_payouts_with_their_transactions(
        self, api: Harness, owner: Person, database: Database
    ) -> None:
        app_id, swap_id = await owner.an_app(), uuid4()
        fees = of_coin(database, app_id)
        earned = fees.earn(FEE, at=after(1), swap_id=swap_id)
        paid = fees.pay(FEE, at=after(2), to_address=PARTNER, transaction_hash=HASH)

        payout, fee = await entries(owner, app_id)

        for entry in (payout, fee):
            FeeEntryModel.model_validate(entry)
            assert (entry["network"], entry["token"]) == (NETWORK, "ETH")
            assert (entry["amount"], entry["amount_in_base_units"]) == (0.0025, str(FEE))
        assert (fee["id"], fee["kind"], fee["swap_id"]) == (str(earned), "fee", str(swap_id))
        assert (fee["status"], fee["transaction_hash"], fee["to_address"]) == (None, None, None)
        assert (payout["id"], payout["kind"], payout["swap_id"]) == (str(paid), "payout", None)
        assert (payout["status"], payout["to_address"]) == ("completed", PARTNER)
        assert payout["transaction_hash"] == HASH

    @pytest.mark.parametrize(
        ("state", "status"), [("reserved", "pending"), ("mined", "pending"), ("dead", "failed")]
    )
    async def test_say_how_far_a_payout_is(
        self, api: Harness, owner: Person, database: Database, state: str, status: str
    ) -> None:
        app_id = await owner.an_app()
        fees = of_coin(database, app_id)
        fees.earn(FEE, at=after(1))
        fees.pay(FEE, at=after(2), to_address=PARTNER, state=state)

        [payout] = await entries(owner, app_id, kind="payout")

        assert (payout["status"], payout["transaction_url"]) == (status, None)

    async def test_are_paged_newest_first_behind_an_entry(
        self, api: Harness, owner: Person, database: Database
    ) -> None:
        app_id = await owner.an_app()
        fees = of_coin(database, app_id)
        made = [fees.earn(FEE, at=after(n // 2)) for n in range(6)]  # two for each time
        made.append(fees.pay(FEE, at=after(1), to_address=PARTNER))
        path: str | None = f"/apps/{app_id}/fees/entries?page_size=2"
        pages = []

        while path is not None:
            answer = await owner.get(path)
            pages.append(answer.json()["data"])
            link = answer.headers.get("link")
            path = link and link.split(">")[0][1:].removeprefix("/management/v1")

        listed = [entry for page in pages for entry in page]
        assert [len(page) for page in pages] == [2, 2, 2, 1]
        assert [entry["at"] for entry in listed] == sorted(
            (entry["at"] for entry in listed), reverse=True
        )
        assert {UUID(entry["id"]) for entry in listed} == set(made)

    async def test_are_filtered_by_kind_and_token(
        self, api: Harness, owner: Person, database: Database
    ) -> None:
        app_id = await owner.an_app()
        of_coin(database, app_id).earn(FEE, at=after(1))
        of_coin(database, app_id).pay(FEE, at=after(2), to_address=PARTNER)
        elsewhere = Fees(database.superuser_url, app_id, network="BASE_DEVNET", token=NATIVE)
        elsewhere.earn(1, at=after(3))

        here = {"network": NETWORK, "token": "eth"}
        assert [one["kind"] for one in await entries(owner, app_id)] == ["fee", "payout", "fee"]
        assert len(await entries(owner, app_id, kind="payout")) == 1
        assert len(await entries(owner, app_id, **here)) == 2
        assert len(await entries(owner, app_id, kind="fee", **here)) == 1

    @pytest.mark.parametrize(
        "query", ["network=ETHEREUM_DEVNET", "token=ETH", "network=NONE&token=ETH", "kind=other"]
    )
    async def test_refuse_an_invalid_filter(self, api: Harness, owner: Person, query: str) -> None:
        app_id = await owner.an_app()

        refused = await owner.get(f"/apps/{app_id}/fees/entries?{query}")

        assert (refused.status_code, refused.json()["error"]["code"]) == (400, "VALIDATION_ERROR")


@pytest.mark.parametrize("path", ["fees", "fees/entries"])
async def test_fees_of_an_app_are_shown_to_every_member_and_to_no_other_organization(
    api: Harness, owner: Person, database: Database, path: str
) -> None:
    app_id, outsider = await owner.an_app(), await an_owner(api)
    id = of_coin(database, app_id).earn(FEE, at=after(1))
    viewer, own = await a_colleague(owner, Role.VIEWER), await outsider.an_app()

    assert len((await viewer.get(f"/apps/{app_id}/{path}")).json()["data"]) == 1
    assert (await outsider.get(f"/apps/{app_id}/{path}")).status_code == 404
    assert (await outsider.get(f"/apps/{own}/{path}")).json()["data"] == []
    behind = await outsider.get(f"/apps/{own}/fees/entries", params={"starting_after": str(id)})
    assert behind.json()["data"] == []
