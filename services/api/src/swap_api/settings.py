"""The settings of one api process."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, Final, Literal

from pydantic import Field, SecretStr, field_validator

from swap_runtime.settings import IDLE_TIMEOUT, Group, ServiceGroup, SharedSettings

LINK_KEY_LENGTH_MIN: Final = 16


class RateSettings(Group):
    """Requests a minute of one client of a publishable key."""

    reads: int = Field(default=1200, gt=0, description="Requests a minute of one client")
    prices: int = Field(default=120, gt=0, description="Quotes and limits")
    creates: int = Field(default=30, gt=0, description="New swaps, and what managers change")
    ceiling_factor: int = Field(
        default=100, gt=0, description="What a whole app may, and a secret key, in clients"
    )
    burst_minutes: int = Field(
        default=2, gt=0, description="So many minutes' worth may come at once"
    )
    weights: dict[str, Annotated[int, Field(gt=0)]] = Field(
        default={},
        description="What one request counts, where not as documented: JSON object, such as"
        ' {"GET /api/v2/swaps": 5}',
    )


class BoundSettings(Group):
    """How much members may create; operators may create more for them."""

    apps_per_organization: int = Field(default=20, gt=0)
    members_per_organization: int = Field(
        default=100, gt=0, description="Open invitations are counted too"
    )
    keys_per_app: int = Field(default=20, gt=0, description="Open ones")
    webhooks_per_app: int = Field(default=10, gt=0)
    tokens_per_member: int = Field(default=20, gt=0, description="Open ones")


class ApiGroup(ServiceGroup):
    port: int = Field(description="The public port")
    idle_timeout: timedelta = Field(
        default=IDLE_TIMEOUT,
        gt=timedelta(0),
        description="Unused connections are kept for so long; more than by the load balancer",
    )
    quoter_url: str = Field(description="Where the quoter answers, inside")
    notifier_url: str | None = Field(
        default=None,
        description="The notifier's internal port; without it nobody manages webhooks here",
    )
    notifier_token: SecretStr = Field(
        default=SecretStr(""),
        description="Token for the notifier's internal port (role service). "
        "Default: SWAP_OPERATOR__TOKEN, which opens everything",
    )
    key_pepper: SecretStr = Field(
        min_length=16,
        description="Keys are stored hashed with it; changing it closes all but OTHER_KEY_PEPPERS",
    )
    other_key_peppers: tuple[SecretStr, ...] = Field(
        default=(),
        description="While the pepper is replaced: keys stored with one of them are hashed anew "
        "with KEY_PEPPER when they are used. JSON list; docs/key-rotation.md",
    )
    pay_page_url: str = Field(
        default="",
        description="Of the pay pages, such as https://dashboard.example/pay; without it, links "
        "have a token and no address",
    )
    pay_link_keys: tuple[SecretStr, ...] = Field(
        default=(),
        description="Tokens of pay links are made with the first and read with any: JSON list of "
        "texts of 16 characters or more. Default: a key derived from KEY_PEPPER",
    )
    key_headers: tuple[str, ...] = Field(
        default=("X-SVC-APIKEY",),
        min_length=1,
        description="Headers that may carry a key: JSON list",
    )
    cors_origins: tuple[str, ...] = Field(
        default=("*",), description="Web pages that may read answers: JSON list"
    )
    trusted_proxies: tuple[str, ...] = Field(
        default=(), description="Addresses or networks whose X-Forwarded-For is believed: JSON list"
    )
    rates: RateSettings = RateSettings()
    bounds: BoundSettings = BoundSettings()
    limits_lifted: bool = Field(default=False, description="No rate or pending limits for anybody")
    pending_swaps_publishable: int = Field(
        default=100, gt=0, description="Unpaid swaps of one client of a publishable key"
    )
    pending_swaps_secret: int = Field(default=10_000, gt=0, description="Unpaid swaps of one app")
    deposit_addresses_per_app: int = Field(
        default=500, gt=0, description="Unpaid deposit addresses per app and network"
    )
    deposit_addresses_per_network: int = Field(
        default=2_000,
        gt=0,
        description="The same of all apps; the watcher's ADDRESS_YOUNG_MAX bounds what it counts",
    )
    docs_url: str = Field(default="/docs/errors", description="Page that errors link to")
    authorize_status_case: Literal["capitalised", "lower"] = Field(
        default="capitalised", description="How statuses of gasless signatures are written"
    )
    gasless_check_interval: timedelta = Field(
        default=timedelta(seconds=10),
        description="How often chains are asked which ways of depositing are possible",
    )
    prices_poll_interval: timedelta = timedelta(seconds=2)
    stops_poll_interval: timedelta = Field(
        default=timedelta(milliseconds=500),
        description="How late swaps are refused whose payouts an operator has stopped",
    )
    quoter_timeout: timedelta = Field(
        # Long enough for a machine where many processes start at once.
        default=timedelta(seconds=2),
        description="How long the quoter may take to answer; then creates and quotes are refused",
    )
    request_log_retention: timedelta = Field(
        default=timedelta(days=7),
        ge=timedelta(0),
        description="How long requests with API keys are stored for their app; 0 stores none",
    )
    request_log_per_app: int = Field(
        default=20_000, gt=0, description="How many requests of one app are stored at most"
    )

    @field_validator("pay_link_keys")
    @classmethod
    def _are_long(cls, keys: tuple[SecretStr, ...]) -> tuple[SecretStr, ...]:
        if any(len(key.get_secret_value()) < LINK_KEY_LENGTH_MIN for key in keys):
            raise ValueError(f"each must have {LINK_KEY_LENGTH_MIN} characters or more")
        return keys


class ApiSettings(SharedSettings):
    api: ApiGroup  # SWAP_API__DATABASE_URL, …
