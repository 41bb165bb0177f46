"""What a lane's transactions call: the Treasury, the factory for sweeps, or nothing for a no-op."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from swap_chains.evm.codec import (
    OUTFLOW_AVAILABLE,
    OUTFLOW_LIMIT,
    address_word,
    encode_pay,
    encode_pay_batch,
)
from swap_chains.evm.codec import Payment as TreasuryPayment
from swap_chains.evm.deposit_addresses import Sweep, encode_sweep
from swap_chains.ports import Call
from swap_settler.paying.decide.lane import (
    NO_OP_GAS,
    RELAY_GAS,
    GasUnits,
    Group,
)

VIEW_GAS: Final = 100_000


@dataclass(frozen=True, slots=True)
class TransactionCalls:
    treasury: str
    signer: str
    native: str
    gas: GasUnits
    factory: str | None = None  # of deposit addresses, where the network has some

    def paying(self, group: Group) -> Call:
        """Return the call for what a slot carries: all of one sort."""
        first = group[0]
        if first.sweep_of is not None:
            return self._sweeping(group)
        if first.call_data is not None:
            return Call(first.to_address, value=0, data=first.call_data, gas_limit=RELAY_GAS)
        payments = [TreasuryPayment(p.paid_id, p.token, p.to_address, p.base_units) for p in group]
        data = encode_pay(payments[0]) if len(payments) == 1 else encode_pay_batch(payments)
        gas_limit = self.gas.of(group, native=self.native)
        return Call(to=self.treasury, value=0, data=data, gas_limit=gas_limit)

    def _sweeping(self, group: Group) -> Call:
        assert self.factory is not None, "a network without deposit addresses sweeps none"
        data = encode_sweep([Sweep(sweep.sweep_of or 0, sweep.token) for sweep in group])
        gas_limit = self.gas.of(group, native=self.native)
        return Call(self.factory, value=0, data=data, gas_limit=gas_limit)

    def available(self, token: str) -> Call:
        """Ask what the Treasury would pay of a token now."""
        return self._asking(OUTFLOW_AVAILABLE, token)

    def capacity(self, token: str) -> Call:
        """Ask what the Treasury would ever pay of a token at once."""
        return self._asking(OUTFLOW_LIMIT, token)

    def _asking(self, function: bytes, token: str) -> Call:
        data = function + address_word(token)
        return Call(self.treasury, value=0, data=data, gas_limit=VIEW_GAS)

    def no_op(self) -> Call:
        """A payment of nothing to ourselves: it only moves the nonce on."""
        return Call(to=self.signer, value=0, data=b"", gas_limit=NO_OP_GAS)
