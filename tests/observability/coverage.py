"""Which alerts the tests cause on a running stack, which not and why, and queries without data.

`deploy/monitoring/tests/unit/test_live_coverage.py` compares these lists with the rules: an alert
that fires within two minutes is in one of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

CAUSED: Final = frozenset(
    {
        "AddressCoinsMissing",
        "ContractOperatorUnknown",
        "DepositLostAfterPayout",
        "LossBudgetSpent",
        "MessagesParked",
        "MessagesUnverified",
        "MovementMissed",
        "NetworkHalted",
        "NodesContradict",
        "OutboxMessageTooLarge",
        "RecoveryOpen",
        "ReorgDeep",
        "ServiceRestarts",
        "SignerGasEmpty",
        "SignerHalted",
        "SignerHoldsLess",
        "SignerNonceUnexplained",
        "SignerNonceUsedExternally",
        "WebhookSecretUnreadable",
    }
)
# They fire later than a test waits. They are caused, must become pending, and must then end.
PENDING: Final = frozenset(
    {"ConsumerSilent", "HeadStopped", "OutboxOld", "ServiceMissing", "WebhooksFail"}
)
# Each has a case for promtool, as every alert has.
NOT_CAUSED: Final[Mapping[str, str]] = {
    "ContractOwnerUnnamed": "the settler compares owners in live deployments only",
    "ContractsDiffer": "contracts are compared every five minutes; test_start_check.py shows it",
    "ReceiptsContradict": "needs a payment that failed in a final block and a node that hides it",
}
# Queries of dashboards without data on a healthy stack, by the metric or label in them.
WITHOUT_DATA: Final[Mapping[str, str]] = {
    "swap_watch_deposits_unverified": "set where a second provider verifies; there is one provider",
    "swap_watch_deposits_withheld": "has a series while deposits are withheld",
    "swap_watch_one_provider_cap_base_units": "caps exist in live deployments only",
}
# Counters of a part that this stack does not use.
OPTIONAL_COUNTERS: Final[Mapping[str, str]] = {
    "swap_screening_total": "no screening service is configured",
    "swap_spans_dropped_total": "no collector of traces is configured",
}
