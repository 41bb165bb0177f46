"""What this process reads from its environment."""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path
from typing import Final, Self
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, field_validator, model_validator

from swap_runtime.settings import (
    IDLE_TIMEOUT,
    KafkaSettings,
    RedisSettings,
    ServiceGroup,
    SharedSettings,
)

# A name, an IPv4 or a bracketed IPv6 address, with a port or without: no character of a policy.
HOST: Final = re.compile(r"[A-Za-z0-9.-]+(:\d+)?|\[[0-9A-Fa-f:.]+\](:\d+)?")
LOOPBACK: Final = ("127.0.0.1", "localhost", "::1")


class DashboardGroup(ServiceGroup):
    port: int = Field(description="The public port")
    public_url: str = Field(
        description="How browsers reach it, such as https://dashboard.example; no path. With https "
        "its cookies are sent on https alone"
    )
    api_url: str = Field(description="Where the api answers, inside: its public port")
    api_public_url: str = Field(
        default="", description="What commands to copy name; without it, API_URL"
    )
    secret_keys: tuple[SecretStr, ...] = Field(
        min_length=1,
        description="Members' access tokens and second factors are stored sealed with the first, "
        "read with any: JSON list of 32 bytes in base64 each",
    )
    bench_url: str = Field(
        default="",
        description="Where a program plays the users of test apps, such as the one of the "
        "development stack. Without it no test bench is offered",
    )
    oidc_issuer: str = Field(
        default="",
        description="The OpenID provider that members may sign in with, such as "
        "https://login.example. Without it only passwords and links sign in",
    )
    oidc_client_id: str = Field(default="", description="What the provider calls this dashboard")
    oidc_client_secret: SecretStr = Field(
        default=SecretStr(""), description="Its secret there; better by OIDC_CLIENT_SECRET_FILE"
    )
    oidc_name: str = Field(
        default="single sign-on", max_length=60, description="What the button calls the provider"
    )
    idle_timeout: timedelta = Field(
        default=IDLE_TIMEOUT,
        gt=timedelta(0),
        description="Unused connections are kept for so long; more than by the load balancer",
    )
    trusted_proxies: tuple[str, ...] = Field(
        default=(), description="Addresses or networks whose X-Forwarded-For is believed: JSON list"
    )
    session_idle: timedelta = Field(
        default=timedelta(hours=12), description="A session that is not used for so long ends"
    )
    session_lifetime: timedelta = Field(
        default=timedelta(days=14), description="No session is longer, however much it is used"
    )
    link_lifetime: timedelta = Field(
        default=timedelta(minutes=15), description="How long a sign-in link opens a session"
    )
    api_timeout: timedelta = Field(
        default=timedelta(seconds=10), description="How long the api may take to answer"
    )

    @model_validator(mode="after")
    def _names_a_whole_provider(self) -> Self:
        settings = (
            self.oidc_issuer,
            self.oidc_client_id,
            self.oidc_client_secret.get_secret_value(),
        )
        if any(settings) and not all(settings):
            raise ValueError("OIDC_ISSUER, OIDC_CLIENT_ID and OIDC_CLIENT_SECRET belong together")
        parts = urlsplit(self.oidc_issuer)
        is_here = parts.scheme == "http" and parts.hostname in LOOPBACK
        if self.oidc_issuer and not is_here and parts.scheme != "https":
            raise ValueError("OIDC_ISSUER must be https://")
        return self

    @field_validator("public_url")
    @classmethod
    def _is_an_origin(cls, value: str) -> str:
        return to_origin(value)


def to_origin(value: str) -> str:
    """
    :raises ValueError: when it is more or less than scheme and host.
    """
    parts = urlsplit(value)
    is_origin = parts.scheme in ("http", "https") and HOST.fullmatch(parts.netloc)
    if not is_origin or parts.path.strip("/") or parts.query or parts.fragment:
        raise ValueError("must be http(s)://host, with a port or without, and nothing more")
    return f"{parts.scheme}://{parts.netloc}"


class UnusedKafka(KafkaSettings):
    """The group that all services read; a part of it may stand in the environment."""

    bootstrap_servers: str = ""


class UnusedRedis(RedisSettings):
    url: SecretStr = SecretStr("")


class DashboardSettings(SharedSettings):
    dashboard: DashboardGroup  # SWAP_DASHBOARD__DATABASE_URL, …
    # It consumes nothing, counts nothing and pays nothing: all of its data is from the api.
    kafka: UnusedKafka = UnusedKafka()
    redis: UnusedRedis = UnusedRedis()
    catalogue: Path = Path()
