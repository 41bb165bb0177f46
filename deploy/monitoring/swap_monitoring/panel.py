"""Panels and dashboards, with what all of them share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from grafana_foundation_sdk.builders import dashboard, prometheus, stat, timeseries
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.dashboard import DataSourceRef

SOURCE: Final = DataSourceRef(type_val="prometheus", uid="${datasource}")
WIDTH: Final = 24  # of a dashboard, in columns
HEIGHT: Final = 8  # of a panel, in rows


@dataclass(frozen=True, slots=True)
class Query:
    expr: str
    legend: str = ""


@dataclass(frozen=True, slots=True)
class Panel:
    """Lines over time, or the newest numbers where `is_stat`."""

    title: str
    queries: tuple[Query, ...]
    unit: str = "short"
    about: str = ""
    is_stat: bool = False
    columns: int = 8

    def build(self) -> dashboard.Panel | stat.Panel | timeseries.Panel:
        built = stat.Panel() if self.is_stat else timeseries.Panel().min(0).fill_opacity(10)
        built = built.title(self.title).description(self.about).unit(self.unit)
        built = built.datasource(SOURCE).height(HEIGHT if not self.is_stat else HEIGHT // 2)
        for number, query in enumerate(self.queries):
            target = prometheus.Dataquery().expr(query.expr).legend_format(query.legend)
            built = built.with_target(target.ref_id(chr(ord("A") + number)))
        return built.span(self.columns)


@dataclass(frozen=True, slots=True)
class Row:
    title: str
    panels: tuple[Panel, ...]


@dataclass(frozen=True, slots=True)
class Dashboard:
    """One page of Grafana. Its `uid` is its address, and the name of its file."""

    uid: str
    title: str
    about: str
    rows: tuple[Row, ...]
    tags: Sequence[str] = field(default=("swap",))

    @property
    def queries(self) -> tuple[Query, ...]:
        return tuple(q for row in self.rows for panel in row.panels for q in panel.queries)

    def to_json(self) -> str:
        """Return the document that Grafana reads."""
        built = dashboard.Dashboard(self.title).uid(self.uid).description(self.about)
        built = built.tags(list(self.tags)).time("now-6h", "now").refresh("1m").readonly()
        source = dashboard.DatasourceVariable("datasource").label("Prometheus").type("prometheus")
        built = built.with_variable(source)
        for row in self.rows:
            built = built.with_row(dashboard.Row(row.title))
            for panel in row.panels:
                built = built.with_panel(panel.build())
        return str(JSONEncoder(sort_keys=True, indent=2).encode(built.build())) + "\n"


def lines(
    title: str, *queries: tuple[str, str], unit: str = "short", about: str = "", columns: int = 8
) -> Panel:
    return Panel(title, tuple(Query(*one) for one in queries), unit, about, columns=columns)


def number(title: str, expr: str, legend: str = "", *, unit: str = "short") -> Panel:
    return Panel(title, (Query(expr, legend),), unit, is_stat=True, columns=6)


def row(title: str, *panels: Panel) -> Row:
    return Row(title, panels)
