"""Times at which alerts about networks and prices fire and end."""

from __future__ import annotations

from typing import Final

from deploy.monitoring.tests.case import BASE, Case, event, gauge, growth

CHAINS: Final = (
    gauge(
        "NetworkHalted",
        "watch_halted",
        "1",
        after=1,
        network="base",
        summary="base is halted: nothing is paid there until an operator acts.",
    ),
    event(
        "NodesContradict",
        "watch_contradictions",
        network="base",
        summary="Nodes of base contradict each other about a final block.",
    ),
    event(
        "ReceiptsContradict",
        "settler_nodes_differ",
        network="base",
        summary="Nodes of base differ about a transaction that failed.",
    ),
    event(
        "AddressCoinsMissing",
        "watch_coins_missing",
        network="base",
        summary="A deposit address on base has less than it received.",
    ),
    Case(
        "HeadStopped",
        {'swap_watch_head_block{network="base"}': "100+5x20 200x30 205+5x60"},
        35,
        55,
        "No new block of base for ten minutes.",
        BASE,
    ),
    gauge(
        "HeadLag",
        "watch_head_lag_blocks",
        "21",
        after=5,
        network="base",
        summary="base is read 21 blocks behind its head.",
    ),
    Case(
        "ReorgDeep",
        {'swap_watch_reorg_depth_blocks_sum{network="base"}': "0x9 15x90"},
        10,
        40,
        "15 blocks of base were reverted.",
        BASE,
    ),
    event(
        "MovementMissed",
        "watch_missed_movements",
        network="base",
        summary="A node of base did not report a movement at first.",
    ),
    growth(
        "SecondLookFails",
        "watch_second_look_failures",
        after=30,
        network="base",
        summary="No second provider of base responds to the second look.",
    ),
    gauge(
        "DepositsUnverified",
        "watch_deposits_unverified",
        "2",
        after=15,
        network="base",
        summary="2 deposits or payouts on base have one report only.",
    ),
    gauge(
        "DepositsWithheld",
        "watch_deposits_withheld",
        "2",
        after=15,
        network="base",
        summary="2 deposits on base wait for a second provider.",
    ),
    Case(
        "OneProvider",
        {'swap_watch_providers{network="base"}': "2x9 1x29 2x60"},
        20,
        40,
        "base has nodes of one provider only.",
        BASE,
    ),
    Case(
        "OneProviderCapNear",
        {
            'swap_watch_one_provider_cap_base_units{network="base",token="0x1"}': "100x120",
            'swap_watch_one_provider_used_base_units{network="base",token="0x1"}': "0x9 81x29 0x60",
        },
        15,
        40,
        "81% of what one provider may confirm of 0x1 on base is used.",
        {**BASE, "token": "0x1"},
    ),
    Case(
        "YoungAddressesMany",
        {
            'swap_watch_young_addresses_max{network="base"}': "100x120",
            'swap_watch_young_addresses{network="base"}': "0x9 81x29 0x60",
        },
        25,
        40,
        "81% of the places for young deposit addresses on base are used.",
        BASE,
    ),
    Case(
        "NodeFails",
        {'swap_watch_node_failures_total{network="base"}': "0x9 0+10x60 600x60"},
        27,
        100,
        "Nodes of base failed 100 requests in ten minutes.",
        BASE,
    ),
)

PRICES: Final = (
    Case(
        "PricesMissing",
        {"swap_quoter_prices": "5x9 0x29 5x60"},
        15,
        40,
        "The quoter has no price: nothing can be quoted.",
    ),
    Case(
        "PricesDisputed",
        {"swap_quoter_prices_disputed": "0x9 2x29 0x60"},
        15,
        40,
        "Sources of 2 prices are too far apart: their routes are closed.",
    ),
    growth(
        "PricesUnreadable",
        "quoter_prices_unreadable",
        after=15,
        source="feeds",
        summary="The price source feeds cannot be read.",
    ),
    growth(
        "GasUnknown",
        "quoter_gas_unknown",
        after=15,
        network="base",
        summary="No node of base reports the price of gas.",
    ),
    growth(
        "QuoterAway",
        "settler_quoter_away",
        after=5,
        service="settler",
        summary="The quoter does not respond to settler.",
    ),
)
