"""The startup check: does the chain match the configuration?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from swap_chains.errors import (
    ChainError,
    ChainMismatch,
    ChainUnavailable,
    NodeUnreachable,
    WrongChain,
)
from swap_chains.evm import codec
from swap_chains.evm.deposit_addresses import (
    INIT_CODE_HASH,
    TREASURY,
    deposit_address,
    encode_address_of,
)
from swap_chains.evm.rpc import Node, Request, Rpc, view_request

# Code that computes these two like the factory computes all of them like it.
PROBES: Final = (1, codec.SEQUENCE_NUMBER_MAX)
Question = tuple[str, str, bytes, int]  # what is wrong otherwise; the contract, the call, the word


@dataclass(frozen=True, slots=True)
class Derivation:
    """How a configuration computes deposit addresses."""

    factory: str
    init_code_hash: str
    treasury: str


async def check_derivation(rpc: Rpc, derivation: Derivation) -> None:
    """Compare our deposit addresses with those that the factory itself computes.

    :raises ChainMismatch: when they differ, or go to another Treasury.
    :raises ChainUnavailable: when no node answers.
    """

    async def read(node: Node) -> list[str]:
        missing = await _without_code(node, [derivation.factory])
        return missing or await _wrong(node, _of_derivation(derivation))

    findings = await rpc.on_one_node(read)
    if findings:
        raise ChainMismatch(rpc.network, findings)


async def check_chain(
    rpc: Rpc,
    *,
    chain_id: int,
    depository: str | None,
    treasury: str,
    decimals: Mapping[str, int],
    operator: str | None = None,
    derivation: Derivation | None = None,
) -> None:
    """Compare a network with its configuration; `decimals` names each token's contract.

    Every node must serve the right chain; nodes that are down are passed over, unless all are.

    :raises WrongChain: when a node serves another chain.
    :raises ChainMismatch: with every finding about contracts, tokens and permissions.
    :raises ChainUnavailable: when no node answers.
    """
    await check_chain_id(rpc, chain_id)
    tokens = {t: d for t, d in decimals.items() if t != codec.ZERO_ADDRESS}
    findings = await rpc.on_one_node(
        lambda node: _findings(node, depository, treasury, tokens, operator)
    )
    if findings:
        raise ChainMismatch(rpc.network, findings)
    if derivation is not None:
        await check_derivation(rpc, derivation)


async def check_chain_id(rpc: Rpc, chain_id: int) -> None:
    """Ask every node for its chain.

    :raises WrongChain: when a node serves another one.
    :raises ChainUnavailable: when no node answers.
    """
    failures: list[str] = []
    for node in rpc.nodes:
        try:
            actual = await node.chain_id()
        except ChainError as error:
            failures.append(str(error))
            continue
        if actual != chain_id:
            raise WrongChain(rpc.network, node.label, chain_id, actual)
    if len(failures) == len(rpc.nodes):
        raise ChainUnavailable(rpc.network, failures)


async def _findings(
    node: Node,
    depository: str | None,
    treasury: str,
    decimals: Mapping[str, int],
    operator: str | None,
) -> list[str]:
    contracts = [treasury, *decimals] if depository is None else [depository, treasury, *decimals]
    findings = await _without_code(node, contracts)
    if findings:
        return findings
    questions: list[Question] = [
        (f"{token} does not have {expected} decimals", token, codec.encode_decimals(), expected)
        for token, expected in decimals.items()
    ]
    if depository is not None:
        lists = codec.encode_is_whitelisted(treasury)
        finding = f"the Depository does not list the Treasury {treasury}"
        questions.append((finding, depository, lists, True))
    if operator is not None:
        question = codec.encode_is_operator(operator)
        questions.append((f"{operator} is no operator", treasury, question, True))
    return await _wrong(node, questions)


def _of_derivation(derivation: Derivation) -> list[Question]:
    factory, init_code_hash = derivation.factory, derivation.init_code_hash
    treasury = int(derivation.treasury, 16)
    questions = [
        (f"the factory {factory} sweeps to another Treasury", factory, TREASURY, treasury),
        (f"the init code of {factory} differs", factory, INIT_CODE_HASH, int(init_code_hash, 16)),
    ]
    for number in PROBES:
        address = deposit_address(factory, init_code_hash, number)
        finding = f"the factory {factory} has the deposit address of {number} not at {address}"
        questions.append((finding, factory, encode_address_of(number), int(address, 16)))
    return questions


async def _wrong(node: Node, questions: list[Question]) -> list[str]:
    answers = await node.batch([view_request(to, data) for _, to, data, _ in questions])
    return [
        finding
        for (finding, _, _, expected), answer in zip(questions, answers, strict=True)
        if _word(answer) != expected
    ]


async def _without_code(node: Node, addresses: list[str]) -> list[str]:
    answers = await node.batch([Request("eth_getCode", (a, "latest")) for a in addresses])
    if any(not isinstance(answer, str) for answer in answers):
        raise NodeUnreachable(node.label, "it does not tell code")
    return [
        f"no contract at {address}"
        for address, code in zip(addresses, answers, strict=True)
        if code in ("", "0x")
    ]


def _word(answer: Any) -> int | None:
    try:
        return codec.decode_uint(codec.from_hex(answer))
    except ValueError:
        return None
