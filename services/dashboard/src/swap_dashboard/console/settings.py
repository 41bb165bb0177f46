"""What the console's process reads from its environment: addresses, and no secret."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from pydantic import Field, field_validator

from swap_dashboard.console.ports import ServiceName
from swap_dashboard.settings import to_origin
from swap_runtime.settings import IDLE_TIMEOUT, BuildSettings, EnvironmentSettings, Group

INTERNAL: Final = "The internal port of the "


class ConsoleGroup(Group):
    port: int = Field(description="The port for operators' browsers; no public gateway leads there")
    internal_port: int = Field(description="/livez, /readyz, /metrics; 0 takes a free one")
    host: str = "127.0.0.1"
    log_level: str = "INFO"
    public_url: str = Field(
        description="How operators' browsers reach it, such as https://console.internal; no path. "
        "With https its cookies are sent on https alone"
    )
    settler_url: str = Field(description=f"{INTERNAL}settler")
    chain_watcher_url: str = Field(description=f"{INTERNAL}chain-watcher")
    api_url: str = Field(description=f"{INTERNAL}api")
    quoter_url: str = Field(description=f"{INTERNAL}quoter")
    notifier_url: str = Field(description=f"{INTERNAL}notifier")
    dashboard_url: str = Field(
        default="", description=f"{INTERNAL}dashboard; empty where none is deployed"
    )
    idle_timeout: timedelta = Field(
        default=IDLE_TIMEOUT,
        gt=timedelta(0),
        description="Unused connections are kept for so long; more than by a proxy before it",
    )
    trusted_proxies: tuple[str, ...] = Field(
        default=(), description="Addresses or networks whose X-Forwarded-For is believed: JSON list"
    )
    session_idle: timedelta = Field(
        default=timedelta(minutes=30), description="A session that is not used for so long ends"
    )
    session_lifetime: timedelta = Field(
        default=timedelta(hours=8), description="No session is longer, however much it is used"
    )
    answer_timeout: timedelta = Field(
        default=timedelta(seconds=10), description="How long a service may take to answer a read"
    )
    order_timeout: timedelta = Field(
        default=timedelta(seconds=30), description="How long a service may take to answer an order"
    )

    @field_validator("public_url")
    @classmethod
    def _is_an_origin(cls, value: str) -> str:
        return to_origin(value)

    def service_urls(self) -> dict[ServiceName, str]:
        urls = {
            ServiceName.SETTLER: self.settler_url,
            ServiceName.CHAIN_WATCHER: self.chain_watcher_url,
            ServiceName.API: self.api_url,
            ServiceName.QUOTER: self.quoter_url,
            ServiceName.NOTIFIER: self.notifier_url,
            ServiceName.DASHBOARD: self.dashboard_url,
        }
        return {service: url for service, url in urls.items() if url}


class ConsoleSettings(EnvironmentSettings):
    """It has no database, no Kafka and no catalogue: what it shows, the services answer."""

    console: ConsoleGroup  # SWAP_CONSOLE__PORT, …
    build: BuildSettings = BuildSettings()
