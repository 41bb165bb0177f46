"""Figures of an app over HTTP."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starlette.responses import Response

from swap_api.http.endpoints import Context
from swap_api.http.parameters import id_of, parse_query
from swap_api.http.requests import Request
from swap_api.management.decide.figures import DayFigures, Period, StatusFigures
from swap_api.management.http.answers import actor_of, json_response
from swap_api.management.http.parameters import DaysParameters
from swap_api.management.usecases.read_figures import ReadFigures
from swap_contracts.public.figures import completion
from swap_domain.lifecycle import Status


class FigureEndpoints:
    def __init__(self, read_figures: ReadFigures) -> None:
        self._read_figures = read_figures

    async def figures(self, request: Request, context: Context) -> Response:
        found = await self._read_figures(id_of(request, "appId"), actor=actor_of(context))
        return json_response(
            {
                "live": found.live,
                "day": _period(found.day),
                "week": _period(found.week),
                "newest_at": found.newest_at,
            }
        )

    async def by_day(self, request: Request, context: Context) -> Response:
        query = parse_query(DaysParameters, request.query)
        found = await self._read_figures.by_day(
            id_of(request, "appId"), query.days, actor=actor_of(context)
        )
        return json_response([_day(day) for day in found])


def _day(day: DayFigures) -> Mapping[str, Any]:
    return {"day": day.day, **_counts(day.statuses)}


def _period(period: Period) -> Mapping[str, Any]:
    return {"since": period.since, **_counts(period.statuses)}


def _counts(statuses: Mapping[str, StatusFigures]) -> Mapping[str, Any]:
    completed = statuses.get(Status.COMPLETED.value)
    return {
        "created": sum(one.number for one in statuses.values()),
        "statuses": {name: one.number for name, one in statuses.items()},
        **(
            completion(0, None)
            if completed is None
            else completion(completed.value_usd_micros, completed.median)
        ),
    }
