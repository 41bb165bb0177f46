"""Reads from a chain which deposits by signature are possible, and what one would do now."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from swap_chains.errors import ChainUnavailable
from swap_chains.evm import codec, gasless
from swap_chains.evm.check import check_chain_id
from swap_chains.evm.gasless import RelayedDeposit
from swap_chains.evm.rpc import Rpc
from swap_chains.evm.state import EvmState
from swap_chains.ports import Call, CallSimulation, Holding
from swap_domain.gasless import Gasless, GaslessStandard

VIEW_GAS: Final = 200_000
# As in the settler: a wallet with code may use no more gas to verify its signature.
RELAY_GAS: Final = 350_000
# So many deposits an operator must be able to pay for, or none is promised.
RELAYS_AFFORDED_MIN: Final = 20


@dataclass(frozen=True, slots=True)
class SignerState:
    """What a signer has and may sign now."""

    base_units: int
    has_code: bool
    next_nonce: int | None  # of a permit
    is_nonce_used: bool  # of an authorization: used, or cancelled


@dataclass(frozen=True, slots=True)
class GaslessDeployment:
    """What must be true of a network before it takes signatures."""

    chain_id: int
    paymaster: str
    depository: str
    treasury: str
    operators: Sequence[str]
    tokens: Mapping[str, Gasless]


class GaslessReader:
    """Queries one network. Every method raises ChainError when no node gives a usable answer."""

    def __init__(self, rpc: Rpc) -> None:
        self._rpc = rpc
        self._state = EvmState(rpc)

    async def findings(self, deployment: GaslessDeployment) -> Mapping[str, Sequence[str]]:
        """Return why each token cannot be offered; nothing where it can.

        :raises WrongChain: when a node serves another chain.
        """
        await check_chain_id(self._rpc, deployment.chain_id)
        shared = await self._shared_findings(deployment)
        found: dict[str, Sequence[str]] = {}
        for token, offered in deployment.tokens.items():
            found[token] = [*shared, *await self._token_findings(deployment, token, offered)]
        return found

    async def _shared_findings(self, deployment: GaslessDeployment) -> Sequence[str]:
        paymaster, depository = deployment.paymaster, deployment.depository
        questions = [
            ("the Paymaster has another Depository", paymaster, gasless.PAYMASTERS_DEPOSITORY,
             codec.address_word(depository)),
            ("the Paymaster is paused", paymaster, gasless.PAUSED, codec.uint_word(0)),
            ("the Depository is paused", depository, gasless.PAUSED, codec.uint_word(0)),
            ("the Depository does not list the Treasury", depository,
             codec.encode_is_whitelisted(deployment.treasury), codec.uint_word(1)),
            *((f"{operator} is no operator of the Paymaster", paymaster,
               codec.encode_is_operator(operator), codec.uint_word(1))
              for operator in deployment.operators),
        ]  # fmt: skip
        answers = await self._views([(to, data) for _, to, data, _ in questions])
        findings = [
            finding
            for (finding, _, _, expected), answer in zip(questions, answers, strict=True)
            if answer != expected
        ]
        return findings or await self._out_of_gas(deployment)

    async def _out_of_gas(self, deployment: GaslessDeployment) -> Sequence[str]:
        fees, head = await self._state.fees(), await self._state.head()
        holdings = {o: Holding(o, codec.ZERO_ADDRESS) for o in deployment.operators}
        balances = await self._state.balances(set(holdings.values()), at=head)
        needed = RELAYS_AFFORDED_MIN * RELAY_GAS * fees.max_fee_per_gas
        return [
            f"{operator} has too little gas money for deposits"
            for operator, holding in holdings.items()
            if balances[holding] < needed
        ]

    async def _token_findings(
        self, deployment: GaslessDeployment, token: str, offered: Gasless
    ) -> list[str]:
        views = [gasless.DOMAIN_SEPARATOR, gasless.encode_nonces(deployment.paymaster)]
        if offered.standard is GaslessStandard.EIP3009:
            views[1] = gasless.RECEIVE_TYPEHASH
        separator, standard = await self._views([(token, data) for data in views])
        findings = []
        expected = gasless.domain_separator(
            offered.domain, chain_id=deployment.chain_id, token=token
        )
        if separator != expected:
            findings.append(f"its EIP-712 domain is not {offered.domain}")
        is_3009 = offered.standard is GaslessStandard.EIP3009
        if standard != gasless.receive_typehash() if is_3009 else len(standard) != codec.WORD:
            findings.append(f"it does not do {offered.standard.value}")
        return findings

    async def signer_state(self, relayed: RelayedDeposit) -> SignerState:
        """Return what the signer of a deposit has, and whether its nonce can be used."""
        is_permit = relayed.standard is GaslessStandard.EIP2612
        signer, token = relayed.signer, relayed.token
        asks_nonce = (
            gasless.encode_nonces(signer)
            if is_permit
            else gasless.encode_authorization_state(signer, relayed.nonce)
        )
        results = await self._views([(token, codec.encode_balance_of(signer)), (token, asks_nonce)])
        try:
            balance, number = map(codec.decode_uint, results)
        except ValueError as error:  # refused: who offers the token has seen it answer
            raise ChainUnavailable(self._rpc.network, [f"{token}: {error}"]) from error
        return SignerState(
            base_units=balance,
            has_code=bool(await self._state.with_code([signer])),
            next_nonce=number if is_permit else None,
            is_nonce_used=number != relayed.nonce if is_permit else bool(number),
        )

    async def simulate_relay(
        self, relayed: RelayedDeposit, signature: bytes, *, operator: str
    ) -> CallSimulation:
        """Return what the Paymaster's very call would do now."""
        data = relayed.call_data(signature)
        call = Call(relayed.paymaster, value=0, data=data, gas_limit=RELAY_GAS)
        [answer] = await self._state.simulate([call], sender=operator)
        return answer

    async def _views(self, questions: Collection[tuple[str, bytes]]) -> list[bytes]:
        """Return what each view answers; nothing for one that reverts."""
        calls = [Call(to, value=0, data=data, gas_limit=VIEW_GAS) for to, data in questions]
        answers = await self._state.simulate(calls, sender=codec.ZERO_ADDRESS)
        return [answer.data if answer.succeeded else b"" for answer in answers]
