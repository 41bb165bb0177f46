"""The units of amounts, as the settler's catalogue has them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from swap_dashboard.console.domain.units import Units
from swap_dashboard.console.http.view import Cell, amount, code
from swap_dashboard.console.ports import OperatorApi, ServiceName


async def read_units(api: OperatorApi) -> Units:
    content = await api.get(ServiceName.SETTLER, "/assets")
    return Units(content["assets"], networks=content["networks"])


def amount_of(units: Units, row: Mapping[str, Any], name: str = "base_units") -> Cell:
    return amount(units.amount(row["network"], row["token"], row[name]))


def token_of(units: Units, row: Mapping[str, Any]) -> Cell:
    symbol = units.symbol(row["network"], row["token"])
    return code(symbol) if symbol == row["token"] else Cell(symbol)


def reason_of_queued(units: Units, row: Mapping[str, Any]) -> str:
    """Return why a payment waits: the settler names the token of a cap by its address."""
    return str(row["reason"]).replace(row["token"], units.symbol(row["network"], row["token"]))
