"""The calls that a wallet's owner signed, decoded from a transaction to a known kind of wallet.

Only arguments that the wallet hashes before it checks a signature are read, at the places where the
wallet itself reads them. Padding, further bytes, gaps and the signatures are never looked at: the
carrier of a signed order can change those.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import Final

from swap_chains.evm.codec import WORD, selector

CALLS_MAX: Final = 256
_CALL, _DELEGATECALL = 0, 1
_SELECTOR_BYTES: Final = 4
_ADDRESS_MASK: Final = 2**160 - 1
_PACKED_ENTRY_MIN: Final = 85
# ERC-7579: the first byte of a mode, and the bytes behind the first two. ERC-7821 has its own.
_SINGLE, _BATCH = 0, 1
_PACKED_CALL_MIN: Final = 52
_PLAIN_MODES: Final = frozenset({bytes(30), bytes.fromhex("0000000078210001") + bytes(22)})

# One address on every network: no other code can come to stand there. Versions 0.6 to 0.9.
ENTRY_POINTS: Final = frozenset(
    {
        "0x5ff137d4b0fdcd49dca30c7cf57e578a026d2789",
        "0x0000000071727de22e5e9d8baf0edac6f37da032",
        "0x4337084d9e255ff0702461cf8895ce9e3b5ff108",
        "0x433709009b8330fda32311df1c2afa402ed8d009",
    }
)
# MultiSend and MultiSendCallOnly 1.3.0 (canonical, eip155), 1.4.1 and 1.5.0. A Safe may delegate
# to any code; only of these is it known that their argument is the list of the calls they make.
MULTI_SENDS: Final = frozenset(
    {
        "0xa238cbeb142c10ef7ad8442c6d1f9e89e07e7761",
        "0x998739bfdaadde7c933b942a68053933098f9eda",
        "0x38869bf66a61cf6bdb996a6ae40d5853fd43b526",
        "0x218543288004cd07832472d464648173c77d7eb7",
        "0x40a2accbd92bca938b02010e17a5b8929b49130d",
        "0xa1dabef33b3b82c7814b6d82a79e50f4ac44102b",
        "0x9641d764fc13c8b624c04430c7356c1c7c8102e2",
        "0xa83c336b20401af773b6219ba5027174338d1836",
    }
)
SAFE_EXECUTE: Final = selector(
    "execTransaction(address,uint256,bytes,uint8,uint256,uint256,uint256,address,address,bytes)"
)
MULTI_SEND: Final = selector("multiSend(bytes)")
# Both forms of an operation begin alike: sender, nonce, initCode, callData.
_HANDLE_OPS: Final = frozenset(
    {
        selector(
            "handleOps((address,uint256,bytes,bytes,"
            "uint256,uint256,uint256,uint256,uint256,bytes,bytes)[],address)"
        ),
        selector(
            "handleOps((address,uint256,bytes,bytes,bytes32,uint256,bytes32,bytes,bytes)[],address)"
        ),
    }
)


@dataclass(frozen=True, slots=True)
class Transaction:
    """The outermost call of a transaction; `to_address` is None where it creates a contract."""

    from_address: str
    to_address: str | None
    value: int
    data: bytes


@dataclass(frozen=True, slots=True)
class SignedCall:
    """A call that a wallet's owner signed. The address is in lower case."""

    to_address: str
    value: int
    data: memoryview
    is_outermost: bool = False  # the whole transaction, which wallets may have added bytes to


def signed_calls(transaction: Transaction, owner: str) -> list[SignedCall]:
    """Return the calls that the owner is proven to have signed; none where anything is unclear.

    :param owner: the owner of the moved value, in lower case.
    """
    try:
        calls = list(islice(_signed_calls(transaction, owner), CALLS_MAX + 1))
    except ValueError:
        return []
    return calls if len(calls) <= CALLS_MAX else []


def coins_sent(transaction: Transaction, to_address: str) -> dict[str, int]:
    """Return, by their owner, the coins that signed calls of a transaction send to an address.

    Whether a call succeeded is not known here: of a wallet, it may fail alone.

    :param to_address: in lower case.
    """
    sent: dict[str, int] = {}
    for owner in _owners(transaction):
        for call in signed_calls(transaction, owner):
            if call.to_address == to_address and call.value:
                sent[owner] = sent.get(owner, 0) + call.value
    return sent


def _owners(transaction: Transaction) -> frozenset[str]:
    """Return, in lower case, who may have signed calls of a transaction."""
    called = (transaction.to_address or "").lower()
    owners = {transaction.from_address.lower(), called}
    data = memoryview(transaction.data)
    if called in ENTRY_POINTS and data[:_SELECTOR_BYTES] in _HANDLE_OPS:
        with suppress(ValueError):
            operations = _Arguments.behind_selector(data).structs(0)
            owners.update(operation.address(0) for operation in islice(operations, CALLS_MAX))
    return frozenset(owners - {""})


def _signed_calls(transaction: Transaction, owner: str) -> Iterator[SignedCall]:
    to_address = (transaction.to_address or "").lower()
    data = memoryview(transaction.data)
    is_sender = transaction.from_address.lower() == owner
    if to_address in ENTRY_POINTS:
        for call_data in _operations(data, owner):
            yield from _account_calls(call_data)
    elif to_address != owner:
        if is_sender and to_address:
            yield SignedCall(to_address, transaction.value, data, is_outermost=True)
    elif is_sender:  # an account with delegated code (EIP-7702) that calls itself
        yield from _account_calls(data)
    elif data[:_SELECTOR_BYTES] == SAFE_EXECUTE:
        yield from _safe_calls(_Arguments.behind_selector(data))


def _operations(data: memoryview, sender: str) -> Iterator[memoryview]:
    """Yield the callData of a sender's user operations in a bundle."""
    if data[:_SELECTOR_BYTES] not in _HANDLE_OPS:
        return
    for operation in _Arguments.behind_selector(data).structs(0):
        if operation.address(0) == sender:
            yield operation.bytes(3)


def _account_calls(data: memoryview) -> Iterator[SignedCall]:
    decode = _ACCOUNT_FORMS.get(bytes(data[:_SELECTOR_BYTES]))
    if decode is not None:
        yield from decode(_Arguments.behind_selector(data))


def _safe_calls(arguments: _Arguments) -> Iterator[SignedCall]:
    """Decode `(to, value, data, operation, …)` of a Safe."""
    match arguments.number(3):
        case operation if operation == _CALL:
            yield from _one_call(arguments)
        case operation if operation == _DELEGATECALL:
            data = arguments.bytes(2)
            if arguments.address(0) in MULTI_SENDS and data[:_SELECTOR_BYTES] == MULTI_SEND:
                yield from _packed_calls(_Arguments.behind_selector(data).bytes(0))


def _packed_calls(packed: memoryview) -> Iterator[SignedCall]:
    """Decode MultiSend's list: operation (1 byte), to (20), value (32), length (32), data."""
    while packed:
        if len(packed) < _PACKED_ENTRY_MIN:
            raise ValueError("a cut off entry")
        end = _PACKED_ENTRY_MIN + int.from_bytes(packed[53:_PACKED_ENTRY_MIN])
        if end > len(packed):
            raise ValueError("an entry beyond the end")
        if packed[0] == _CALL:
            to_address = "0x" + packed[1:21].hex()
            yield SignedCall(
                to_address, int.from_bytes(packed[21:53]), packed[_PACKED_ENTRY_MIN:end]
            )
        packed = packed[end:]


def _one_call(arguments: _Arguments) -> Iterator[SignedCall]:
    """Decode `(to, value, data)`."""
    yield SignedCall(arguments.address(0), arguments.number(1), arguments.bytes(2))


def _call_list(arguments: _Arguments) -> Iterator[SignedCall]:
    """Decode `(to, value, data)[]`."""
    for struct in arguments.structs(0):
        yield from _one_call(struct)


def _parallel_lists(arguments: _Arguments) -> Iterator[SignedCall]:
    """Decode `(to[], value[], data[])`; an empty list of values means that each is zero."""
    targets, values = list(arguments.words(0)), list(arguments.words(1))
    yield from _zip_calls(targets, values or [0] * len(targets), arguments.byte_strings(2))


def _lists_without_value(arguments: _Arguments) -> Iterator[SignedCall]:
    """Decode `(to[], data[])`."""
    targets = list(arguments.words(0))
    yield from _zip_calls(targets, [0] * len(targets), arguments.byte_strings(1))


def _zip_calls(
    targets: list[int], values: list[int], data: Iterator[memoryview]
) -> Iterator[SignedCall]:
    for target, value, words in zip(targets, values, data, strict=True):
        yield SignedCall(_address(target), value, words)


def _mode_and_calls(arguments: _Arguments) -> Iterator[SignedCall]:
    """Decode `(mode, executionCalldata)` of ERC-7579: one packed call, or a list of calls.

    A delegatecall, a static call and modes with a special meaning are not decoded.
    """
    mode, execution = arguments.number(0).to_bytes(WORD), arguments.bytes(1)
    if mode[2:] in _PLAIN_MODES and mode[0] == _BATCH:
        yield from _call_list(_Arguments(execution))
    elif not any(mode[2:]) and mode[0] == _SINGLE:
        if len(execution) < _PACKED_CALL_MIN:
            raise ValueError("a cut off call")
        to_address, value = execution[:20].hex(), int.from_bytes(execution[20:_PACKED_CALL_MIN])
        yield SignedCall("0x" + to_address, value, execution[_PACKED_CALL_MIN:])


# What an account is called with: by an EntryPoint, or by itself where it delegates its code.
_ACCOUNT_FORMS: Final[Mapping[bytes, Callable[[_Arguments], Iterator[SignedCall]]]] = {
    selector("execute(address,uint256,bytes)"): _one_call,
    selector("execute_ncC(address,uint256,bytes)"): _one_call,
    selector("execute(address,uint256,bytes,uint8)"): _safe_calls,
    selector("executeUserOp(address,uint256,bytes,uint8)"): _safe_calls,
    selector("executeUserOpWithErrorString(address,uint256,bytes,uint8)"): _safe_calls,
    selector("execute(bytes32,bytes)"): _mode_and_calls,
    selector("executeBatch((address,uint256,bytes)[])"): _call_list,
    selector("executeBatch(address[],uint256[],bytes[])"): _parallel_lists,
    selector("executeBatch(address[],bytes[])"): _lists_without_value,
}


def _address(word: int) -> str:
    return f"0x{word & _ADDRESS_MASK:040x}"


class _Arguments:
    """ABI arguments, read where Solidity's decoder reads them."""

    def __init__(self, data: memoryview) -> None:
        self._data = data

    @classmethod
    def behind_selector(cls, data: memoryview) -> _Arguments:
        return cls(data[_SELECTOR_BYTES:])

    def number(self, nth: int) -> int:
        word = self._data[nth * WORD : (nth + 1) * WORD]
        if len(word) != WORD:
            raise ValueError(f"no word {nth}")
        return int.from_bytes(word)

    def address(self, nth: int) -> str:
        return _address(self.number(nth))

    def bytes(self, nth: int) -> memoryview:
        tail = self._tail(nth)
        length = tail.number(0)
        data = tail._data[WORD : WORD + length]
        if len(data) != length:
            raise ValueError("bytes beyond the end")
        return data

    def structs(self, nth: int) -> Iterator[_Arguments]:
        """Yield the elements of an array of dynamic structs."""
        length, elements = self._array(nth)
        for place in range(length):
            yield elements._tail(place)

    def byte_strings(self, nth: int) -> Iterator[memoryview]:
        length, elements = self._array(nth)
        for place in range(length):
            yield elements.bytes(place)

    def words(self, nth: int) -> Iterator[int]:
        length, elements = self._array(nth)
        for place in range(length):
            yield elements.number(place)

    def _array(self, nth: int) -> tuple[int, _Arguments]:
        tail = self._tail(nth)
        return tail.number(0), _Arguments(tail._data[WORD:])

    def _tail(self, nth: int) -> _Arguments:
        return _Arguments(self._data[self.number(nth) :])
