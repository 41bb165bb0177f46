"""What the log and the metrics say about who may operate the contracts."""

from __future__ import annotations

from collections.abc import Sequence

import structlog

from swap_chains.evm.check_roles import UnknownOperator
from swap_runtime.metrics import gauge

# Alert: any. Each may pay from the Treasury within its outflow limits.
UNKNOWN_OPERATORS = gauge(
    "settler_unknown_operators", "Operators of contracts that are no signers", ["network"]
)
log = structlog.get_logger()


def unknown_operators(network: str, unknown: Sequence[UnknownOperator]) -> None:
    UNKNOWN_OPERATORS.labels(network).set(len(unknown))
    for one in unknown:
        log.error(
            "an operator of a contract is no signer of the catalogue",
            network=network,
            contract=one.contract,
            operator=one.operator,
        )
