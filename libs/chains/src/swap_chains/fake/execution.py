"""What calls do on the fake chain: native money, tokens, our contracts, wallets."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from swap_chains.evm import codec
from swap_chains.evm.codec import ZERO_ADDRESS, Payment
from swap_chains.evm.deposit_addresses import SWEEP, deposit_address
from swap_chains.evm.wallet_calls import SAFE_EXECUTE
from swap_chains.ports import Call

NOT_OPERATOR: Final = codec.selector("NotOperator(address)")
ALREADY_PAID: Final = codec.selector("AlreadyPaid(uint256)")
PAYMENT_FAILED: Final = codec.selector("PaymentFailed(uint256,address,address,uint256)")
NOT_WHITELISTED: Final = codec.selector("NotWhitelisted()")
ZERO_AMOUNT: Final = codec.selector("ZeroAmount()")
PERMIT_NOT_USED: Final = codec.selector("PermitNotUsed(address,address,uint256)")
OUTFLOW_EXCEEDED: Final = codec.selector("OutflowLimitExceeded(address,uint256,uint256)")
UNLIMITED: Final = 2**256 - 1
ENFORCED_PAUSE: Final = codec.selector("EnforcedPause()")
EXECUTE: Final = codec.selector("execute(bytes)")
SWEEP_FAILED: Final = codec.selector("SweepFailed(bytes32,address,uint256)")
INIT_CODE_HASH: Final = "0x" + codec.keccak(b"deposit address").hex()

_GAS_OF_A_CALL: Final = 21_000
_GAS_OF_A_LOG: Final = 30_000


class ExecutionReverted(Exception):
    """A contract of the fake chain reverted."""

    def __init__(self, data: bytes = b"") -> None:
        super().__init__(data.hex())
        self.data = data


@dataclass(frozen=True, slots=True)
class EmittedLog:
    """A log before it has a place."""

    address: str
    topics: tuple[str, ...]
    data: str


@dataclass(frozen=True, slots=True)
class Contracts:
    """Which addresses are contracts. Checksummed."""

    depository: str
    treasury: str
    decimals: Mapping[str, int]  # by token
    wallets: frozenset[str] = frozenset()  # as evm/src/dev/DevWallet.sol
    factory: str | None = None  # of deposit addresses, by INIT_CODE_HASH
    paymaster: str | None = None

    @property
    def addresses(self) -> frozenset[str]:
        tokens = frozenset(self.decimals) - {ZERO_ADDRESS}
        ours = {self.depository, self.treasury} | ({self.paymaster} if self.paymaster else set())
        return tokens | self.wallets | ours


@dataclass(slots=True)
class World:
    """The state after a block."""

    balances: dict[tuple[str, str], int] = field(default_factory=dict)  # by account and token
    nonces: dict[str, int] = field(default_factory=dict)
    paid: set[int] = field(default_factory=set)
    operators: set[str] = field(default_factory=set)
    owners: set[str] = field(default_factory=set)  # of the Treasury
    refusing: set[str] = field(default_factory=set)  # recipients that revert
    relayed: set[bytes] = field(default_factory=set)  # what the Paymaster deposited for
    invalid_signers: set[str] = field(
        default_factory=set
    )  # signers with signatures that no token accepts
    outdated: set[str] = field(default_factory=set)  # signers with permits that have an old nonce
    is_paused: bool = False
    outflows: dict[str, tuple[int, int]] = field(default_factory=dict)  # capacity, available

    def copy(self) -> World:
        return replace(
            self,
            balances=dict(self.balances),
            nonces=dict(self.nonces),
            paid=set(self.paid),
            operators=set(self.operators),
            owners=set(self.owners),
            refusing=set(self.refusing),
            relayed=set(self.relayed),
            invalid_signers=set(self.invalid_signers),
            outdated=set(self.outdated),
            outflows=dict(self.outflows),
        )

    def move(self, token: str, from_address: str, to_address: str, base_units: int) -> None:
        held = self.balances.get((from_address, token), 0)
        if held < base_units or to_address in self.refusing:
            raise ExecutionReverted()
        self.balances[from_address, token] = held - base_units
        self.balances[to_address, token] = self.balances.get((to_address, token), 0) + base_units


@dataclass(frozen=True, slots=True)
class ExecutionResult:
    succeeded: bool
    data: bytes
    logs: tuple[EmittedLog, ...]
    world: World

    @property
    def gas_used(self) -> int:
        return _GAS_OF_A_CALL + _GAS_OF_A_LOG * len(self.logs)


def execute(contracts: Contracts, world: World, sender: str, call: Call) -> ExecutionResult:
    """Try a call. A revert leaves the world as it was."""
    run = _Run(contracts, world.copy(), sender)
    try:
        returned = run.call(call)
    except ExecutionReverted as revert:
        return ExecutionResult(succeeded=False, data=revert.data, logs=(), world=world)
    return ExecutionResult(succeeded=True, data=returned, logs=tuple(run.logs), world=run.world)


class _Run:
    def __init__(self, contracts: Contracts, world: World, sender: str) -> None:
        self._contracts = contracts
        self._sender = sender
        self.world = world
        self.logs: list[EmittedLog] = []

    def call(self, call: Call) -> bytes:
        function = call.data[:4]
        words = [call.data[n : n + 32] for n in range(4, len(call.data), 32)]
        if call.to in self._contracts.decimals:
            return self._token(call.to, function, words)
        if call.to == self._contracts.depository:
            return self._depository(function, words, call.value)
        if call.to == self._contracts.treasury:
            return self._treasury(call, function, words)
        if call.to == self._contracts.factory and function == SWEEP:
            for n in range(2, len(words), 2):
                self._sweep(call.to, words[n], _address(words[n + 1]))
            return b""
        if call.to == self._contracts.paymaster:
            return self._relay(words)
        self.world.move(ZERO_ADDRESS, self._sender, call.to, call.value)
        if call.to in self._contracts.wallets and function in _WALLET_FORMS:
            self._execute(call.to, _WALLET_FORMS[function](call.data[4:]))
        return b""

    def _execute(self, wallet: str, calls: Iterable[Call]) -> None:
        sender, self._sender = self._sender, wallet
        for call in calls:
            self.call(call)
        self._sender = sender

    def _token(self, token: str, function: bytes, words: Sequence[bytes]) -> bytes:
        if function == codec.ERC20_TRANSFER:
            self._move_token(token, self._sender, _address(words[0]), _uint(words[1]))
        elif function == codec.BALANCE_OF:
            return codec.uint_word(self.world.balances.get((_address(words[0]), token), 0))
        elif function == codec.DECIMALS:
            return codec.uint_word(self._contracts.decimals[token])
        elif function != codec.APPROVE:  # allowances are not kept: every pull is allowed
            raise ExecutionReverted()
        return codec.uint_word(1)

    def _move_token(self, token: str, from_address: str, to_address: str, amount: int) -> None:
        self.world.move(token, from_address, to_address, amount)
        topics = (codec.TRANSFER, *map(codec.address_topic, (from_address, to_address)))
        self._emit(token, topics, codec.uint_word(amount))

    def _depository(self, function: bytes, words: Sequence[bytes], value: int) -> bytes:
        if function == codec.IS_WHITELISTED:
            return codec.uint_word(_address(words[0]) == self._contracts.treasury)
        if function == codec.DEPOSIT_NATIVE:
            receiver, token, amount = _address(words[1]), ZERO_ADDRESS, value
            self._check_deposit(receiver, amount)
            self.world.move(token, self._sender, receiver, amount)
            self._receive_native(self._contracts.depository, amount, b"")
        elif function == codec.DEPOSIT_ERC20:
            token, receiver = _address(words[1]), _address(words[2])
            amount = _uint(words[3])
            self._check_deposit(receiver, amount)
            self._move_token(token, self._sender, receiver, amount)
        else:
            raise ExecutionReverted()
        addresses = map(codec.address_topic, (token, receiver))
        topics = (codec.DEPOSITED, "0x" + words[0].hex(), *addresses)
        self._emit(self._contracts.depository, topics, codec.uint_word(amount))
        return b""

    def _relay(self, words: Sequence[bytes]) -> bytes:
        """Deposit for who signed: all entry points begin with the same deposit."""
        key, token, receiver, signer = words[0], *map(_address, words[1:4])
        if self._sender not in self.world.operators:
            raise ExecutionReverted(NOT_OPERATOR + codec.address_word(self._sender))
        if self.world.is_paused:
            raise ExecutionReverted(ENFORCED_PAUSE)
        if signer in self.world.outdated:
            raise ExecutionReverted(PERMIT_NOT_USED)
        if signer in self.world.invalid_signers or key in self.world.relayed:
            raise ExecutionReverted()
        self.world.relayed.add(key)
        amount = _uint(words[4])
        self._move_token(token, signer, self._contracts.paymaster or "", amount)
        operator, self._sender = self._sender, self._contracts.paymaster or ""
        deposit = [key, *map(codec.address_word, (token, receiver)), words[4]]
        returned = self._depository(codec.DEPOSIT_ERC20, deposit, 0)
        self._sender = operator
        return returned

    def _check_deposit(self, receiver: str, amount: int) -> None:
        if receiver != self._contracts.treasury:
            raise ExecutionReverted(NOT_WHITELISTED)
        if amount == 0:
            raise ExecutionReverted(ZERO_AMOUNT)

    def _treasury(self, call: Call, function: bytes, words: Sequence[bytes]) -> bytes:
        views: Mapping[bytes, Callable[[], bool]] = {
            codec.IS_PAID: lambda: _uint(words[0]) in self.world.paid,
            codec.IS_OPERATOR: lambda: _address(words[0]) in self.world.operators,
        }
        if function in views:
            return codec.uint_word(views[function]())
        if function in (codec.OUTFLOW_LIMIT, codec.OUTFLOW_AVAILABLE):
            limits = self.world.outflows.get(_address(words[0]), (UNLIMITED, UNLIMITED))
            return codec.uint_word(limits[function == codec.OUTFLOW_AVAILABLE]) + bytes(32)
        if function == codec.PAY:
            self._pay([_payment(words)])
        elif function == codec.PAY_BATCH:
            self._pay([_payment(words[n : n + 4]) for n in range(2, len(words), 4)])
        elif function == codec.WITHDRAW:
            self._withdraw(_address(words[0]), _address(words[1]), _uint(words[2]))
        elif call.value or not call.data:
            self.world.move(ZERO_ADDRESS, self._sender, call.to, call.value)
            self._receive_native(self._sender, call.value, call.data)
        else:
            raise ExecutionReverted()
        return b""

    def _withdraw(self, token: str, to_address: str, amount: int) -> None:
        if self._sender not in self.world.owners:
            raise ExecutionReverted()
        treasury = self._contracts.treasury
        topics = (codec.WITHDRAWN, *map(codec.address_topic, (token, to_address)))
        self._emit(treasury, topics, codec.uint_word(amount))
        if token == ZERO_ADDRESS:
            self.world.move(token, treasury, to_address, amount)
        else:
            self._move_token(token, treasury, to_address, amount)

    def _sweep(self, factory: str, salt: bytes, token: str) -> None:
        address = deposit_address(factory, INIT_CODE_HASH, _uint(salt))
        amount = self.world.balances.get((address, token), 0)
        if not amount:
            return
        treasury = self._contracts.treasury
        if address in self.world.refusing:
            raise ExecutionReverted(SWEEP_FAILED + salt + codec.address_word(token) + bytes(32))
        if token == ZERO_ADDRESS:
            self.world.move(token, address, treasury, amount)
            self._receive_native(address, amount, b"")
        else:
            self._move_token(token, address, treasury, amount)
        addresses = map(codec.address_topic, (token, address))
        topics = (codec.SWEPT, "0x" + salt.hex(), *addresses)
        self._emit(factory, topics, codec.uint_word(amount))

    def _receive_native(self, from_address: str, amount: int, memo: bytes) -> None:
        padding = bytes(-len(memo) % 32)
        data = b"".join(map(codec.uint_word, (amount, 64, len(memo)))) + memo + padding
        topics = (codec.NATIVE_RECEIVED, codec.address_topic(from_address))
        self._emit(self._contracts.treasury, topics, data)

    def _pay(self, payments: Sequence[Payment]) -> None:
        if self._sender not in self.world.operators:
            raise ExecutionReverted(NOT_OPERATOR + codec.address_word(self._sender))
        if self.world.is_paused:
            raise ExecutionReverted(ENFORCED_PAUSE)
        for payment in payments:
            if payment.intent_id in self.world.paid:
                raise ExecutionReverted(ALREADY_PAID + codec.uint_word(payment.intent_id))
            self.world.paid.add(payment.intent_id)
        for token in {payment.token for payment in payments}:
            self._charge(token, sum(p.base_units for p in payments if p.token == token))
        for payment in payments:
            self._pay_one(payment)

    def _charge(self, token: str, outflow: int) -> None:
        capacity, available = self.world.outflows.get(token, (UNLIMITED, UNLIMITED))
        if outflow > available:
            words = (codec.address_word(token), *map(codec.uint_word, (outflow, available)))
            raise ExecutionReverted(OUTFLOW_EXCEEDED + b"".join(words))
        if capacity != UNLIMITED:
            self.world.outflows[token] = capacity, available - outflow

    def _pay_one(self, payment: Payment) -> None:
        treasury = self._contracts.treasury
        addresses = (payment.token, payment.to_address)
        topics = (
            codec.PAID,
            f"0x{payment.intent_id:064x}",
            *map(codec.address_topic, addresses),
        )
        self._emit(treasury, topics, codec.uint_word(payment.base_units))
        try:
            if payment.token == ZERO_ADDRESS:
                self.world.move(ZERO_ADDRESS, treasury, payment.to_address, payment.base_units)
            else:
                self._move_token(payment.token, treasury, payment.to_address, payment.base_units)
        except ExecutionReverted:
            raise ExecutionReverted(PAYMENT_FAILED + payment.words()) from None

    def _emit(self, address: str, topics: tuple[str, ...], data: bytes) -> None:
        self.logs.append(EmittedLog(address.lower(), topics, "0x" + data.hex()))


def _safe_calls(arguments: bytes) -> Iterator[Call]:
    """Read the order of a Safe: one call, or by delegatecall a MultiSend's list of calls."""
    to_address, value, _, operation = (arguments[n : n + 32] for n in range(0, 128, 32))
    data = _bytes_at(arguments, 2)
    if not _uint(operation):
        yield Call(_address(to_address), _uint(value), data, 0)
        return
    packed = _bytes_at(data[4:], 0)
    while packed:
        yield from _unpack_calls(packed[1 : 85 + _uint(packed[53:85])])
        packed = packed[85 + _uint(packed[53:85]) :]


_WALLET_FORMS: Final[Mapping[bytes, Callable[[bytes], Iterator[Call]]]] = {
    EXECUTE: lambda arguments: _unpack_calls(_bytes_at(arguments, 0)),
    SAFE_EXECUTE: _safe_calls,
}


def _bytes_at(arguments: bytes, nth: int) -> bytes:
    start = _uint(arguments[nth * 32 : (nth + 1) * 32]) + 32
    return arguments[start : start + _uint(arguments[start - 32 : start])]


def _unpack_calls(packed: bytes) -> Iterator[Call]:
    """Read a wallet's calls: address, value, length of the data, data; one behind the other."""
    while packed:
        end = 84 + _uint(packed[52:84])
        yield Call(_address(packed[:20]), _uint(packed[20:52]), packed[84:end], 0)
        packed = packed[end:]


def _address(word: bytes) -> str:
    return codec.checksum_address("0x" + word[-20:].hex())


def _uint(word: bytes) -> int:
    return int.from_bytes(word, "big")


def _payment(words: Sequence[bytes]) -> Payment:
    intent, token, to_address, amount = words[:4]
    return Payment(_uint(intent), _address(token), _address(to_address), _uint(amount))
