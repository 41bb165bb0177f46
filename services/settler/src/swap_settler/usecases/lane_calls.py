"""What a lane's transactions call: the Treasury for payments, nobody for a no-op."""

from __future__ import annotations

from dataclasses import dataclass

from swap_chains.evm.codec import Payment as TreasuryPayment
from swap_chains.evm.codec import encode_pay, encode_pay_batch
from swap_chains.ports import Call
from swap_settler.domain.lane import NO_OP_GAS, RELAY_GAS, GasUnits, Group


@dataclass(frozen=True, slots=True)
class LaneCalls:
    treasury: str
    signer: str
    native: str
    gas: GasUnits

    def paying(self, group: Group) -> Call:
        relay = group[0]
        if relay.call_data is not None:
            return Call(relay.to_address, value=0, data=relay.call_data, gas_limit=RELAY_GAS)
        payments = [TreasuryPayment(p.paid_id, p.token, p.to_address, p.base_units) for p in group]
        data = encode_pay(payments[0]) if len(payments) == 1 else encode_pay_batch(payments)
        gas_limit = self.gas.of(group, native=self.native)
        return Call(to=self.treasury, value=0, data=data, gas_limit=gas_limit)

    def no_op(self) -> Call:
        """A payment of nothing to ourselves: it only moves the nonce on."""
        return Call(to=self.signer, value=0, data=b"", gas_limit=NO_OP_GAS)
