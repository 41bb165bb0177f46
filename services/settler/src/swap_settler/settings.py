"""What this process reads from its environment."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from pydantic import Field, SecretStr

from swap_runtime.settings import Group, ServiceGroup, SharedSettings


class KmsGroup(Group):
    """AWS KMS, for signers with keys there."""

    region: str = ""
    url: str = Field(default="", description="Where it answers; that of the region by default")
    access_key_id: str = ""
    secret_access_key: SecretStr = SecretStr("")
    session_token: SecretStr = SecretStr("")
    timeout: timedelta = Field(
        default=timedelta(seconds=3), description="How long one signature may take"
    )


class SettlerGroup(ServiceGroup):
    signer_keys: dict[str, SecretStr] = Field(
        {}, description="Private keys of the catalogue's signers, by address: JSON"
    )
    signer_keystores: dict[str, str] = Field(
        {}, description="Encrypted keystore files of signers, by address: JSON"
    )
    keystore_password: SecretStr = Field(
        SecretStr(""), description="What all of the keystore files are opened with"
    )
    signer_kms_keys: dict[str, str] = Field(
        {}, description="Keys of signers in AWS KMS (id or ARN), by address: JSON"
    )
    kms: KmsGroup = KmsGroup()
    retired_signers: frozenset[str] = Field(
        default=frozenset(),
        description="Signers of the catalogue that finish what has their nonces and take no new "
        "payments: JSON",
    )
    expiry_interval: timedelta = Field(
        timedelta(seconds=1), description="How often deadlines are looked at"
    )
    refund_interval: timedelta = Field(
        timedelta(seconds=1), description="How often refunds that are due are worked out"
    )
    quoter_url: str = Field(description="Where the quoter answers, inside")
    requote_interval: timedelta = Field(
        timedelta(seconds=1), description="How late a requote is when a wake got lost"
    )
    requote_pause: timedelta = Field(
        timedelta(seconds=5), description="Until a quoter that did not answer is asked again"
    )
    requote_patience: timedelta = Field(
        timedelta(minutes=10),
        description="Without a price for so long, a late deposit goes back",
    )
    sweep_interval: timedelta = Field(
        timedelta(seconds=10), description="How often deposit addresses are ordered to be swept"
    )
    sweep_booking_interval: timedelta = Field(
        timedelta(seconds=1), description="How often final sweeps are booked"
    )
    payout_slots_max: int = Field(
        16,
        description="Transactions of one signer in flight: what public nodes keep of one account",
    )
    payout_batch_max: int = Field(50, description="Payments in one transaction")
    payout_attempts_max: int = Field(
        5, description="Failures after which a payment is given up and its money is claimable"
    )
    payout_retry_pause: timedelta = Field(
        timedelta(seconds=2), description="After the first failure; doubled after each further one"
    )
    rebroadcast_after: timedelta = Field(
        timedelta(seconds=5), description="Unmined for so long, the same bytes are sent again"
    )
    replace_after: timedelta = Field(
        timedelta(seconds=30),
        description="The lowest nonce unmined for so long, while blocks are made, is offered more",
    )
    payout_dwell: timedelta = Field(
        timedelta(hours=2),
        description="A payment unmined for so long is cancelled in its slot, and given up",
    )
    gas_payments_min: int = Field(
        50,
        description="With gas for fewer payments, at the highest fee, a signer is to be topped up",
    )
    loss_budget_usd: int = Field(
        1000,
        description="Of what was paid for, reorgs of a network may take so much; beyond it nothing "
        "is paid for what comes from there until an operator has looked",
    )
    loss_budgets_usd: dict[str, int] = Field(
        {}, description="The same of single networks, by name: JSON"
    )
    loss_span: timedelta = Field(timedelta(days=1), description="A loss counts for so long")
    loss_interval: timedelta = Field(
        timedelta(seconds=1), description="How often losses are compared with their budgets"
    )
    invariant_queries: Path | None = Field(
        None,
        description="The queries of the invariants, for operators: deploy/postgres/invariants/"
        "queries.sql. Without it /admin/invariants answers 404",
    )
    invariants_interval: timedelta = Field(
        timedelta(minutes=15),
        ge=timedelta(0),
        description="How often one settler checks the invariants for the metrics, where their "
        "queries are named; 0 never does",
    )
    second_operator_above_usd: int = Field(
        10_000,
        ge=0,
        description="Above so much, a second operator approves what pays claimables and partners' "
        "fees, raises caps, or lifts stops (then everything counts that may leave there)",
    )
    failover_is_lossless: bool = Field(
        default=False,
        description="Standbys have every commit before it is acknowledged: another timeline of "
        "the database alone is no restore, and only the signers' nonces are compared",
    )
    new_treasuries: frozenset[str] = Field(
        default=frozenset(),
        description="Networks with a Treasury that has not made the payments of the past, and may "
        "be used all the same: JSON",
    )
    lane_poll_interval: timedelta = Field(
        timedelta(milliseconds=500), description="How late a lane is when a wake got lost"
    )
    lane_upkeep_interval: timedelta = Field(
        timedelta(seconds=2), description="How often a lane looks after what it has sent"
    )
    signer_report_interval: timedelta = Field(
        timedelta(seconds=5), description="How often halted signers are counted for the metrics"
    )


class SettlerSettings(SharedSettings):
    settler: SettlerGroup  # SWAP_SETTLER__DATABASE_URL, …
