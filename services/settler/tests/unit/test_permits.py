"""Permits of one signer have one nonce at a time."""

from __future__ import annotations

from uuid import UUID

from swap_settler.paying.decide.lane import Payment, one_permit_each

PERMIT, AUTHORIZATION = b"\x01\x02\x03\x04", b"\x05\x06\x07\x08"


def a_payment(
    number: int, *, call_data: bytes | None = None, payer: str = "0xa", token: str = "0x1"
) -> Payment:
    return Payment(
        intent_id=UUID(int=number),
        swap_id=UUID(int=number),
        paid_id=number,
        token=token,
        to_address="0x2",
        base_units=1,
        failures=0,
        goes_alone=call_data is not None,
        payer=payer,
        call_data=call_data,
    )


def sent_payments(*payments: Payment) -> list[int]:
    return [p.paid_id for p in one_permit_each(payments, permit=PERMIT)]


def test_only_the_first_permit_of_a_signer_is_sent() -> None:
    assert sent_payments(a_payment(1, call_data=PERMIT), a_payment(2, call_data=PERMIT)) == [1]


def test_permits_of_other_signers_and_tokens_do_not_wait() -> None:
    mine, theirs = a_payment(1, call_data=PERMIT), a_payment(2, call_data=PERMIT, payer="0xb")
    elsewhere = a_payment(3, call_data=PERMIT, token="0x9")

    assert sent_payments(mine, theirs, elsewhere) == [1, 2, 3]


def test_authorizations_and_payouts_do_not_wait() -> None:
    signed = [a_payment(n, call_data=AUTHORIZATION) for n in (1, 2)]

    assert sent_payments(*signed, a_payment(3), a_payment(4)) == [1, 2, 3, 4]
