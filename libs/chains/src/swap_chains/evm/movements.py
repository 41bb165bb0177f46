"""From logs to movements: the queries, the checks of the answers, and the claims."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Container, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import Any, Final

from swap_chains.errors import InconsistentAnswer
from swap_chains.events import (
    Deposited,
    LogId,
    Movement,
    NativeReceived,
    Paid,
    Swept,
    TokenTransfer,
    Withdrawn,
)
from swap_chains.evm import codec
from swap_chains.evm.rpc import Request

_NO_TRANSACTION: Final = "0x" + "0" * 64
_TRANSFER_TOPICS: Final = 3
_OF_THE_TREASURY: Final = (codec.NATIVE_RECEIVED, codec.PAID, codec.WITHDRAWN)
# Nodes take about a thousand alternatives of one topic. Beyond, all transfers of the tokens are
# queried and filtered here, so that a block's cost does not grow with the addresses.
_FILTER_RECEIVERS_MAX: Final = 900


@dataclass(frozen=True, slots=True)
class Receivers:
    """The receivers that count, in lower case: the Treasury, and addresses that may be added."""

    treasury: str
    watched: AbstractSet[str]

    def __contains__(self, address: object) -> bool:
        return address == self.treasury or address in self.watched


@dataclass(frozen=True, slots=True)
class LogScope:
    """The contracts of one network with logs that count, all in lower case. Nothing else does."""

    depository: str
    treasury: str
    tokens: frozenset[str]
    # Deposit addresses, in lower case; the owner adds to it while it is followed.
    watched: AbstractSet[str]
    factory: str | None = None  # of the deposit addresses
    has_blooms: bool = False  # the network's headers have true ones

    @classmethod
    def of(
        cls,
        depository: str,
        treasury: str,
        tokens: Collection[str],
        watched: AbstractSet[str],
        factory: str | None = None,
        *,
        has_blooms: bool = False,
    ) -> LogScope:
        return cls(
            depository=depository.lower(),
            treasury=treasury.lower(),
            tokens=frozenset(t.lower() for t in tokens) - {codec.ZERO_ADDRESS},
            watched=watched,
            factory=factory and factory.lower(),
            has_blooms=has_blooms,
        )

    def log_requests(self, place: Mapping[str, str]) -> list[Request]:
        """Ask for the logs of our contracts, and for the tokens' transfers to our addresses."""
        addresses = [self.depository, self.treasury]
        topics = [codec.DEPOSITED, *_OF_THE_TREASURY]
        if self.factory is not None:
            addresses.append(self.factory)
            topics.append(codec.SWEPT)
        own = {**place, "address": addresses, "topics": [topics]}
        requests = [Request("eth_getLogs", (own,))]
        if self.tokens:
            requests.append(self.transfers(place, [self.treasury, *self.watched]))
        return requests

    def transfers(self, place: Mapping[str, str], to: Collection[str]) -> Request:
        """Ask for the followed tokens' transfers to these addresses; for all, if they are many."""
        topics: list[Any] = [[codec.TRANSFER]]
        if len(to) <= _FILTER_RECEIVERS_MAX:
            topics += [None, sorted({codec.address_topic(a) for a in to})]
        wanted = {**place, "address": sorted(self.tokens), "topics": topics}
        return Request("eth_getLogs", (wanted,))

    def includes(self, log: Log, receivers: Container[str]) -> bool:
        """Whether a log matches the query: a node's filter is not trusted."""
        topic = log.topics[0] if log.topics else ""
        if log.address in self.tokens and topic == codec.TRANSFER:
            return len(log.topics) == _TRANSFER_TOPICS and "0x" + log.topics[2][-40:] in receivers
        if log.address == self.depository:
            return topic == codec.DEPOSITED
        if log.address == self.factory:
            return topic == codec.SWEPT
        return log.address == self.treasury and topic in _OF_THE_TREASURY

    def receivers(self) -> Receivers:
        return Receivers(self.treasury, self.watched)


@dataclass(frozen=True, slots=True)
class Log:
    """A log as a node sent it, hex in lower case."""

    address: str
    topics: tuple[str, ...]
    data: str
    block_number: int
    block_hash: str
    transaction_hash: str
    index: int


def to_logs(node: str, answer: Any) -> list[Log]:
    """Read one answer of logs.

    :raises InconsistentAnswer: when it is none, or names a log of a block that is gone.
    """
    if isinstance(answer, Exception):
        raise answer
    if not isinstance(answer, list):
        raise InconsistentAnswer(node, "no logs")
    try:
        logs = [_to_log(raw) for raw in answer]
    except (KeyError, ValueError, AttributeError, TypeError) as error:
        raise InconsistentAnswer(node, f"a broken log: {error!r}") from error
    if any(raw.get("removed") for raw in answer):
        raise InconsistentAnswer(node, "a removed log")
    if any(log.transaction_hash == _NO_TRANSACTION for log in logs):
        raise InconsistentAnswer(node, "a log without a transaction")
    return logs


def _to_log(raw: Mapping[str, Any]) -> Log:
    return Log(
        address=raw["address"].lower(),
        topics=tuple(codec.from_word(topic) for topic in raw["topics"]),
        data=raw["data"].lower(),
        block_number=codec.from_quantity(raw["blockNumber"]),
        block_hash=codec.from_word(raw["blockHash"]),
        transaction_hash=codec.from_word(raw["transactionHash"]),
        index=codec.from_quantity(raw["logIndex"]),
    )


def in_log_order(node: str, logs: Iterable[Log]) -> list[Log]:
    """Sort one block's logs.

    :raises InconsistentAnswer: when two stand in one place, which would count a movement twice.
    """
    ordered = sorted(logs, key=lambda log: log.index)
    if len({log.index for log in ordered}) != len(ordered):
        raise InconsistentAnswer(node, "two logs of one index")
    return ordered


def deposit_transactions(logs: Iterable[Log]) -> list[str]:
    """List the transactions with a required sender: logs do not contain it."""
    return list({log.transaction_hash: None for log in logs if log.topics[0] == codec.DEPOSITED})


def to_movements(
    node: str, scope: LogScope, logs: Sequence[Log], senders: Mapping[str, str]
) -> tuple[Movement, ...]:
    """Turn one block's logs, in order, into its movements.

    :raises InconsistentAnswer: when a log is not of its event's form, or its deposit is missing.
    """
    nths: Counter[tuple[str, str]] = Counter()
    movements: list[Movement] = []
    for log in logs:
        try:
            fingerprint = codec.log_fingerprint(log.address, log.topics, log.data)
            key = (log.transaction_hash, fingerprint)
            log_id = LogId(log.transaction_hash, fingerprint, nths[key])
            nths[key] += 1
            movements.append(_decode(log, log_id, senders))
        except (ValueError, IndexError, KeyError) as error:
            raise InconsistentAnswer(node, f"a broken log: {error!r}") from error
    return _with_claims(node, scope, movements)


def _decode(log: Log, log_id: LogId, senders: Mapping[str, str]) -> Movement:
    topics, data = log.topics, log.data
    match topics[0]:
        case codec.DEPOSITED:
            return Deposited(
                id=log_id,
                swap_key=topics[1],
                token=codec.topic_address(topics[2]),
                receiver=codec.topic_address(topics[3]),
                base_units=codec.data_uint(data, 0),
                from_address=senders[log.transaction_hash],
            )
        case codec.TRANSFER:
            return TokenTransfer(
                id=log_id,
                token=codec.checksum_address(log.address),
                from_address=codec.topic_address(topics[1]),
                to_address=codec.topic_address(topics[2]),
                base_units=codec.data_uint(data, 0),
                memo=b"",
                claimed_by=None,
            )
        case codec.NATIVE_RECEIVED:
            return NativeReceived(
                id=log_id,
                from_address=codec.topic_address(topics[1]),
                to_address=codec.checksum_address(log.address),
                base_units=codec.data_uint(data, 0),
                memo=codec.data_bytes(data, 1),
                claimed_by=None,
            )
        case codec.SWEPT:
            return Swept(
                id=log_id,
                salt=topics[1],
                token=codec.topic_address(topics[2]),
                from_address=codec.topic_address(topics[3]),
                base_units=codec.data_uint(data, 0),
            )
        case codec.PAID:
            return Paid(
                id=log_id,
                intent_id=codec.topic_uint(topics[1]),
                token=codec.topic_address(topics[2]),
                to_address=codec.topic_address(topics[3]),
                base_units=codec.data_uint(data, 0),
            )
        case codec.WITHDRAWN:
            return Withdrawn(
                id=log_id,
                token=codec.topic_address(topics[1]),
                to_address=codec.topic_address(topics[2]),
                base_units=codec.data_uint(data, 0),
            )
        case other:
            raise ValueError(f"topic {other}")


def _with_claims(node: str, scope: LogScope, movements: Sequence[Movement]) -> tuple[Movement, ...]:
    """Let each log of the Depository and of the factory claim what it caused.

    They cannot be re-entered and emit last, so what one caused stands between its previous log of
    the transaction and this one. The nearest receipts of that token at that receiver are claimed
    until they add up to the amount. A token may move one deposit in two logs. Those of a sweep are
    from its deposit address, which makes no other payments.
    """
    claimed = list(movements)
    open_receipts: defaultdict[str, list[int]] = defaultdict(list)
    for place, movement in enumerate(movements):
        if isinstance(movement, TokenTransfer | NativeReceived):
            open_receipts[movement.id.transaction_hash].append(place)
        elif isinstance(movement, Deposited):
            _claim(claimed, movement, open_receipts.pop(movement.id.transaction_hash, []))
        elif isinstance(movement, Swept):
            _claim_sweep(claimed, movement, open_receipts[movement.id.transaction_hash])
    for movement in claimed:
        if (
            isinstance(movement, NativeReceived)
            and movement.claimed_by is None
            and movement.from_address.lower() == scope.depository
        ):
            raise InconsistentAnswer(node, "the Depository paid without its own log")
    return tuple(claimed)


def _claim(movements: list[Movement], deposit: Deposited, places: Sequence[int]) -> None:
    missing = deposit.base_units
    for place in reversed(places):
        receipt = movements[place]
        if missing <= 0 or not isinstance(receipt, TokenTransfer | NativeReceived):
            return
        token = receipt.token if isinstance(receipt, TokenTransfer) else codec.ZERO_ADDRESS
        if (token, receipt.to_address) == (deposit.token, deposit.receiver):
            movements[place] = replace(receipt, claimed_by=deposit.id)
            missing -= receipt.base_units


def _claim_sweep(movements: list[Movement], swept: Swept, places: Sequence[int]) -> None:
    for place in places:
        receipt = movements[place]
        if not isinstance(receipt, TokenTransfer | NativeReceived):
            return
        token = receipt.token if isinstance(receipt, TokenTransfer) else codec.ZERO_ADDRESS
        if (token, receipt.from_address) == (swept.token, swept.from_address):
            movements[place] = replace(receipt, claimed_by=receipt.claimed_by or swept.id)
