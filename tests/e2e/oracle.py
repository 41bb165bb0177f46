"""An independent check of the money: the sums of the chains compared with those of the ledger.

It shares no code with the services. It sums, per swap, the inflow and outflow of the Treasury. The
sources are the logs of every block, and sent transactions where there is no log. Then it reads the
same sums from the ledger.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, LiteralString
from uuid import UUID

import psycopg
from eth_abi.abi import decode, encode
from eth_account import Account
from eth_account.messages import encode_defunct
from eth_utils.address import to_checksum_address
from eth_utils.crypto import keccak
from web3 import AsyncHTTPProvider, AsyncWeb3
from web3.types import LogReceipt

from tests.e2e.chains import Chain
from tests.e2e.intents import Asset, claim_of, fee_payments, intent_of

NATIVE = "0x0000000000000000000000000000000000000000"
DEPOSITED = keccak(text="Deposited(bytes32,address,address,uint256)")
PAID = keccak(text="Paid(uint256,address,address,uint256)")
RECEIVED = keccak(text="NativeReceived(address,uint256,bytes)")
TRANSFER = keccak(text="Transfer(address,address,uint256)")
SWEPT = keccak(text="Swept(bytes32,address,address,uint256)")
ADDRESS_OF = keccak(text="addressOf(bytes32)")[:4]
TRANSFER_CALL = keccak(text="transfer(address,uint256)")[:4]
IS_VALID_SIGNATURE = keccak(text="isValidSignature(bytes32,bytes)")[:4]
LARGEST_NUMBER = 2**53 - 1

SWAPS: LiteralString = """
SELECT id, sequence_number, source_network, source_token, destination_network, destination_token,
       ARRAY(SELECT id FROM settler.deposit WHERE swap_id = swap.id)
FROM settler.swap
"""
# Deposits without a swap; an operator may have paid them to their owner.
UNMATCHED: LiteralString = """
SELECT id, network, token FROM settler.deposit WHERE swap_id IS NULL
"""
# Transfers without a memo that were attached to a swap, by a signature or by an operator.
ATTACHED: LiteralString = """
SELECT swap_id, network, token, base_units, transaction_hash, attached_by, attached_because
FROM settler.deposit WHERE attached_at IS NOT NULL
"""
WITH_ADDRESS: LiteralString = """
SELECT source_network, sequence_number FROM settler.swap WHERE method = 'deposit_address'
"""
# The ledger's sums of custody gains and losses per swap. A deposit before its swap is booked to
# suspense, and belongs to the swap from the transfer out of suspense.
CUSTODY: LiteralString = """
SELECT entry.swap_id, account.network, account.token,
       entry.kind IN ('payout_final', 'refund_final', 'refuel_final', 'claim_final'),
       sum(posting.base_units)
FROM settler.ledger_transaction AS entry
JOIN settler.posting ON posting.transaction_id = entry.id
JOIN settler.account ON account.id = posting.account_id
WHERE account.kind IN ('custody', 'suspense') AND entry.swap_id IS NOT NULL
GROUP BY 1, 2, 3, 4
"""
# The fees that apps earned with final outputs, and the part that is still owed.
FEES: LiteralString = """
SELECT account.app_id, account.network, account.token,
       sum(-posting.base_units) FILTER (WHERE entry.kind = 'partner_fee_earned'),
       sum(-posting.base_units)
FROM settler.account JOIN settler.posting ON posting.account_id = account.id
JOIN settler.ledger_transaction AS entry ON entry.id = posting.transaction_id
WHERE account.kind = 'partner_fee' GROUP BY 1, 2, 3
"""
HELD: LiteralString = """
SELECT network, token, sum(balance) FROM settler.account
WHERE kind = 'custody' AND holder = 'treasury' GROUP BY 1, 2
"""

Transfer = tuple[Asset, str, str, int]  # transaction, recipient, amount


@dataclass(frozen=True, slots=True)
class Swap:
    """A swap as the ledger identifies it."""

    id: UUID
    number: int
    source: Asset
    destination: Asset
    deposit_ids: Sequence[UUID]


@dataclass
class ChainSums:
    """The sums of the chains."""

    deposited: Counter[tuple[int, Asset]] = field(default_factory=Counter)  # by sequence number
    paid: Counter[tuple[int, Asset]] = field(default_factory=Counter)  # by intent
    payments: Counter[int] = field(default_factory=Counter)  # number of Paid logs of an intent
    came: Counter[Asset] = field(default_factory=Counter)
    sent: Counter[Transfer] = field(default_factory=Counter)
    balances: dict[Asset, int] = field(default_factory=dict)


async def differences(stack: Mapping[str, Any]) -> list[str]:
    """Return every difference between the chains and the ledger; empty if all is correct."""
    seen = ChainSums()
    async with await psycopg.AsyncConnection.connect(
        stack["postgres"]["auditor_url"], autocommit=True
    ) as connection:
        numbers = await (await connection.execute(WITH_ADDRESS)).fetchall()
        for network in stack["networks"]:
            own = [number for name, number in numbers if name == network["name"]]
            await _read(network, seen, own)
        swaps = await _swaps(connection)
        attached = await (await connection.execute(ATTACHED)).fetchall()
        await _take_attached(stack, seen, swaps, attached)
        unmatched = await (await connection.execute(UNMATCHED)).fetchall()
        booked = await (await connection.execute(CUSTODY)).fetchall()
        fees = await (await connection.execute(FEES)).fetchall()
        held = await (await connection.execute(HELD)).fetchall()
    gained, left = _booked_sums(booked)
    return [
        *_of_swaps(seen, swaps, gained, left),
        *_of_fees(seen, fees),
        *_of_no_swap(seen, swaps, unmatched, fees),
        *_of_treasuries(seen, {(network, token): int(sum_) for network, token, sum_ in held}),
    ]


async def _swaps(connection: psycopg.AsyncConnection[Any]) -> Sequence[Swap]:
    rows = await (await connection.execute(SWAPS)).fetchall()
    return [
        Swap(id, number, (source, token_in), (destination, token_out), deposit_ids)
        for id, number, source, token_in, destination, token_out, deposit_ids in rows
    ]


async def payments_of(stack: Mapping[str, Any], *swap_ids: str) -> list[int]:
    """Return the number of Paid logs on the chains for the payout of each swap."""
    seen = ChainSums()
    for network in stack["networks"]:
        await _read(network, seen)
    return [seen.payments[intent_of(UUID(swap_id))] for swap_id in swap_ids]


def _intents_of(swap: Swap) -> Iterator[tuple[int, ...]]:
    """Return the intents that may pay each leg of a swap; at most one of them does, once."""
    for id in swap.deposit_ids:
        returned = intent_of(swap.id, b"refund", str(id).encode())
        yield returned, claim_of(swap.id, id, swap.source)
    main = intent_of(swap.id), intent_of(swap.id, b"refund")
    yield *main, claim_of(swap.id, "main", swap.source)
    yield (intent_of(swap.id, b"refuel"),)
    # An output or a refuel that could not be paid on the other network.
    for asset in {swap.destination, (swap.destination[0], NATIVE)}:
        yield (claim_of(swap.id, "main", asset),)


async def _read(
    network: Mapping[str, Any], seen: ChainSums, with_address: Sequence[int] = ()
) -> None:
    provider = AsyncHTTPProvider(network["rpc_urls"][0], exception_retry_configuration=None)
    chain = AsyncWeb3(provider)
    try:
        # Logs and balances are read at one block while the chain is stopped. A development chain is
        # slow to
        # return the state of an older block.
        async with Chain(network["rpc_urls"][0]).stop_mining():
            await _read_all(chain, network, seen, with_address)
    finally:
        await provider.disconnect()


async def _read_all(
    chain: AsyncWeb3[AsyncHTTPProvider],
    network: Mapping[str, Any],
    seen: ChainSums,
    with_address: Sequence[int],
) -> None:
    treasury = to_checksum_address(network["contracts"]["treasury"])
    depository = to_checksum_address(network["contracts"]["depository"])
    tokens = [to_checksum_address(t["contract"]) for t in network["tokens"] if t["contract"]]
    head = await chain.eth.block_number
    logs = await chain.eth.get_logs(
        {"fromBlock": 0, "toBlock": head, "address": [treasury, depository, *tokens]}
    )
    for log in logs:
        _take(network["name"], treasury, log, seen)
    await _take_memos(chain, network["name"], treasury, logs, seen)
    if with_address:
        await _take_addresses(chain, network, with_address, logs=logs, head=head, seen=seen)
    native = network["name"], NATIVE
    seen.balances[native] = await chain.eth.get_balance(treasury, head)
    for token in tokens:
        data = keccak(text="balanceOf(address)")[:4] + bytes(12) + bytes.fromhex(treasury[2:])
        answer = await chain.eth.call({"to": token, "data": data}, head)
        seen.balances[network["name"], token] = int.from_bytes(answer, "big")


def _take(network: str, treasury: str, log: LogReceipt, seen: ChainSums) -> None:
    topics, data = [bytes(topic) for topic in log["topics"]], bytes(log["data"])
    match topics[0]:
        case kind if kind == DEPOSITED:
            [amount] = decode(["uint256"], data)
            asset = network, _address(topics[2])
            seen.deposited[int.from_bytes(topics[1], "big"), asset] += amount
        case kind if kind == PAID:
            [amount] = decode(["uint256"], data)
            asset, intent = (network, _address(topics[2])), int.from_bytes(topics[1], "big")
            seen.paid[intent, asset] += amount
            seen.payments[intent] += 1
        case kind if kind == RECEIVED:
            amount, memo = decode(["uint256", "bytes"], data)
            seen.sent[_transfer(network, NATIVE, log, amount)] += 1
            seen.came[network, NATIVE] += amount
            if (number := _number_in(memo)) is not None:
                seen.deposited[number, (network, NATIVE)] += amount
        case kind if kind == TRANSFER and _address(topics[2]) == treasury:
            [amount] = decode(["uint256"], data)
            seen.came[network, log["address"]] += amount
            seen.sent[_transfer(network, log["address"], log, amount)] += 1


def _transfer(network: str, token: str, log: LogReceipt, amount: int) -> Transfer:
    sender = _address(bytes(log["topics"][1]))
    return (network, token), log["transactionHash"].to_0x_hex(), sender, amount


async def _take_attached(
    stack: Mapping[str, Any],
    seen: ChainSums,
    swaps: Iterable[Swap],
    attached: Iterable[tuple[Any, ...]],
) -> None:
    """Add transfers without a memo that are on a chain, once each, if attachment is proved."""
    numbers = {swap.id: swap.number for swap in swaps}
    nodes = {network["name"]: network["rpc_urls"][0] for network in stack["networks"]}
    for swap_id, network, token, units, sent_in, by, because in attached:
        asset, amount = (network, token), int(units)
        transfers = [s for s in +seen.sent if (s[0], s[1], s[3]) == (asset, sent_in, amount)]
        if by.startswith("0x"):
            statement, text = because.split(" over: ", 1)
            is_meant = all(one in text for one in (str(swap_id), network, sent_in, str(amount)))
            is_meant = is_meant and await _has_signed(nodes[network], by, statement, text)
            transfers = [s for s in transfers if s[2] == by and is_meant]
        if transfers:
            seen.sent[transfers[0]] -= 1
            seen.deposited[numbers[swap_id], asset] += amount


async def _has_signed(node: str, signer: str, statement: str, text: str) -> bool:
    """Return whether a key signed a text, or the code at an address accepts the signature."""
    words, _, signature = statement.rpartition(" ")
    if not words:
        recovered = Account.recover_message(encode_defunct(text=text), signature=signature)
        return bool(recovered == signer)
    data = text.encode()
    digest = keccak(b"\x19Ethereum Signed Message:\n" + str(len(data)).encode() + data)
    arguments = encode(["bytes32", "bytes"], [digest, bytes.fromhex(signature[2:])])
    provider = AsyncHTTPProvider(node, exception_retry_configuration=None)
    try:
        answer = await AsyncWeb3(provider).eth.call(
            {"to": to_checksum_address(signer), "data": IS_VALID_SIGNATURE + arguments}
        )
    finally:
        await provider.disconnect()
    return answer[:4] == IS_VALID_SIGNATURE


async def _take_addresses(
    chain: AsyncWeb3[AsyncHTTPProvider],
    network: Mapping[str, Any],
    numbers: Sequence[int],
    *,
    logs: Sequence[LogReceipt],
    head: int,
    seen: ChainSums,
) -> None:
    """Add deposits to addresses: tokens by their logs, coins by balances and sweeps."""
    factory = to_checksum_address(network["contracts"]["deposit_address_factory"])
    number_of: dict[str, int] = {}
    for number in numbers:
        question = {"to": factory, "data": ADDRESS_OF + number.to_bytes(32)}
        answer = await chain.eth.call(question, head)  # type: ignore[arg-type]
        number_of[_address(answer)] = number
    for log in logs:
        topics = [bytes(topic) for topic in log["topics"]]
        if topics[0] == TRANSFER and (to := _address(topics[2])) in number_of:
            asset = network["name"], log["address"]
            seen.deposited[number_of[to], asset] += int.from_bytes(log["data"])
    coin = network["name"], NATIVE
    for address, number in number_of.items():
        seen.deposited[number, coin] += await chain.eth.get_balance(
            to_checksum_address(address), head
        )
    swept = await chain.eth.get_logs({"fromBlock": 0, "toBlock": head, "address": factory})
    for log in swept:
        topics = [bytes(topic) for topic in log["topics"]]
        if topics[0] == SWEPT and _address(topics[2]) == NATIVE:
            seen.deposited[int.from_bytes(topics[1]), coin] += int.from_bytes(log["data"])


async def _take_memos(
    chain: AsyncWeb3[AsyncHTTPProvider],
    network: str,
    treasury: str,
    logs: Sequence[LogReceipt],
    seen: ChainSums,
) -> None:
    """Add tokens with a memo after the call data of their transfer."""
    came: Counter[tuple[bytes, str, int]] = Counter()
    for log in logs:
        topics = [bytes(topic) for topic in log["topics"]]
        if topics[0] == TRANSFER and _address(topics[2]) == treasury:
            came[bytes(log["transactionHash"]), log["address"], int.from_bytes(log["data"])] += 1
        elif topics[0] == DEPOSITED:
            token, amount = _address(topics[2]), int.from_bytes(log["data"])
            came[bytes(log["transactionHash"]), token, amount] -= 1
    of_amount: Counter[tuple[bytes, int]] = Counter()
    for (sent, _, amount), count in (+came).items():
        of_amount[sent, amount] += count
    for sent, token, amount in +came:
        if of_amount[sent, amount] > 1:
            continue
        transaction = await chain.eth.get_transaction(sent)  # type: ignore[arg-type]
        call = TRANSFER_CALL + bytes(12) + bytes.fromhex(treasury[2:]) + amount.to_bytes(32)
        before, *behind = bytes(transaction["input"]).split(call)
        is_another_call = bool(before) and transaction["to"] == token
        number = _number_in(behind[0][:32]) if len(behind) == 1 else None
        if number is not None and not is_another_call:
            seen.deposited[number, (network, token)] += amount


def _number_in(memo: bytes) -> int | None:
    """Return the sequence number in a memo of the interface's form."""
    number = int.from_bytes(memo[4:])
    is_whole = len(memo) == 32 and memo.startswith(b"SWAP")
    return number if is_whole and 1 <= number <= LARGEST_NUMBER else None


def _address(topic: bytes) -> str:
    return to_checksum_address(topic[-20:])


def _booked_sums(
    rows: Iterable[tuple[Any, ...]],
) -> tuple[Mapping[UUID, Counter[Asset]], Mapping[UUID, Counter[Asset]]]:
    gained: dict[UUID, Counter[Asset]] = defaultdict(Counter)
    left: dict[UUID, Counter[Asset]] = defaultdict(Counter)
    for swap_id, network, token, is_payout, sum_ in rows:
        if is_payout:
            left[swap_id][network, token] -= int(sum_)
        else:
            gained[swap_id][network, token] += int(sum_)
    return gained, left


def _of_swaps(
    seen: ChainSums,
    swaps: Iterable[Swap],
    gained: Mapping[UUID, Counter[Asset]],
    left: Mapping[UUID, Counter[Asset]],
) -> Iterable[str]:
    nothing: Counter[Asset] = Counter()
    for swap in swaps:
        # A deposit with its number on another network or in another token is not the swap's.
        on_chain = +Counter({swap.source: seen.deposited[swap.number, swap.source]})
        if on_chain != +gained.get(swap.id, nothing):
            yield f"{swap.id}: {on_chain} came, the ledger says {gained.get(swap.id)}"
        legs = list(_intents_of(swap))
        paid: Counter[Asset] = Counter()
        for intent in (intent for leg in legs for intent in leg):
            paid += _under(seen.paid, intent)
        if paid != +left.get(swap.id, nothing):
            yield f"{swap.id}: {paid} left, the ledger says {left.get(swap.id)}"
        if any(sum(seen.payments[intent] for intent in leg) > 1 for leg in legs):
            yield f"{swap.id}: a leg was paid more than once"


def _of_fees(seen: ChainSums, fees: Iterable[tuple[Any, ...]]) -> Iterable[str]:
    for app_id, network, token, earned, owed in fees:
        paid = fee_payments(seen.paid, app_id, (network, token))
        if sum(paid.values()) != int(earned) - int(owed):
            yield f"{app_id} was paid {paid} of {earned} {token}, the ledger still owes {owed}"
        yield from (f"fee {i} was paid more than once" for i in paid if seen.payments[i] > 1)


def _of_no_swap(
    seen: ChainSums,
    swaps: Iterable[Swap],
    unmatched: Iterable[tuple[Any, ...]],
    fees: Iterable[tuple[Any, ...]],
) -> Iterable[str]:
    known = {intent for swap in swaps for leg in _intents_of(swap) for intent in leg}
    for app_id, network, token, *_ in fees:
        known |= fee_payments(seen.paid, app_id, (network, token)).keys()
    claims = {claim_of(id, id, (network, token)) for id, network, token in unmatched}
    for intent in seen.payments.keys() - known - claims:
        yield f"payment {intent} is no swap's"
    yield from (f"claim {i} was paid more than once" for i in claims if seen.payments[i] > 1)


def _of_treasuries(seen: ChainSums, held: Mapping[Asset, int]) -> Iterable[str]:
    went: Counter[Asset] = Counter()
    for (_, asset), amount in seen.paid.items():
        went[asset] += amount
    for asset, balance in seen.balances.items():
        if seen.came[asset] - went[asset] != balance:
            yield f"{asset}: the Treasury has {balance}, its logs say otherwise"
        if held.get(asset, 0) != balance:
            yield f"{asset}: the Treasury has {balance}, the ledger {held.get(asset, 0)}"


def _under(sums: Mapping[tuple[int, Asset], int], key: int) -> Counter[Asset]:
    return Counter({asset: amount for (about, asset), amount in sums.items() if about == key})
