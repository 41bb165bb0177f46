"""A node's responses: their size limit, and the classification of errors."""

from __future__ import annotations

from typing import Any, Final

import aiohttp
import orjson

from swap_chains.errors import CallReverted, InconsistentAnswer, NodeRefused, NodeUnreachable

# Twice what a block's gas can buy of logs in one transaction, or of transfers of our tokens on the
# busiest networks. Nodes themselves answer a batch with no more than 25 to 32 MiB.
ANSWER_BYTES_MAX: Final = 64 * 1024 * 1024
# The shortest answer there is has 38 bytes to its one object. Of emptier ones each is worth thirty
# times its bytes in memory.
BYTES_PER_OBJECT_MIN: Final = 16
OBJECTS_FREE: Final = 64

_REVERT_CODE: Final = 3
# Codes that nodes use for a revert without data, and for much else.
_GENERIC_CODES: Final = frozenset({-32000, -32015})
# Codes of EIP-1474 about the node, not about the query: internal error, unavailable, limit.
_BUSY_CODES: Final = frozenset({-32603, -32002, -32005, 429})


class MessageTooLarge(NodeUnreachable):
    """The answer is larger than any legitimate one, or the node reports that the query is too
    large.
    """


class BatchRefused(NodeRefused):
    """The node refuses many questions at once with one error. It may take fewer of them."""


async def read(node: str, response: aiohttp.ClientResponse) -> bytes:
    """Read a body as it is after decompression, piece by piece.

    :raises MessageTooLarge: as soon as it is longer than any legitimate one.
    """
    parts: list[bytes] = []
    size = 0
    while part := await response.content.readany():
        size += len(part)
        if size > ANSWER_BYTES_MAX:
            raise MessageTooLarge(node, f"more than {ANSWER_BYTES_MAX} bytes")
        parts.append(part)
    return b"".join(parts)


def parse(node: str, answer: bytes) -> Any:
    """
    :raises NodeUnreachable: when it is no JSON, or nothing but brackets.
    """
    objects = answer.count(b"{") + answer.count(b"[")
    if objects > OBJECTS_FREE + len(answer) // BYTES_PER_OBJECT_MIN:
        raise NodeUnreachable(node, f"{objects} objects in {len(answer)} bytes")
    try:
        return orjson.loads(answer)
    except orjson.JSONDecodeError as error:
        raise NodeUnreachable(node, "the answer is no JSON") from error


def in_order(node: str, answers: Any, first: int, count: int) -> list[Any]:
    """Return each question's result, or refusal, in the order of the ids that begin at `first`.

    :raises BatchRefused: when one error is the answer to many questions.
    :raises InconsistentAnswer: when these are not the answers to these questions.
    """
    refused = _refusal_of_all(answers, count)
    if refused is not None:
        if count == 1:
            return [_refusal(node, refused)]
        of_all = _refusal(node, refused)
        raise BatchRefused(node, of_all.code, of_all.text)
    if not isinstance(answers, list) or len(answers) != count:
        raise InconsistentAnswer(node, f"not {count} answers to {count} questions")
    by_id = {a["id"]: a for a in answers if isinstance(a, dict) and isinstance(a.get("id"), int)}
    try:
        return [_result(node, by_id[number]) for number in range(first, first + count)]
    except KeyError as error:
        raise InconsistentAnswer(node, "an answer to another question") from error


def _refusal_of_all(answers: Any, count: int) -> dict[str, Any] | None:
    """Return an error that is about all questions.

    Erigon sends it alone or as the only one of a list, Geth as one of a list under the first id.
    """
    if isinstance(answers, list) and len(answers) == 1:
        (answers,) = answers
        if count == 1 and isinstance(answers, dict) and answers.get("id") is not None:
            return None
    error = answers.get("error") if isinstance(answers, dict) else None
    return error if isinstance(error, dict) else None


def _result(node: str, answer: dict[str, Any]) -> Any:
    error = answer.get("error")
    if isinstance(error, dict):
        return _refusal(node, error)
    if "result" not in answer or error is not None:
        raise InconsistentAnswer(node, "neither a result nor an error")
    return answer["result"]


def _refusal(node: str, error: dict[str, Any]) -> NodeRefused:
    code, data = error.get("code"), error.get("data")
    text = str(error.get("message", ""))
    returned = _bytes_or_none(data)
    if returned is None and isinstance(data, str) and data.startswith("revert"):
        text = f"{text} {data}"  # Nethermind reports only there that a call reverted
    return NodeRefused(node, code if isinstance(code, int) else 0, text, returned)


def _bytes_or_none(data: Any) -> bytes | None:
    if not isinstance(data, str):
        return None
    digits = data.removeprefix("Reverted ")  # so Nethermind and OpenEthereum put it
    try:
        return bytes.fromhex(digits[2:]) if digits.startswith("0x") else None
    except ValueError:
        return None


def is_busy(refusal: NodeRefused) -> bool:
    """Whether a refusal reports a failure of the node itself, so that another may answer.

    Some nodes have the same code for a call that used up its gas, which it does everywhere.
    """
    is_out_of_gas = "outofgas" in refusal.text.lower().replace(" ", "")
    return refusal.code in _BUSY_CODES and refusal.data is None and not is_out_of_gas


def is_busy_for_all(refusal: BatchRefused) -> bool:
    """Whether a refusal of a batch is about the node, and not about the size of the batch."""
    return is_busy(refusal) and "batch" not in refusal.text.lower()


def as_revert(refusal: NodeRefused) -> CallReverted | None:
    """Return the revert of a refused call; None for other errors.

    The code or the returned data decide. Words count only together with a code that nodes use
    for reverts without data.
    """
    generic = refusal.code in _GENERIC_CODES and "revert" in refusal.text.lower()
    if refusal.code == _REVERT_CODE or refusal.data is not None or generic:
        return CallReverted(refusal.data or b"", refusal.text)
    return None
