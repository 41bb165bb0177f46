"""What this process reads from its environment."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from pydantic import Field

from swap_runtime.settings import Group, ServiceGroup, SharedSettings


class FeedSettings(Group):
    """One price feed on chain, with the interface of Chainlink's aggregators."""

    symbol: str = Field(description="The catalogue's price_symbol")
    network: str = Field(description="Where the feed is: a network of the catalogue")
    aggregator: str = Field(description="The contract's address")
    max_age: timedelta = Field(description="The feed's heartbeat: an older round is no price")


class QuoterGroup(ServiceGroup):
    port: int = Field(description="Where quotes, limits and prices are answered")
    prices_file: Path = Field(
        description='JSON: {"ETH": "3000.00"}; read again whenever it changes'
    )
    prices_poll_interval: timedelta = timedelta(seconds=1)
    prices_max_age: timedelta = Field(
        timedelta(seconds=60), description="An older price is none: its routes are closed"
    )
    prices_never_expire: bool = Field(
        default=False, description="For development prices that nobody refreshes"
    )
    feeds: tuple[FeedSettings, ...] = Field(
        default=(),
        description="Price feeds on chain, beside the file: JSON list of "
        '{"symbol", "network", "aggregator", "max_age"}',
    )
    prices_deviation_basis_points: int = Field(
        200, gt=0, description="Sources of a price that are further apart close its routes"
    )
    gas_poll_interval: timedelta = timedelta(seconds=2)
    gas_max_age: timedelta = Field(
        timedelta(seconds=30), description="An older gas cost closes the network's routes"
    )
    refuel_usd: str = Field("1", description="What a refuel is worth, in dollars")
    completions_window: int = Field(
        100, ge=1, description="How many completed swaps of a route are averaged"
    )
    market_poll_interval: timedelta = Field(
        timedelta(seconds=1), description="How late inventory is when a wake got lost"
    )


class QuoterSettings(SharedSettings):
    quoter: QuoterGroup  # SWAP_QUOTER__DATABASE_URL, …
