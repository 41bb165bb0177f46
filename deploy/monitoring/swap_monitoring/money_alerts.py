"""Alerts about swaps, payments and what covers them."""

from __future__ import annotations

from typing import Final

from swap_monitoring.rule import Group, counted_recently, critical, keeps_counting, warning

OWED: Final = "max by (network, token) (swap_settler_owed_base_units)"
HELD: Final = "max by (network, token) (swap_settler_held_base_units)"
TREASURY: Final = "max by (network, token) (swap_settler_treasury_base_units)"

SWAPS: Final = Group(
    "swap-swaps",
    page="swaps",
    rules=(
        critical(
            "SwapsStuck",
            "max by (status) (swap_settler_stuck_swaps) > 0",
            "{{ $value }} swaps are longer in {{ $labels.status }} than they may be.",
            after="5m",
        ),
        critical(
            "StuckSwapOld",
            "max by (status) (swap_settler_stuck_swaps_oldest_seconds) > 86400",
            "A stuck swap has been {{ $labels.status }} for {{ $value | humanizeDuration }}.",
            after="5m",
        ),
        warning(
            "DepositUnsettled",
            "max by (network) (swap_settler_unsettled_deposits_oldest_seconds) > 3600",
            "A deposit on {{ $labels.network }} has been unsettled for "
            "{{ $value | humanizeDuration }}.",
            after="5m",
        ),
        warning(
            "RefundPending",
            "max by (network) (swap_settler_refunds_pending_oldest_seconds) > 3600",
            "A refund on {{ $labels.network }} has waited for {{ $value | humanizeDuration }}.",
            after="5m",
        ),
        warning(
            "RefundsMany",
            "max by (network) (swap_settler_refunds_pending) > 50",
            "{{ $value }} refunds on {{ $labels.network }} are not final.",
            after="15m",
        ),
        critical(
            "DepositLostAfterPayout",
            counted_recently("swap_settler_losses_total", by="service"),
            "A reorg removed a deposit after its output was paid.",
        ),
        critical(
            "LossBudgetSpent",
            counted_recently("swap_settler_loss_budgets_spent_total", by="network"),
            "Losses by reorgs of {{ $labels.network }} exceed its budget.",
        ),
    ),
)

PAYMENTS: Final = Group(
    "swap-payments",
    page="payments",
    rules=(
        critical(
            "InvariantBroken",
            "max by (invariant) (swap_settler_invariant_broken_rows) > 0",
            "{{ $value }} rows break the invariant {{ $labels.invariant }}.",
            after="20m",
        ),
        warning(
            "InvariantUnchecked",
            "max by (invariant) (swap_settler_invariant_unchecked) > 0",
            "The query of the invariant {{ $labels.invariant }} fails.",
            after="20m",
        ),
        warning(
            "InvariantsNotChecked",
            "time() - max(swap_settler_invariants_checked_timestamp_seconds > 0) > 4500",
            "The invariants were checked {{ $value | humanizeDuration }} ago.",
            after="5m",
        ),
        critical(
            "SignerHalted",
            "max by (network) (swap_settler_signer_halted) > 0",
            "{{ $value }} signers on {{ $labels.network }} are halted until an operator acts.",
            after="1m",
        ),
        critical(
            "SignerNonceUsedExternally",
            counted_recently("swap_settler_foreign_nonces_total", by="network"),
            "An external transaction used a nonce of a signer on {{ $labels.network }}.",
        ),
        critical(
            "SignerNonceUnexplained",
            counted_recently("swap_settler_slots_unexplained_total", by="network"),
            "A nonce on {{ $labels.network }} was consumed by no known transaction.",
        ),
        critical(
            "SignerHoldsLess",
            counted_recently("swap_settler_signer_short_total", by="network"),
            "A signer on {{ $labels.network }} holds less than the ledger says.",
        ),
        warning(
            "SignerGasLow",
            "min by (network, signer) (swap_settler_signer_payments_left) < 50",
            "{{ $labels.signer }} on {{ $labels.network }} has gas for {{ $value }} payments.",
            after="5m",
        ),
        critical(
            "SignerGasEmpty",
            "min by (network, signer) (swap_settler_signer_payments_left) < 5",
            "{{ $labels.signer }} on {{ $labels.network }} has gas for {{ $value }} payments.",
            after="1m",
        ),
        critical(
            "ContractOperatorUnknown",
            "max by (network) (swap_settler_unknown_operators) > 0",
            "A contract on {{ $labels.network }} has an operator that is no signer.",
        ),
        critical(
            "ContractsDiffer",
            "max by (network) (swap_settler_contract_findings) > 0",
            "Contracts on {{ $labels.network }} differ from the catalogue in {{ $value }} points.",
        ),
        warning(
            "ContractOwnerUnnamed",
            "max by (network) (swap_settler_contracts_without_owner) > 0",
            "The catalogue names no owner of {{ $value }} contracts on {{ $labels.network }}.",
        ),
        warning(
            "TreasuryBelowCommitments",
            f"{TREASURY} < {OWED}",
            "The Treasury on {{ $labels.network }} has less {{ $labels.token }} than is owed.",
            after="30m",
        ),
        warning(
            "InventoryLow",
            f"({HELD} - {OWED}) / ({HELD} > 0) < 0.1",
            "{{ $value | humanizePercentage }} of {{ $labels.token }} on {{ $labels.network }} "
            "can still be paid out.",
            after="15m",
        ),
        warning(
            "PaymentsWaitForCap",
            "max by (network) (swap_settler_payments_waiting_oldest_seconds) > 1800",
            "A payment on {{ $labels.network }} has waited for a cap for "
            "{{ $value | humanizeDuration }}.",
            after="5m",
        ),
        warning(
            "PayoutsStopped",
            "max by (network) (swap_settler_stopped) > 0",
            "An operator stopped payouts on {{ $labels.network }}.",
            after="15m",
        ),
        warning(
            "SourceStopped",
            "max by (network) (swap_settler_source_stopped) > 0",
            "Nothing is paid for deposits on {{ $labels.network }}.",
            after="15m",
        ),
        warning(
            "TransactionAtFeeCap",
            counted_recently('swap_settler_replacements_total{act="at_cap"}', by="network"),
            "A transaction on {{ $labels.network }} is stuck at the fee cap.",
            after="5m",
        ),
        warning(
            "LaneWaits",
            keeps_counting("swap_settler_lane_waits_total", by="network"),
            "A sender lane of {{ $labels.network }} gets no response.",
            after="15m",
        ),
        warning(
            "SweepsRefused",
            keeps_counting("swap_settler_sweeps_refused_total", by="network", within="1h"),
            "Sweeps on {{ $labels.network }} would revert.",
            after="6h",
        ),
        warning(
            "WithdrawalUnbooked",
            "max(swap_settler_withdrawals_unbooked) > 0",
            "The owner withdrew more from a Treasury than the ledger has booked there.",
            after="30m",
        ),
        warning(
            "ScreeningUnavailable",
            keeps_counting('swap_screening_total{answer="none"}', by="service"),
            "The screening service does not respond to {{ $labels.service }}.",
            after="10m",
        ),
    ),
)

RECOVERY: Final = Group(
    "swap-recovery",
    page="recovery",
    rules=(
        critical(
            "RecoveryOpen",
            "max(swap_settler_in_recovery) > 0",
            "The database was restored: older payments are held.",
        ),
        warning(
            "NetworksUncompared",
            "max(swap_settler_networks_uncompared) > 0",
            "{{ $value }} networks are not compared with the ledger since the database started.",
            after="10m",
        ),
        warning(
            "RecoveryHoldsRetained",
            "max(swap_settler_recovery_retained) > 0",
            "{{ $value }} holds outlast their recovery and need an operator.",
            after="1h",
        ),
    ),
)
