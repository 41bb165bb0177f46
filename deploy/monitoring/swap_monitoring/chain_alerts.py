"""Alerts about networks, nodes, providers and prices."""

from __future__ import annotations

from typing import Final

from swap_monitoring.rule import Group, counted_recently, critical, keeps_counting, warning

HEAD: Final = "max by (network) (swap_watch_head_block)"
HEAD_BEFORE: Final = "max by (network) (swap_watch_head_block offset 10m)"
USED: Final = "max by (network, token) (swap_watch_one_provider_used_base_units)"
CAP: Final = "max by (network, token) (swap_watch_one_provider_cap_base_units)"
YOUNG: Final = "max by (network) (swap_watch_young_addresses)"
YOUNG_MAX: Final = "max by (network) (swap_watch_young_addresses_max)"

CHAINS: Final = Group(
    "swap-chains",
    page="chains",
    rules=(
        critical(
            "NetworkHalted",
            "max by (network) (swap_watch_halted) > 0",
            "{{ $labels.network }} is halted: nothing is paid there until an operator acts.",
            after="1m",
        ),
        critical(
            "NodesContradict",
            counted_recently("swap_watch_contradictions_total", by="network"),
            "Nodes of {{ $labels.network }} contradict each other about a final block.",
        ),
        critical(
            "ReceiptsContradict",
            counted_recently("swap_settler_nodes_differ_total", by="network"),
            "Nodes of {{ $labels.network }} differ about a transaction that failed.",
        ),
        critical(
            "AddressCoinsMissing",
            counted_recently("swap_watch_coins_missing_total", by="network"),
            "A deposit address on {{ $labels.network }} has less than it received.",
        ),
        critical(
            "HeadStopped",
            f"{HEAD} - {HEAD_BEFORE} <= 0",
            "No new block of {{ $labels.network }} for ten minutes.",
            after="5m",
        ),
        warning(
            "HeadLag",
            "max by (network) (swap_watch_head_lag_blocks) > 20",
            "{{ $labels.network }} is read {{ $value }} blocks behind its head.",
            after="5m",
        ),
        warning(
            "ReorgDeep",
            "sum by (network) (increase(swap_watch_reorg_depth_blocks_sum[15m])) > 10",
            "{{ $value }} blocks of {{ $labels.network }} were reverted.",
        ),
        warning(
            "MovementMissed",
            counted_recently("swap_watch_missed_movements_total", by="network"),
            "A node of {{ $labels.network }} did not report a movement at first.",
        ),
        warning(
            "SecondLookFails",
            keeps_counting("swap_watch_second_look_failures_total", by="network"),
            "No second provider of {{ $labels.network }} responds to the second look.",
            after="30m",
        ),
        warning(
            "DepositsUnverified",
            "max by (network) (swap_watch_deposits_unverified) > 0",
            "{{ $value }} deposits or payouts on {{ $labels.network }} have one report only.",
            after="15m",
        ),
        warning(
            "DepositsWithheld",
            "max by (network) (swap_watch_deposits_withheld) > 0",
            "{{ $value }} deposits on {{ $labels.network }} wait for a second provider.",
            after="15m",
        ),
        warning(
            "OneProvider",
            "min by (network) (swap_watch_providers) < 2",
            "{{ $labels.network }} has nodes of one provider only.",
            after="10m",
        ),
        warning(
            "OneProviderCapNear",
            f"{USED} / ({CAP} > 0) > 0.8",
            "{{ $value | humanizePercentage }} of what one provider may confirm of "
            "{{ $labels.token }} on {{ $labels.network }} is used.",
            after="5m",
        ),
        warning(
            "YoungAddressesMany",
            f"{YOUNG} / ({YOUNG_MAX} > 0) > 0.8",
            "{{ $value | humanizePercentage }} of the places for young deposit addresses on "
            "{{ $labels.network }} are used.",
            after="15m",
        ),
        warning(
            "NodeFails",
            "sum by (network) (increase(swap_watch_node_failures_total[10m])) > 60",
            "Nodes of {{ $labels.network }} failed {{ $value }} requests in ten minutes.",
            after="10m",
        ),
    ),
)

PRICES: Final = Group(
    "swap-prices",
    page="prices",
    rules=(
        critical(
            "PricesMissing",
            "max(swap_quoter_prices) == 0",
            "The quoter has no price: nothing can be quoted.",
            after="5m",
        ),
        warning(
            "PricesDisputed",
            "max(swap_quoter_prices_disputed) > 0",
            "Sources of {{ $value }} prices are too far apart: their routes are closed.",
            after="5m",
        ),
        warning(
            "PricesUnreadable",
            keeps_counting("swap_quoter_prices_unreadable_total", by="source"),
            "The price source {{ $labels.source }} cannot be read.",
            after="15m",
        ),
        warning(
            "GasUnknown",
            keeps_counting("swap_quoter_gas_unknown_total", by="network"),
            "No node of {{ $labels.network }} reports the price of gas.",
            after="15m",
        ),
        warning(
            "QuoterAway",
            keeps_counting("swap_settler_quoter_away_total", by="service", within="5m")
            + " or "
            + keeps_counting("swap_api_quoter_away_total", by="service", within="5m"),
            "The quoter does not respond to {{ $labels.service }}.",
            after="5m",
        ),
    ),
)
