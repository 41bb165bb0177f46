"""When alerts about swaps and payments fire and end."""

from __future__ import annotations

from typing import Final

from deploy.monitoring.tests.case import BASE, SETTLER, Case, event, gauge, growth

SWAPS: Final = (
    gauge(
        "SwapsStuck",
        "settler_stuck_swaps",
        "3",
        after=5,
        status="ls_transfer_pending",
        summary="3 swaps are longer in ls_transfer_pending than they may be.",
    ),
    gauge(
        "StuckSwapOld",
        "settler_stuck_swaps_oldest_seconds",
        "90000",
        after=5,
        status="pending_refund",
        summary="A stuck swap is in pending_refund for 1d 1h 0m 0s.",
    ),
    gauge(
        "DepositUnsettled",
        "settler_unsettled_deposits_oldest_seconds",
        "3660",
        after=5,
        network="base",
        summary="A deposit on base is unsettled for 1h 1m 0s.",
    ),
    gauge(
        "RefundPending",
        "settler_refunds_pending_oldest_seconds",
        "7200",
        after=5,
        network="base",
        summary="A refund on base waits for 2h 0m 0s.",
    ),
    gauge(
        "RefundsMany",
        "settler_refunds_pending",
        "51",
        after=15,
        network="base",
        summary="51 refunds on base are not final.",
    ),
    Case(
        "DepositLostAfterPayout",
        {'swap_settler_losses_total{service="settler"}': "0x9 1x90"},
        10,
        40,
        "A reorg took a deposit that was paid for.",
        SETTLER,
    ),
    event(
        "LossBudgetSpent",
        "settler_loss_budgets_spent",
        network="base",
        summary="Reorgs of base took more than its loss budget.",
    ),
)

PAYMENTS: Final = (
    gauge(
        "SignerHalted",
        "settler_signer_halted",
        "1",
        after=1,
        network="base",
        summary="1 signers on base are halted until an operator acts.",
    ),
    event(
        "SignerNonceUsedExternally",
        "settler_foreign_nonces",
        network="base",
        summary="An external transaction used a nonce of a signer on base.",
    ),
    event(
        "SignerNonceUnexplained",
        "settler_slots_unexplained",
        network="base",
        summary="A nonce on base was consumed by no known transaction.",
    ),
    event(
        "SignerHoldsLess",
        "settler_signer_short",
        network="base",
        summary="A signer on base holds less than the ledger says.",
    ),
    Case(
        "SignerGasLow",
        {'swap_settler_signer_payments_left{network="base",signer="0x3"}': "60x9 49x29 60x60"},
        15,
        40,
        "0x3 on base has gas for 49 payments.",
        {**BASE, "signer": "0x3"},
    ),
    Case(
        "SignerGasEmpty",
        {'swap_settler_signer_payments_left{network="base",signer="0x3"}': "60x9 4x29 60x60"},
        11,
        40,
        "0x3 on base has gas for 4 payments.",
        {**BASE, "signer": "0x3"},
    ),
    gauge(
        "ContractOperatorUnknown",
        "settler_unknown_operators",
        "1",
        after=0,
        network="base",
        summary="A contract on base has an operator that is no signer.",
    ),
    gauge(
        "ContractOwnerUnnamed",
        "settler_contracts_without_owner",
        "2",
        after=0,
        network="base",
        summary="The catalogue names no owner of 2 contracts on base.",
    ),
    Case(
        "TreasuryBelowCommitments",
        {
            'swap_settler_owed_base_units{network="base",token="0x1"}': "50x120",
            'swap_settler_treasury_base_units{network="base",token="0x1"}': "90x9 40x59 90x60",
        },
        40,
        70,
        "The Treasury on base has less 0x1 than is owed.",
        {**BASE, "token": "0x1"},
    ),
    Case(
        "InventoryLow",
        {
            'swap_settler_owed_base_units{network="base",token="0x1"}': "50x9 92x29 50x60",
            'swap_settler_held_base_units{network="base",token="0x1"}': "100x120",
        },
        25,
        40,
        "8% of 0x1 on base can still be paid out.",
        {**BASE, "token": "0x1"},
    ),
    gauge(
        "PaymentsWaitForCap",
        "settler_payments_waiting_oldest_seconds",
        "1860",
        after=5,
        network="base",
        summary="A payment on base waits for a cap for 31m 0s.",
    ),
    gauge(
        "PayoutsStopped",
        "settler_stopped",
        "1",
        after=15,
        network="base",
        summary="An operator stopped payouts on base.",
    ),
    gauge(
        "SourceStopped",
        "settler_source_stopped",
        "1",
        after=15,
        network="base",
        summary="Nothing is paid for deposits on base.",
    ),
    event(
        "TransactionAtFeeCap",
        "settler_replacements",
        after=5,
        network="base",
        act="at_cap",
        summary="A transaction on base is stuck at the fee cap.",
    ),
    growth(
        "LaneWaits",
        "settler_lane_waits",
        after=15,
        network="base",
        summary="A sender lane of base gets no response.",
    ),
    Case(
        "SweepsRefused",
        {'swap_settler_sweeps_refused_total{network="base"}': "0x9 1+1x400 401x120"},
        370,
        500,
        "Sweeps on base would revert.",
        BASE,
    ),
    Case(
        "WithdrawalUnbooked",
        {"swap_settler_withdrawals_unbooked": "0x9 1x49 0x60"},
        40,
        60,
        "The ledger lacks what the owner took out of a Treasury.",
    ),
    growth(
        "ScreeningUnavailable",
        "screening",
        after=10,
        service="settler",
        answer="none",
        summary="The screening service does not respond to settler.",
    ),
)

RECOVERY: Final = (
    Case(
        "RecoveryOpen",
        {"swap_settler_in_recovery": "0x9 1x29 0x60"},
        10,
        40,
        "The database was restored: older payments are held.",
    ),
    Case(
        "NetworksUncompared",
        {"swap_settler_networks_uncompared": "0x9 2x29 0x60"},
        20,
        40,
        "2 networks are not compared with the ledger since the database started.",
    ),
    Case(
        "RecoveryHoldsRetained",
        {"swap_settler_recovery_retained": "0x9 2x99 0x60"},
        70,
        110,
        "2 holds outlast their recovery and need an operator.",
    ),
)
