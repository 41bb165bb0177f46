"""The settings of one chain-watcher process."""

from __future__ import annotations

from datetime import timedelta

from pydantic import Field

from swap_runtime.settings import ServiceGroup, SharedSettings


class ChainWatcherGroup(ServiceGroup):
    outbox_rest: timedelta = Field(
        timedelta(0), description="None: blocks bring their messages together, and payouts wait"
    )
    poll_interval: timedelta = Field(
        timedelta(milliseconds=100), description="How often a node is asked for its head"
    )
    node_timeout: timedelta = Field(
        timedelta(seconds=5), description="A node that answers later counts as away"
    )
    range_blocks_max: int = Field(
        10_000, description="Blocks asked for at once while catching up behind finality"
    )
    second_look_interval: timedelta = Field(
        timedelta(seconds=15), description="How often final blocks are read from another node"
    )
    second_look_blocks_max: int = Field(
        50_000, description="Blocks that one second look takes at most"
    )
    verification_interval: timedelta = Field(
        timedelta(milliseconds=500),
        description="How often deposits that need a second provider are looked for",
    )
    one_provider_caps: dict[str, dict[str, int]] = Field(
        {},
        description="Where all nodes of a live network are of one provider: what may be confirmed "
        "by its report within ONE_PROVIDER_SPAN, in base units by network and token symbol: JSON; "
        "of other tokens, the highest sum of their tiers that need one provider",
    )
    one_provider_span: timedelta = Field(
        timedelta(days=1), description="So long a deposit counts under ONE_PROVIDER_CAPS"
    )
    address_young_for: timedelta = Field(
        timedelta(hours=24), description="So long a deposit address's coins are counted each block"
    )
    address_young_max: int = Field(
        10_000, gt=0, description="Young ones of a network that are counted each block at most"
    )
    address_old_every: timedelta = Field(
        timedelta(hours=1), description="How often those of older ones are counted, for ever"
    )
    address_old_max: int = Field(200, description="Older ones that are counted with one block")
    resuming_needs_two: bool = Field(
        default=True, description="A halt is lifted by two operators: one orders, one approves"
    )
    keep_blocks: timedelta = Field(
        timedelta(days=30),
        ge=timedelta(days=1),
        description="Final blocks without movements are deleted when they are older",
    )
    report_interval: timedelta = Field(
        timedelta(seconds=5), description="How often head and lag are measured"
    )
    lease_term: timedelta = Field(
        timedelta(seconds=10), description="How long a network waits for a dead follower"
    )


class ChainWatcherSettings(SharedSettings):
    chain_watcher: ChainWatcherGroup  # SWAP_CHAIN_WATCHER__DATABASE_URL, …
