"""S11 and A18 on a real node and a real database: external use of our signer's key."""

from __future__ import annotations

import pytest

from services.settler.tests.integration.on_anvil import LIMIT, OnAnvil
from services.settler.tests.integration.reconciling import explaining, record_external_payment
from services.settler.tests.lane_harness import (
    DESTINATION,
    PAYOUT,
    REQUESTED,
    a_deposit,
    a_recipient,
)
from swap_chains.evm.codec import (
    Payment,
    encode_is_paid,
    encode_pay,
    encode_withdraw,
    intent_id,
    selector,
)
from swap_chains.ports import Call, Fees
from swap_domain.catalogue import NATIVE

pytestmark = [pytest.mark.connected, pytest.mark.timeout(120)]
EXTERNAL_RECIPIENT = a_recipient(66)
OPERATOR_ORDER = {"by": "ann", "reason": "a transfer made by hand"}


@pytest.mark.fault("S11")
async def test_s11_an_externally_used_nonce_is_explained_and_its_payment_made_once(
    anvil_world: OnAnvil,
) -> None:
    world = anvil_world.world
    external = await anvil_world.use_nonce_externally(Call(EXTERNAL_RECIPIENT, 10**18, b"", 21_000))

    await world.resuming()(DESTINATION, used_by=[external], **OPERATOR_ORDER)
    await world.finish_recovery()
    await world.send_everything()
    await anvil_world.mine(4)
    await world.close_slots()

    assert await anvil_world.balance_of(a_recipient(1)) == PAYOUT
    assert await world.store.signer_balance(NATIVE) == await anvil_world.balance_of(world.signer)
    assert await world.rows("SELECT 1 FROM nonce_slot WHERE closed_at IS NULL") == []
    [lost] = await world.rows("SELECT balance FROM account WHERE kind = 'loss'")
    assert 10**18 < lost.balance < 10**18 + 10**16


@pytest.mark.fault("S11")
async def test_s11_an_external_payment_of_our_key_is_not_repeated(anvil_world: OnAnvil) -> None:
    world = anvil_world.world
    [intent] = await world.rows("SELECT paid_id FROM intent")
    paid_id = int(intent.paid_id)
    payment = encode_pay(Payment(paid_id, NATIVE, a_recipient(1), PAYOUT))

    external = await anvil_world.use_nonce_externally(Call(world.treasury, 0, payment, 300_000))
    results = await world.resuming()(DESTINATION, used_by=[external], **OPERATOR_ORDER)

    assert results.paid_externally == [paid_id]
    assert await anvil_world.balance_of(a_recipient(1)) == PAYOUT
    assert await world.intent_states() == ["broadcast"]
    # Even with a wrong ledger, the Treasury accepts an id once.
    head = await anvil_world.reader.head()
    call = Call(world.treasury, 0, encode_is_paid(paid_id), 100_000)
    assert int.from_bytes(await anvil_world.reader.call(call, sender=world.signer, at=head), "big")
    again = Call(world.treasury, 0, payment, 300_000)
    [answer] = await anvil_world.reader.simulate([again], sender=world.signer)
    assert answer.is_revert

    await record_external_payment(world, external, a_recipient(1))
    [ended] = await explaining(world, anvil_world.catalogue)(
        DESTINATION, external, **OPERATOR_ORDER
    )

    assert (ended.end, await world.intent_states()) == ("made", ["confirmed"])
    [swap] = await world.rows("SELECT status FROM swap")
    assert swap.status == "completed"


@pytest.mark.fault("S11")
async def test_s11_a_payment_whose_id_was_spent_externally_is_claimable(
    anvil_world: OnAnvil,
) -> None:
    world = anvil_world.world
    [intent] = await world.rows("SELECT paid_id FROM intent")
    external_payment = encode_pay(Payment(int(intent.paid_id), NATIVE, EXTERNAL_RECIPIENT, PAYOUT))

    external = await anvil_world.use_nonce_externally(
        Call(world.treasury, 0, external_payment, 300_000)
    )
    await world.resuming()(DESTINATION, used_by=[external], **OPERATOR_ORDER)
    await record_external_payment(world, external, EXTERNAL_RECIPIENT)
    [ended] = await explaining(world, anvil_world.catalogue)(
        DESTINATION, external, **OPERATOR_ORDER
    )

    assert (ended.end, await world.intent_states()) == ("failed", ["dead"])
    [owed] = await world.rows("SELECT balance FROM account WHERE kind = 'claimable'")
    assert owed.balance == -REQUESTED


@pytest.mark.fault("P6")
async def test_p6_a_claim_missing_in_the_ledger_is_explained(anvil_world: OnAnvil) -> None:
    world = anvil_world.world
    transfer = {"network": DESTINATION, "kind": "native_received", "sequence_number": None}
    await world.settle(a_deposit(5, **transfer))
    deposit_id = a_deposit(5).body.deposit_id
    paid_id = intent_id(deposit_id, "claim", f"{deposit_id}/{DESTINATION}/{NATIVE}")
    claim = encode_pay(Payment(paid_id, NATIVE, a_recipient(5), REQUESTED))

    external = await anvil_world.use_nonce_externally(Call(world.treasury, 0, claim, 300_000))
    await record_external_payment(world, external, a_recipient(5), REQUESTED, paid_id=paid_id)
    await world.finish_recovery()
    [ended] = await explaining(world, anvil_world.catalogue)(
        DESTINATION, external, **OPERATOR_ORDER
    )

    assert (ended.end, ended.log.paid_id) == ("made", paid_id)
    accounts = "SELECT 1 FROM account WHERE kind IN ('suspense', 'payout_suspense')"
    assert await world.rows(f"{accounts} AND balance <> 0") == []
    assert await world.rows("SELECT 1 FROM retained_hold WHERE released_at IS NULL") == []


@pytest.mark.fault("A18")
async def test_a18_the_treasury_refuses_signatures_of_a_stolen_key_beyond_its_limits(
    anvil_world: OnAnvil,
) -> None:
    world = anvil_world.world
    await anvil_world.mine()
    [intent] = await world.rows("SELECT paid_id FROM intent")
    paid_id = int(intent.paid_id)
    arbitrary = {
        "AlreadyPaid(uint256)": encode_pay(Payment(paid_id, NATIVE, EXTERNAL_RECIPIENT, 1)),
        "OutflowLimitExceeded(address,uint256,uint256)": encode_pay(
            Payment(paid_id ^ 1, NATIVE, EXTERNAL_RECIPIENT, LIMIT)
        ),
        "OwnableUnauthorizedAccount(address)": encode_withdraw(NATIVE, EXTERNAL_RECIPIENT, 1),
    }
    calls = [Call(world.treasury, 0, data, 300_000) for data in arbitrary.values()]

    answers = await anvil_world.reader.simulate(calls, sender=world.signer)
    signed = [
        await world.sender.sign(call, nonce=nonce, fees=Fees(10**12, 10**10))
        for nonce, call in enumerate(calls, start=1)
    ]
    await world.sender.broadcast(signed)
    await anvil_world.mine(4)

    assert [answer.data[:4] for answer in answers] == [selector(error) for error in arbitrary]
    assert (
        await anvil_world.reader.nonce(world.signer, at=await anvil_world.reader.final_block()) == 4
    )
    assert (
        await anvil_world.balance_of(a_recipient(1)),
        await anvil_world.balance_of(EXTERNAL_RECIPIENT),
    ) == (
        PAYOUT,
        0,
    )
