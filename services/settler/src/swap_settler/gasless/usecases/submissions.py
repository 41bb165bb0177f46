"""A signature that the api took, as the decisions take it."""

from __future__ import annotations

import json
from typing import Any

from swap_chains.evm.codec import checksum_address, depository_id
from swap_chains.evm.gasless import RelayedDeposit, authorization_nonce
from swap_chains.evm.signatures import normalise
from swap_contracts.swaps import AuthorizationSubmitted
from swap_domain.catalogue import Network
from swap_domain.gasless import GaslessStandard
from swap_runtime.errors import Unprocessable
from swap_settler.model.authorization import SubmittedSignature
from swap_settler.model.swap import Method, Swap


def to_submitted_signature(
    body: AuthorizationSubmitted, swap: Swap, network: Network
) -> SubmittedSignature:
    """Build the Paymaster's call from the swap alone, and hold what was signed against it.

    :raises Unprocessable: when it is not the signature that this swap requires.
    """
    try:
        typed_data: Any = json.loads(body.typed_data)
        relayed = _to_relayed_deposit(body, swap, network, typed_data["message"])
        signature = normalise(bytes.fromhex(body.signature.removeprefix("0x")))
        if typed_data != relayed.typed_data():
            raise Unprocessable(f"{swap.id} does not ask for what was signed")
        call_data = relayed.call_data(signature)
    except (ValueError, KeyError, TypeError, OverflowError) as error:
        raise Unprocessable(f"the authorization of {swap.id} cannot be read: {error!r}") from error
    return SubmittedSignature(
        submission=body.submission,
        standard=relayed.standard.value,
        signer=relayed.signer,
        base_units=relayed.base_units,
        nonce=relayed.nonce_text,
        valid_after=relayed.valid_after,
        valid_before=relayed.valid_before,
        paymaster=relayed.paymaster,
        call_data=call_data,
    )


def _to_relayed_deposit(
    body: AuthorizationSubmitted, swap: Swap, network: Network, message: dict[str, str]
) -> RelayedDeposit:
    token = network.token(swap.terms.source.token)
    gasless, paymaster = network.gasless(token), network.contracts.paymaster
    if swap.terms.method is not Method.GASLESS or gasless is None or paymaster is None:
        raise Unprocessable(f"{swap.id} is not funded by a signature")
    key, treasury = depository_id(swap.terms.sequence_number), network.contracts.treasury
    is_permit = gasless.standard is GaslessStandard.EIP2612
    derived = authorization_nonce(
        chain_id=network.chain_id,
        paymaster=paymaster,
        key=key,
        receiver=treasury,
        token=token.address,
    )
    return RelayedDeposit(
        standard=gasless.standard,
        domain=gasless.domain,
        chain_id=network.chain_id,
        token=token.address,
        paymaster=paymaster,
        receiver=treasury,
        key=key,
        signer=checksum_address(body.signer),
        base_units=int(message["value"]),
        nonce=int(message["nonce"]) if is_permit else derived,
        valid_after=0 if is_permit else int(message["validAfter"]),
        valid_before=int(message["deadline" if is_permit else "validBefore"]),
    )
