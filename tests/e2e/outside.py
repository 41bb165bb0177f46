"""An outside client: it depends only on var/stack.json and the public specification.

A partner sends HTTP requests with an API key; a user signs and sends exactly a deposit action.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import dataclass, field
from secrets import token_hex
from types import TracebackType
from typing import Any

import httpx
from eth_abi.abi import encode
from eth_account import Account
from eth_typing import HexStr
from eth_utils.abi import function_signature_to_4byte_selector
from eth_utils.address import to_checksum_address
from web3 import AsyncHTTPProvider, AsyncWeb3
from web3.exceptions import ContractLogicError
from web3.types import TxParams, TxReceipt

from tests.support.waiting import until

FINAL = ("completed", "failed", "expired", "refunded")
TIP = 10**9
FOLLOWED_SECONDS = 120.0  # from creation to end, on a stack that may be slow
GAS_TRANSFER = 100_000
GAS_CREATE = 3_000_000
PULLED = 4  # arguments of depositERC20(id, token, receiver, amount)
POLL_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class Route:
    """The route of a swap; the amount is in whole coins or tokens, as users enter it."""

    source_network: str
    source_token: str
    destination_network: str
    destination_token: str
    amount: str

    def back(self, amount: str) -> Route:
        return Route(
            self.destination_network,
            self.destination_token,
            self.source_network,
            self.source_token,
            amount,
        )


class UnexpectedAnswer(AssertionError):
    """The service returned an unexpected error."""


@dataclass(frozen=True, slots=True)
class FinishedSwap:
    """A swap from its creation to its end, as its partner reads it."""

    prepared: Mapping[str, Any]
    recipient: str
    sent: Sequence[str]  # hashes; the last one is the deposit
    seen: Sequence[Mapping[str, Any]]  # every different state of the swap in the answers

    @property
    def id(self) -> str:
        return str(self.prepared["swap"]["id"])

    @property
    def last(self) -> Mapping[str, Any]:
        return self.seen[-1]

    @property
    def status(self) -> str:
        return str(self.last["swap"]["status"])

    @property
    def statuses(self) -> list[str]:
        """Return the statuses in the order of the answers, each change once."""
        statuses = [answer["swap"]["status"] for answer in (self.prepared, *self.seen)]
        return [s for n, s in enumerate(statuses) if n == 0 or statuses[n - 1] != s]

    def transaction(self, kind: str) -> Mapping[str, Any]:
        [found] = [t for t in self.last["swap"]["transactions"] if t["type"] == kind]
        return dict(found)


class Partner:
    """One API key against one gateway."""

    def __init__(self, http: httpx.AsyncClient, api_key: str | None, *, patience: float) -> None:
        self._http = http
        self._headers = {} if api_key is None else {"X-SVC-APIKEY": api_key}
        self._patience = patience

    async def ask(
        self, method: str, path: str, *, headers: Mapping[str, str] | None = None, **options: Any
    ) -> httpx.Response:
        """Send one request and return any answer."""
        sent = {**self._headers, **(headers or {})}
        return await self._http.request(method, f"/api/v2{path}", headers=sent, **options)

    def stream(
        self, method: str, path: str, *, headers: Mapping[str, str]
    ) -> AbstractAsyncContextManager[httpx.Response]:
        """Send one request with a streamed answer."""
        sent = {**self._headers, **headers}
        return self._http.stream(method, f"/api/v2{path}", headers=sent)

    async def get(self, path: str, **query: Any) -> Any:
        """
        :raises UnexpectedAnswer: with the whole answer.
        """
        return await self._data("GET", path, params=query)

    async def create(self, route: Route, recipient: str, **more: object) -> Mapping[str, Any]:
        """Create a swap; by default it is funded through the Depository.

        :raises UnexpectedAnswer: with the whole answer.
        """
        body = {
            "source_network": route.source_network,
            "source_token": route.source_token,
            "destination_network": route.destination_network,
            "destination_token": route.destination_token,
            "destination_address": recipient,
            "amount": route.amount,
            "use_depository": True,
            **more,
        }
        # With a key, a retry creates no second swap.
        headers = {"Idempotency-Key": token_hex()} if self._patience else {}
        created: Mapping[str, Any] = await self._data("POST", "/swaps", json=body, headers=headers)
        return created

    async def read(self, swap_id: str) -> Mapping[str, Any]:
        answer: Mapping[str, Any] = await self.get(f"/swaps/{swap_id}")
        return answer

    async def _data(self, method: str, path: str, **options: Any) -> Any:
        if not self._patience:
            return _data_of(await self.ask(method, path, **options))
        answer = await until(
            lambda: self._try_request(method, path, **options),
            what=f"{method} {path}",
            within=self._patience,
        )
        return _data_of(answer)

    async def _try_request(self, method: str, path: str, **options: Any) -> httpx.Response | None:
        """Return nothing if a client would retry."""
        try:
            answer = await self.ask(method, path, **options)
        except httpx.TransportError:
            return None
        in_progress = "IDEMPOTENCY_KEY_IN_PROGRESS" in answer.text
        is_away = answer.status_code == httpx.codes.SERVICE_UNAVAILABLE
        return None if is_away or in_progress else answer


def _data_of(answer: httpx.Response) -> Any:
    body = answer.json()
    if answer.status_code != httpx.codes.OK or body["error"] is not None:
        raise UnexpectedAnswer(f"{answer.request.method} {answer.request.url}: {answer.text}")
    return body["data"]


@dataclass
class User:
    """One key on one network. Concurrent transactions get consecutive nonces."""

    chain: AsyncWeb3[AsyncHTTPProvider]
    address: str
    private_key: str
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    allowing: asyncio.Lock = field(default_factory=asyncio.Lock)  # held until the allowance is used

    async def fund(self, *actions: Mapping[str, Any], value: int | None = None) -> list[str]:
        """Send the actions, one after the other, exactly as returned.

        :param value: another amount of native coins than that of the last action.
        """
        *first, last = actions
        if last["type"] == "manual_transfer":
            requested = int(last["amount_in_base_units"])
            return await self.transfer(last, requested if value is None else value)
        deposit = as_it_is(last)
        if value is not None:
            deposit["value"] = value  # type: ignore[typeddict-item]
        return await self.send(*(as_it_is(one) for one in first), deposit)

    async def transfer(self, action: Mapping[str, Any], amount: int) -> list[str]:
        """Send an amount of the action's token or coin, as a person who was given the address."""
        to, token = to_checksum_address(action["to_address"]), action["token"]["contract"]
        plain: TxParams = {
            "to": to if token is None else to_checksum_address(token),
            "value": amount if token is None else 0,  # type: ignore[typeddict-item]
            "data": HexStr("0x")
            if token is None
            else call_data("transfer(address,uint256)", to, amount),
            "gas": GAS_TRANSFER,
        }
        return await self.send(plain)

    async def would_succeed(self, action: Mapping[str, Any]) -> bool:
        """Return whether the node estimates that an action does not revert."""
        transaction = as_it_is(action)
        transaction["from"] = to_checksum_address(self.address)
        try:
            await self.chain.eth.call(transaction)
        except ContractLogicError:
            return False
        return True

    async def create(self, code: HexStr) -> TxReceipt:
        """Return the receipt of a new contract."""
        contract: TxParams = {"data": code, "value": 0, "gas": GAS_CREATE}  # type: ignore[typeddict-item]
        [sent] = await self.send(contract)
        return await self.receipt(sent)

    async def receipt(self, sent: str) -> TxReceipt:
        """Return the receipt of a transaction, after it was mined and succeeded."""
        receipt = await self.chain.eth.wait_for_transaction_receipt(HexStr(sent))
        assert receipt["status"] == 1, receipt
        return receipt

    async def send(self, *transactions: TxParams) -> list[str]:
        """Return the hashes of transactions that the node accepted."""
        async with self.turn:
            raw = await self.sign(*transactions)
            sent = [await self.chain.eth.send_raw_transaction(one) for one in raw]
        return [one.to_0x_hex() for one in sent]

    async def sign(self, *transactions: TxParams) -> list[bytes]:
        """Return the bytes of transactions with the next nonces."""
        eth = self.chain.eth
        address = to_checksum_address(self.address)
        nonce = await eth.get_transaction_count(address, "pending")
        common = {
            "type": 2,
            "chainId": await eth.chain_id,
            "maxFeePerGas": 2 * await eth.gas_price + TIP,
            "maxPriorityFeePerGas": TIP,
        }
        return [
            bytes(
                Account.sign_transaction(
                    {**common, **transaction, "nonce": nonce + n}, self.private_key
                ).raw_transaction
            )
            for n, transaction in enumerate(transactions)
        ]


class Outside:
    """Partners and users of one stack, while the context is open.

    :param patience: seconds of retries of a request while the service is down. Without it every
        failure is raised.
    """

    def __init__(self, stack: Mapping[str, Any], *, patience: float = 0) -> None:
        self._stack = stack
        self._patience = patience
        self._open = AsyncExitStack()
        self._chains: dict[str, AsyncWeb3[AsyncHTTPProvider]] = {}
        self._users: dict[tuple[str, int], User] = {}
        self._partners: dict[str | None, Partner] = {}

    async def __aenter__(self) -> Outside:
        gateway = self._stack["gateway"]["url"]
        http = httpx.AsyncClient(base_url=gateway, timeout=10)
        await self._open.enter_async_context(http)
        keys: dict[str | None, str | None] = {
            p["name"]: p["api_key"] for p in self._stack["partners"]
        }
        self._partners = {
            name: Partner(http, key, patience=self._patience)
            for name, key in {**keys, None: None}.items()
        }
        for network in self._stack["networks"]:
            provider = AsyncHTTPProvider(network["rpc_urls"][0], exception_retry_configuration=None)
            self._open.push_async_callback(provider.disconnect)
            self._chains[network["name"]] = AsyncWeb3(provider)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._open.aclose()

    @property
    def networks(self) -> Mapping[str, Mapping[str, Any]]:
        return {network["name"]: network for network in self._stack["networks"]}

    def partner(self, name: str | None = "demo") -> Partner:
        """Return a partner; a partner without a name has no key."""
        return self._partners[name]

    def chain(self, network: str) -> AsyncWeb3[AsyncHTTPProvider]:
        return self._chains[network]

    def user(self, network: str, number: int = 0) -> User:
        """Return one of the funded users; higher numbers start again at the first."""
        users = self.networks[network]["users"]
        chosen = number % len(users)
        if (network, chosen) not in self._users:
            key = users[chosen]
            user = User(self._chains[network], key["address"], key["private_key"])
            self._users[network, chosen] = user
        return self._users[network, chosen]

    def token(self, network: str, symbol: str) -> Mapping[str, Any]:
        tokens = self.networks[network]["tokens"]
        return next(dict(token) for token in tokens if token["symbol"] == symbol)

    async def balance(self, network: str, symbol: str, address: str) -> int:
        chain, contract = self._chains[network], self.token(network, symbol)["contract"]
        owner = to_checksum_address(address)
        if contract is None:
            return await chain.eth.get_balance(owner)
        data = call_data("balanceOf(address)", owner)
        answer = await chain.eth.call({"to": to_checksum_address(contract), "data": data})
        return int.from_bytes(answer, "big")

    async def swap(
        self,
        route: Route,
        *,
        user: int = 0,
        within: float = FOLLOWED_SECONDS,
        every: float = POLL_SECONDS,
        **more: object,
    ) -> FinishedSwap:
        """Create a swap, fund it by its actions, and follow it to its end."""
        recipient = new_address()
        prepared = await self.partner().create(route, recipient, **more)
        sent = await self.fund(prepared, route, user=user)
        seen = await self.follow(prepared["swap"]["id"], within=within, every=every)
        return FinishedSwap(prepared, recipient, sent, seen)

    async def fund(
        self, prepared: Mapping[str, Any], route: Route, *, user: int = 0, value: int | None = None
    ) -> list[str]:
        """Send the actions of the creation, after the required approval."""
        [action] = prepared["deposit_actions"]
        payer = self.user(route.source_network, user)
        if not is_pulled(action):
            return await payer.fund(action, value=value)
        # A wallet has one allowance per contract, which a concurrent deposit would use up.
        async with payer.allowing:
            path = f"/swaps/{prepared['swap']['id']}/deposit_actions"
            steps = await until(
                lambda: self._steps(path, payer, action),
                what=f"{path} lead to a deposit that does not revert",
                within=self._patience,
            )
            sent = await payer.fund(*steps)
            await payer.receipt(sent[-1])
        return sent

    async def _steps(
        self, path: str, payer: User, deposit: Mapping[str, Any]
    ) -> Sequence[Mapping[str, Any]] | None:
        """Return the transactions to send; none if the deposit would revert, as wallets estimate.

        While the service cannot read a node, it requests no approval.
        """
        answer = await self.partner().get(path, source_address=payer.address)
        approvals = [step for step in answer if step["step"] == "approve"]
        if approvals or await payer.would_succeed(deposit):
            return [*approvals, deposit]
        return None

    async def follow(
        self,
        swap_id: str,
        *,
        to: Sequence[str] = FINAL,
        within: float = FOLLOWED_SECONDS,
        every: float = POLL_SECONDS,
    ) -> list[Mapping[str, Any]]:
        """Read until the swap has one of the statuses; return every different answer."""
        seen: list[Mapping[str, Any]] = []

        async def has_ended() -> bool:
            answer = await self.partner().read(swap_id)
            if not seen or answer["swap"] != seen[-1]["swap"]:
                seen.append(answer)
            return answer["swap"]["status"] in to

        await until(has_ended, what=f"{swap_id} is one of {to}", within=within, every=every)
        return seen

    async def with_hashes(self, swap_id: str) -> Mapping[str, Any]:
        """Read until each transaction of a swap has its hash, and return the answer.

        The transaction of coins at a deposit address is looked for after they are credited: a swap
        may be completed before.
        """

        async def find_complete() -> Mapping[str, Any] | None:
            answer = await self.partner().read(swap_id)
            hashes = [one["transaction_hash"] for one in answer["swap"]["transactions"]]
            return answer if all(hashes) else None

        return await until(find_complete, what=f"each transaction of {swap_id} has its hash")


def as_it_is(action: Mapping[str, Any]) -> TxParams:
    """Return the transaction of an action, unchanged."""
    return {
        "to": to_checksum_address(action["to_address"]),
        "value": int(action["amount_in_base_units"]),  # type: ignore[typeddict-item]
        "data": HexStr(action["call_data"]),
        "gas": int(action["gas_limit"]),
    }


def is_pulled(action: Mapping[str, Any]) -> bool:
    """Return whether a contract pulls a token from the wallet, which requires an approval."""
    return action["token"]["contract"] is not None and len(action["encoded_args"] or ()) == PULLED


def new_address() -> str:
    return str(Account.create().address)


def call_data(signature: str, *arguments: object) -> HexStr:
    """Return an encoded contract call: `call_data("balanceOf(address)", owner)`."""
    types = signature[signature.index("(") + 1 : -1].split(",")
    encoded = encode([kind for kind in types if kind], arguments)
    return HexStr("0x" + (function_signature_to_4byte_selector(signature) + encoded).hex())
