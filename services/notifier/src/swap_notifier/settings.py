"""What this process reads from its environment."""

from __future__ import annotations

from datetime import timedelta

from pydantic import Field, SecretStr

from swap_runtime.settings import ServiceGroup, SharedSettings


class NotifierGroup(ServiceGroup):
    secret_keys: tuple[SecretStr, ...] = Field(
        min_length=1,
        description="Endpoints' secrets are stored sealed with the first, read with any: JSON list "
        "of 32 bytes in base64 each",
    )
    allow_loopback: bool = Field(
        default=False, description="Let endpoints be on this machine: for development only"
    )
    attempt_timeout: timedelta = Field(
        timedelta(seconds=15), description="A receiver that takes longer has failed"
    )
    concurrency_max: int = Field(512, ge=1, description="Deliveries under way at once")
    endpoint_concurrency_max: int = Field(64, ge=1, description="The same, of one endpoint")
    poll_interval: timedelta = Field(
        timedelta(seconds=1), description="How late a due delivery is when a wake got lost"
    )
    keep_messages: timedelta = Field(
        timedelta(days=30), description="How long a message that ended can be replayed"
    )


class NotifierSettings(SharedSettings):
    notifier: NotifierGroup  # SWAP_NOTIFIER__DATABASE_URL, …
