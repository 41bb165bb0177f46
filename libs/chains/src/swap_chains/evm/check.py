"""The startup check: is the chain what the configuration says?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from swap_chains.errors import ChainError, ChainMismatch, ChainUnavailable, WrongChain
from swap_chains.evm import codec
from swap_chains.evm.rpc import Node, NodeUnreachable, Request, Rpc


async def check_chain(
    rpc: Rpc,
    *,
    chain_id: int,
    depository: str | None,
    treasury: str,
    decimals: Mapping[str, int],
    operator: str | None = None,
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


async def check_chain_id(rpc: Rpc, chain_id: int) -> None:
    """Ask every node for its chain.

    :raises WrongChain: when a node serves another one.
    :raises ChainUnavailable: when no node answers.
    """
    failures: list[str] = []
    for node in rpc.nodes:
        try:
            actual = codec.from_quantity(await node.call("eth_chainId"))
        except (ChainError, ValueError) as error:
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
    questions = [
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
    answers = await node.batch([_view(to, data) for _, to, data, _ in questions])
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


def _view(to: str, data: bytes) -> Request:
    return Request("eth_call", ({"to": to, "data": "0x" + data.hex()}, "latest"))


def _word(answer: Any) -> int | None:
    try:
        return codec.decode_uint(codec.from_hex(answer))
    except ValueError:
        return None
