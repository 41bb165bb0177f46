"""Figures of an app's swaps by status, value and duration, without those of other apps."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from api_factories import a_message, a_swap
from api_harness import Harness
from people import a_colleague, an_owner

from swap_api.model.members import Role
from swap_contracts.public.figures import AppFiguresModel, DayFiguresModel

pytestmark = pytest.mark.connected
HOUR = timedelta(hours=1)


async def store(api: Harness, app_id: str, status: str, *, ago: timedelta, **members: Any) -> None:
    created = datetime.now(UTC) - ago
    swap = a_swap(
        swap_id=uuid4(),
        app_id=UUID(app_id),
        status=status,
        created_at=created,
        sequence_number=uuid4().int % 2**53 or 1,
        **members,
    )
    await api.parts.swaps.store_swaps([a_message(swap)])


async def completed(api: Harness, app_id: str, *, ago: timedelta, took: float) -> None:
    closed = datetime.now(UTC) - ago + timedelta(seconds=took)
    await store(api, app_id, "completed", ago=ago, closed_at=closed)


class TestFigures:
    async def test_count_the_day_the_week_and_what_is_live(self, api: Harness) -> None:
        owner = await an_owner(api)
        app_id = await owner.an_app()
        for took in (10, 20, 90):
            await completed(api, app_id, ago=HOUR, took=took)
        await completed(api, app_id, ago=50 * HOUR, took=1)
        await store(api, app_id, "failed", ago=2 * HOUR)
        await store(api, app_id, "ls_transfer_pending", ago=HOUR)
        await store(api, app_id, "user_transfer_pending", ago=300 * HOUR)
        await completed(api, app_id, ago=300 * HOUR, took=1)

        figures = (await owner.get(f"/apps/{app_id}/figures")).json()["data"]

        AppFiguresModel.model_validate(figures)
        day, week = figures["day"], figures["week"]
        assert figures["live"] == {"ls_transfer_pending": 1, "user_transfer_pending": 1}
        assert day["statuses"] == {"completed": 3, "failed": 1, "ls_transfer_pending": 1}
        assert week["statuses"] == {"completed": 4, "failed": 1, "ls_transfer_pending": 1}
        assert (day["created"], week["created"]) == (5, 6)
        assert day["median_completion_seconds"] == pytest.approx(20, abs=0.5)
        assert week["median_completion_seconds"] == pytest.approx(10, abs=0.5)
        assert week["volume_in_usd"] == pytest.approx(day["volume_in_usd"] / 3 * 4)
        assert day["volume_in_usd"] > 0

    async def test_count_as_twenty_reads(self, api: Harness) -> None:
        owner = await an_owner(api)
        app_id = await owner.an_app()

        before = await owner.get(f"/apps/{app_id}")
        after = await owner.get(f"/apps/{app_id}/figures")

        left = [int(answer.headers["ratelimit-remaining"]) for answer in (before, after)]
        assert left[0] - left[1] in (19, 20)  # a quota refills while the test runs

    async def test_of_no_swap_are_none(self, api: Harness) -> None:
        owner = await an_owner(api)

        figures = (await owner.get(f"/apps/{await owner.an_app()}/figures")).json()["data"]

        assert (figures["live"], figures["newest_at"]) == ({}, None)
        assert figures["day"]["median_completion_seconds"] is None
        assert figures["week"]["volume_in_usd"] == 0

    async def test_agree_with_the_list_of_the_same_moment(self, api: Harness) -> None:
        owner = await an_owner(api)
        app_id = await owner.an_app()
        for ago in (HOUR, 23 * HOUR, 25 * HOUR):
            await completed(api, app_id, ago=ago, took=5)

        day = (await owner.get(f"/apps/{app_id}/figures")).json()["data"]["day"]
        listed = await owner.get(
            f"/apps/{app_id}/swaps",
            params={"created_after": day["since"], "statuses": "completed"},
        )

        assert listed.headers["x-total-count"] == str(day["statuses"]["completed"]) == "2"

    async def test_are_of_one_app(self, api: Harness) -> None:
        owner, outsider = await an_owner(api), await an_owner(api)
        mine, other = await owner.an_app(), await owner.an_app()
        await completed(api, other, ago=HOUR, took=5)
        viewer = await a_colleague(owner, Role.VIEWER)

        figures = (await viewer.get(f"/apps/{mine}/figures")).json()["data"]

        assert figures["week"]["created"] == 0
        assert (await outsider.get(f"/apps/{mine}/figures")).status_code == 404


class TestDays:
    async def test_agree_with_the_list_of_each_day(self, api: Harness) -> None:
        owner = await an_owner(api)
        app_id = await owner.an_app()
        for took, ago in ((10, HOUR * 49), (20, HOUR * 49), (90, HOUR * 49), (5, HOUR * 1000)):
            await completed(api, app_id, ago=ago, took=took)
        await store(api, app_id, "failed", ago=HOUR * 49)

        days = (await owner.get(f"/apps/{app_id}/figures/days?days=4")).json()["data"]

        assert [DayFiguresModel.model_validate(day).created for day in days].count(0) == 3
        assert days[-1]["day"] == datetime.now(UTC).date().isoformat()
        (busy,) = (day for day in days if day["created"])
        assert busy["statuses"] == {"completed": 3, "failed": 1}
        assert busy["median_completion_seconds"] == pytest.approx(20, abs=0.5)
        assert busy["volume_in_usd"] > 0
        listed = await owner.get(
            f"/apps/{app_id}/swaps?created_after={busy['day']}T00:00:00Z"
            f"&created_before={busy['day']}T23:59:59.999999Z"
        )
        assert len(listed.json()["data"]) == busy["created"]

    async def test_are_bounded(self, api: Harness) -> None:
        owner = await an_owner(api)
        app_id = await owner.an_app()

        answers = [await owner.get(f"/apps/{app_id}/figures/days?days={n}") for n in (0, 91, 90)]

        assert [answer.status_code for answer in answers] == [400, 400, 200]
        assert len(answers[2].json()["data"]) == 90

    async def test_are_not_for_another_organization(self, api: Harness) -> None:
        owner, outsider = await an_owner(api), await an_owner(api)
        app_id = await owner.an_app()

        assert (await outsider.get(f"/apps/{app_id}/figures/days")).status_code == 404
