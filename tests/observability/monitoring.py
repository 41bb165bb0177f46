"""A Prometheus that scrapes a stack, with the repository's rules, and its Alertmanager.

Alerts are read as operators receive them: from the notifications that the Alertmanager sends.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

import httpx
import yaml
from swap_monitoring.rules import prometheus_file

from tests.observability.receiver import receiving_posts
from tests.plugins.processes import Program, free_port
from tests.support.waiting import until

MISSING: Final = "prometheus or prometheus-alertmanager is not on the PATH"
# Ranges are a sixth of their length, so that an alert about an event ends soon. The time that an
# expression must hold before the alert fires (`for`) is unchanged.
SHORTENED: Final = 6
LOOK_BACK: Final = re.compile(r"(\[|offset )(\d+)m")
FIRES_WITHIN_SECONDS: Final = 180
ENDS_WITHIN_SECONDS: Final = 600


def find_programs() -> tuple[str, str] | None:
    """Return the paths of Prometheus and the Alertmanager, by Debian's or the upstream names."""
    prometheus = shutil.which("prometheus")
    alertmanager = shutil.which("prometheus-alertmanager") or shutil.which("alertmanager")
    return (prometheus, alertmanager) if prometheus and alertmanager else None


def shortened_rules() -> str:
    """Return the rules with the ranges of alerting expressions reduced to a sixth.

    Recorded ratios have their range in their name and are unchanged.
    """
    document = yaml.safe_load(prometheus_file())
    for group in document["groups"]:
        for rule in group["rules"]:
            if "alert" in rule:
                rule["expr"] = LOOK_BACK.sub(_shorten, rule["expr"])
    return str(yaml.safe_dump(document))


def _shorten(found: re.Match[str]) -> str:
    return f"{found[1]}{int(found[2]) * 60 // SHORTENED}s"


class Notifications:
    """The notifications of the Alertmanager: the latest status of each alert, by its name."""

    def __init__(self) -> None:
        self.url = ""
        self.fired: set[str] = set()
        self._newest: dict[str, tuple[str, str]] = {}  # by fingerprint: name and status

    def add(self, document: Mapping[str, Any]) -> None:
        for alert in document["alerts"]:
            name = str(alert["labels"]["alertname"])
            self._newest[alert["fingerprint"]] = name, alert["status"]
            if alert["status"] == "firing":
                self.fired.add(name)

    @property
    def firing(self) -> set[str]:
        return {name for name, status in self._newest.values() if status == "firing"}


@contextmanager
def receiving() -> Iterator[Notifications]:
    notifications = Notifications()
    with receiving_posts(lambda body, _: notifications.add(json.loads(body))) as notifications.url:
        yield notifications


class Monitoring:
    """Queries of Prometheus, and notified alerts."""

    def __init__(self, url: str, notifications: Notifications) -> None:
        self._url = url
        self.notifications = notifications

    async def query(self, expr: str) -> Sequence[Mapping[str, Any]]:
        """Return the current series of an expression."""
        async with httpx.AsyncClient(timeout=10, verify=False) as client:
            answer = await client.post(f"{self._url}/api/v1/query", data={"query": expr})
        body = answer.json()
        assert body["status"] == "success", f"{expr}: {body}"
        found: Sequence[Mapping[str, Any]] = body["data"]["result"]
        return found

    async def has_data(self, expr: str) -> bool:
        return len(await self.query(expr)) > 0

    async def state(self, alert: str) -> set[str]:
        """Return the current states of an alert: `pending`, `firing`, or none."""
        rows = await self.query(f'ALERTS{{alertname="{alert}"}}')
        return {row["metric"]["alertstate"] for row in rows}

    async def late(self, alerts: Collection[str]) -> Sequence[str]:
        """Wait until each of the alerts was notified; return those that were not in time."""

        async def have_fired() -> bool:
            return set(alerts) <= self.notifications.fired

        with suppress(AssertionError):
            await until(have_fired, within=FIRES_WITHIN_SECONDS, every=0.2)
        return sorted(set(alerts) - self.notifications.fired)

    async def until_pending(self, alerts: Collection[str]) -> None:
        """Return when the expressions of the alerts hold; the alerts would fire later."""
        for alert in alerts:
            await until(
                lambda name=alert: self.state(name),  # type: ignore[misc]
                what=f"{alert} is pending",
                within=FIRES_WITHIN_SECONDS,
                every=0.5,
            )

    async def until_resolved(self, alerts: Collection[str]) -> None:
        """Return when no expression of the alerts holds."""

        async def are_resolved() -> bool:
            return not any([await self.state(alert) for alert in alerts])

        await until(are_resolved, what="nothing is pending", within=ENDS_WITHIN_SECONDS, every=1)

    async def end(self, alerts: Collection[str]) -> None:
        """Return when the end of each alert was notified."""

        async def have_ended() -> bool:
            return not set(alerts) & self.notifications.firing

        await until(have_ended, what="alerts end", within=ENDS_WITHIN_SECONDS, every=0.5)


@contextmanager
def watching(folder: Path, stack: Mapping[str, Any]) -> Iterator[Monitoring]:
    """Run both servers beside a stack, with its services as targets."""
    programs = find_programs()
    assert programs is not None, MISSING
    prometheus, alertmanager = programs
    port, alerts_port = free_port(), free_port()
    with receiving() as notifications:
        config = folder / "alertmanager.yaml"
        config.write_text(yaml.safe_dump(_alertmanager(notifications.url)))
        (folder / "rules.yaml").write_text(shortened_rules())
        scraping = folder / "prometheus.yaml"
        scraping.write_text(yaml.safe_dump(_prometheus(stack, f"127.0.0.1:{alerts_port}")))
        servers = (
            Program(
                [alertmanager, f"--config.file={config}", f"--storage.path={folder / 'alerts'}",
                 f"--web.listen-address=127.0.0.1:{alerts_port}", "--cluster.listen-address="],
                log=folder / "alertmanager.log",
                ready=lambda: _is_ready(alerts_port),
            ),
            Program(
                [prometheus, f"--config.file={scraping}",
                 f"--storage.tsdb.path={folder / 'series'}",
                 f"--web.listen-address=127.0.0.1:{port}"],
                log=folder / "prometheus.log",
                ready=lambda: _is_ready(port),
            ),
        )  # fmt: skip
        try:
            for server in servers:
                server.start()
            yield Monitoring(f"http://127.0.0.1:{port}", notifications)
        finally:
            for server in servers:
                server.stop()


def _is_ready(port: int) -> bool:
    try:
        return httpx.get(f"http://127.0.0.1:{port}/-/ready", timeout=1).is_success
    except httpx.HTTPError:
        return False


def _prometheus(stack: Mapping[str, Any], alertmanager: str) -> Mapping[str, Any]:
    """As in deploy/monitoring/README.md, with targets on this machine."""
    targets = [
        {
            "targets": [service["internal_url"].removeprefix("http://")],
            "labels": {"service": service["name"].replace("_", "-")},
        }
        for service in stack["services"]
    ]
    return {
        "global": {"scrape_interval": "2s", "scrape_timeout": "2s", "evaluation_interval": "2s"},
        "rule_files": ["rules.yaml"],
        "scrape_configs": [{"job_name": "swap", "static_configs": targets}],
        "alerting": {"alertmanagers": [{"static_configs": [{"targets": [alertmanager]}]}]},
    }


def _alertmanager(receiver: str) -> Mapping[str, Any]:
    return {
        "route": {
            "receiver": "test",
            "group_by": ["..."],
            "group_wait": "0s",
            "group_interval": "1s",
            "repeat_interval": "1h",
        },
        "receivers": [
            {"name": "test", "webhook_configs": [{"url": receiver, "send_resolved": True}]}
        ],
    }
