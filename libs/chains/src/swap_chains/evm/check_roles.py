"""The part of the startup check that reads the owners and roles of the contracts."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Final

from swap_chains.errors import ChainMismatch
from swap_chains.evm import codec
from swap_chains.evm.rpc import Node, Rpc, view_request

OWNER: Final = codec.selector("owner()")
PENDING_OWNER: Final = codec.selector("pendingOwner()")
OPERATORS: Final = codec.selector("getOperators()")
RECEIVERS: Final = codec.selector("getWhitelistedAddresses()")
DEPOSITORY: Final = codec.selector("depository()")


@dataclass(frozen=True, slots=True)
class GovernedContract:
    """A contract with a known owner."""

    name: str  # as in a sentence: "Treasury"
    address: str
    owner: str


@dataclass(frozen=True, slots=True)
class ContractRoles:
    """The roles on the contracts of a network, by the catalogue. None: not checked."""

    treasury: GovernedContract | None
    depository: GovernedContract | None
    paymaster: GovernedContract | None
    operators: frozenset[str]  # our signers on this network
    operator: str  # the signer that starts now
    receivers: frozenset[str]  # the whole list of the Depository
    deposits_through: str | None  # the Depository that the Paymaster must use


@dataclass(frozen=True, slots=True)
class UnknownOperator:
    """An account that may pay or deposit on our behalf, and is no signer of the catalogue."""

    contract: str
    operator: str


async def check_roles(rpc: Rpc, roles: ContractRoles) -> Sequence[UnknownOperator]:
    """Compare owners, operators and receivers with the catalogue.

    Another operator is returned, not refused: a key is added on the chain before it is configured.

    :raises ChainMismatch: with every finding.
    :raises ChainUnavailable: when no node answers.
    """
    findings, unknown = await rpc.on_one_node(lambda node: _read(node, roles))
    if findings:
        raise ChainMismatch(rpc.network, findings)
    return unknown


async def _read(node: Node, roles: ContractRoles) -> tuple[list[str], list[UnknownOperator]]:
    findings: list[str] = []
    unknown: list[UnknownOperator] = []
    operated = [one for one in (roles.treasury, roles.paymaster) if one is not None]
    owned = [*operated, roles.depository] if roles.depository is not None else operated
    for contract in owned:
        findings += await _of_owner(node, contract)
    for contract in operated:
        operators = await _addresses(node, contract, OPERATORS, findings)
        if roles.operator not in operators:
            findings.append(f"{roles.operator} is no operator of {_contract_name(contract)}")
        unknown_operators = sorted(operators - roles.operators)
        unknown += [UnknownOperator(contract.name, operator) for operator in unknown_operators]
    if roles.depository is not None:
        listed = await _addresses(node, roles.depository, RECEIVERS, findings)
        findings += _of_receivers(roles.depository, listed, roles.receivers)
    if roles.paymaster is not None:
        findings += await _of_depository(node, roles.paymaster, roles.deposits_through)
    return findings, unknown


async def _of_depository(
    node: Node, paymaster: GovernedContract, expected: str | None
) -> list[str]:
    [through] = await _words(node, paymaster, DEPOSITORY)
    if through == expected:
        return []
    return [f"{_contract_name(paymaster)} deposits through {through}, expected {expected}"]


async def _of_owner(node: Node, contract: GovernedContract) -> list[str]:
    owner, pending = await _words(node, contract, OWNER, PENDING_OWNER)
    findings = []
    if owner != contract.owner:
        findings.append(
            f"{_contract_name(contract)} is owned by {owner}, expected {contract.owner}"
        )
    if pending != codec.ZERO_ADDRESS:
        findings.append(
            f"{_contract_name(contract)} has the pending owner {pending}, expected none"
        )
    return findings


def _of_receivers(
    contract: GovernedContract, listed: Collection[str], expected: Collection[str]
) -> list[str]:
    missing = [
        f"{_contract_name(contract)} does not list {one}" for one in sorted({*expected} - {*listed})
    ]
    more = [
        f"{_contract_name(contract)} lists {one}, which the catalogue does not name as a receiver"
        for one in sorted({*listed} - {*expected})
    ]
    return missing + more


async def _words(node: Node, contract: GovernedContract, *calls: bytes) -> list[str | None]:
    """Return the address that each view returns; None for a view that the contract has not."""
    answers = await node.batch([view_request(contract.address, call) for call in calls])
    return [_address(answer) for answer in answers]


async def _addresses(
    node: Node, contract: GovernedContract, call: bytes, findings: list[str]
) -> frozenset[str]:
    [answer] = await node.batch([view_request(contract.address, call)])
    try:
        return frozenset(codec.decode_addresses(codec.from_hex(answer)))
    except ValueError:
        findings.append(f"{_contract_name(contract)} does not return its operators or receivers")
        return frozenset()


def _address(answer: Any) -> str | None:
    try:
        return codec.decode_address(codec.from_hex(answer))
    except ValueError:
        return None


def _contract_name(contract: GovernedContract) -> str:
    return f"the {contract.name} {contract.address}"
