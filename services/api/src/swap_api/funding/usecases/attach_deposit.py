from __future__ import annotations

from collections.abc import Collection, Sequence
from uuid import UUID

from swap_api import observe
from swap_api.funding.decide.attaching import TransferStatus, UnmatchedTransfer
from swap_api.funding.ports import Wallets
from swap_api.funding.store.unmatched_transfers import PostgresUnmatchedTransfers
from swap_api.funding.usecases.authorize_deposit import read_signature
from swap_api.model.keys import Caller
from swap_api.model.refusals import ApiRefusal, Invalid, NotFound
from swap_api.read_model.store.swaps import PostgresSwaps
from swap_api.read_model.usecases.find_own_swap import find_own_swap
from swap_chains.evm.personal_signatures import WalletAnswer, personal_digest
from swap_chains.evm.signatures import recover
from swap_contracts.public.errors import ErrorCode
from swap_contracts.public.transfers import LoneTransferModel
from swap_contracts.swaps import DepositAttached
from swap_contracts.topics import SWAP_REQUESTS
from swap_contracts.tracing import trace_id_of
from swap_domain.attaching import SwapAddresses, text_of
from swap_domain.catalogue import Catalogue, Network
from swap_runtime.clock import Clock
from swap_runtime.messaging.outbox import Outgoing


class AttachDeposit:
    """Let who sent a transfer that names no swap say, by a signature, which one it is for.

    What is to be signed and what is checked come from the same look at the transfer. Whether it
    is attached is decided by the settler, under its locks.
    """

    def __init__(
        self,
        catalogue: Catalogue,
        *,
        swaps: PostgresSwaps,
        transfers: PostgresUnmatchedTransfers,
        wallets: Wallets,
        clock: Clock,
        one_provider_networks: Collection[str],
    ) -> None:
        """
        :param one_provider_networks: live ones with nodes of one provider only. Its report alone
            would give a transfer away, so contracts' transfers are left to operators there.
        """
        self._catalogue = catalogue
        self._swaps = swaps
        self._transfers = transfers
        self._wallets = wallets
        self._clock = clock
        self._one_provider_networks = frozenset(one_provider_networks)

    async def show(
        self, caller: Caller, swap_id: UUID, transaction_hash: str
    ) -> Sequence[LoneTransferModel]:
        """Return the transfers of a transaction, each with its text for this swap.

        :raises NotFound: for another tenant's swap, or when there is no such transfer.
        """
        swap, network, found = await self._find_transfers(caller, swap_id, transaction_hash)
        return [_model(network, one, swap) for one in found]

    async def attach(
        self,
        caller: Caller,
        swap_id: UUID,
        transaction_hash: str,
        transfer_id: UUID | None,
        signature: str,
    ) -> LoneTransferModel:
        """
        :raises NotFound: for another tenant's swap, or when there is no such transfer.
        :raises ApiRefusal: when it cannot be attached, or another account signed.
        :raises Unavailable: when nodes are needed and none answers, or two providers do not report
            the same.
        """
        swap, network, found = await self._find_transfers(caller, swap_id, transaction_hash)
        transfer = _choose(found, transfer_id)
        signed = read_signature(signature)
        text = text_of(transfer, swap, chain_id=network.chain_id)
        if _is_over_an_earlier_text(network, transfer, swap, signed):
            raise _invalid(
                "The text has changed since it was signed, as the swap has a refund address now: "
                "read it again and sign that"
            )
        by_contract = await self._is_a_contracts(network, transfer, text, signed)
        status = transfer.status(swap_id)
        if status is TransferStatus.UNAVAILABLE:
            raise ApiRefusal(
                ErrorCode.DEPOSIT_NOT_ATTACHABLE,
                "This transfer is another swap's, was paid back, or is not what the swap takes",
            )
        if status is not TransferStatus.ATTACHED:
            body = DepositAttached(
                swap_id=swap_id,
                deposit_id=transfer.deposit_id,
                signer=transfer.from_address,
                signature="0x" + signed.hex(),
                text=text,
                signed_at=self._clock(),
                is_by_contract=by_contract,
            )
            await self._submit(body)
            observe.attachment_accepted(swap_id, transfer.network)
        now_known = await self._transfers.of_transaction(
            swap_id, network.name, transfer.transaction_hash
        )
        return _model(network, _choose(now_known, transfer.deposit_id), swap)

    async def _find_transfers(
        self, caller: Caller, swap_id: UUID, transaction_hash: str
    ) -> tuple[SwapAddresses, Network, Sequence[UnmatchedTransfer]]:
        await find_own_swap(self._swaps, caller, swap_id)
        swap = await self._transfers.find_addresses(swap_id)
        if swap is None:
            raise NotFound
        name = swap.source_network
        found = await self._transfers.of_transaction(swap_id, name, transaction_hash.lower())
        if not found:
            raise NotFound(
                "No transfer of this transaction waits without a swap. One that was just sent "
                "appears after a moment; one that named its swap needs no signature"
            )
        return swap, self._catalogue.network(name), found

    async def _is_a_contracts(
        self, network: Network, transfer: UnmatchedTransfer, text: str, signature: bytes
    ) -> bool:
        """Return whether the sender's code, and not its key, accepts the signature.

        :raises ApiRefusal: when neither does, or only an operator can decide.
        :raises Unavailable: when no node answers, or two providers do not report the same.
        """
        digest, sender = personal_digest(text), transfer.from_address
        if recover(digest, signature) == sender:
            return False
        if network.name in self._one_provider_networks:
            raise _invalid(
                "The signature is not the sender's key's over this text; if the sender is a "
                "contract, ask the service's operator to attach it"
            )
        answer = await self._wallets.ask(network, sender, digest, signature)
        if answer is WalletAnswer.NO_CODE:
            raise _invalid("The signature is not the sender's over this text")
        if answer is WalletAnswer.REFUSED:
            raise _invalid(
                "The sender is a contract that does not accept this signature. Sign the unchanged "
                "text with its owner's wallet, or ask the service's operator to attach it"
            )
        return True

    async def _submit(self, body: DepositAttached) -> None:
        def message(submission: int) -> Outgoing:
            envelope = SWAP_REQUESTS.seal(
                body,
                version=f"attached/{body.deposit_id}/{submission}",
                occurred_at=body.signed_at,
                trace_id=trace_id_of(body.swap_id),
            )
            return Outgoing.of(SWAP_REQUESTS, envelope)

        at = body.signed_at
        if not await self._transfers.submit(body.swap_id, body.deposit_id, message, now=at):
            raise ApiRefusal(
                ErrorCode.DEPOSIT_NOT_ATTACHABLE, "This swap was given as many transfers as it may"
            )


def _choose(found: Sequence[UnmatchedTransfer], transfer_id: UUID | None) -> UnmatchedTransfer:
    """
    :raises ApiRefusal: when it is not clear which of them is meant.
    """
    if transfer_id is None:
        if len(found) > 1:
            raise Invalid.field("transfer_id", "is missing: the transaction has several transfers")
        return found[0]
    chosen = next((one for one in found if one.deposit_id == transfer_id), None)
    if chosen is None:
        raise NotFound("The transaction has no such transfer")
    return chosen


def _is_over_an_earlier_text(
    network: Network, transfer: UnmatchedTransfer, swap: SwapAddresses, signature: bytes
) -> bool:
    """Return whether the sender signed before the swap had its refund address."""
    if swap.refund_address is None:
        return False
    earlier = text_of(transfer, swap.without_refund_address(), chain_id=network.chain_id)
    return recover(personal_digest(earlier), signature) == transfer.from_address


def _model(network: Network, transfer: UnmatchedTransfer, swap: SwapAddresses) -> LoneTransferModel:
    return LoneTransferModel(
        transfer_id=str(transfer.deposit_id),
        status=transfer.status(swap.swap_id).value,
        network=transfer.network,
        transaction_hash=transfer.transaction_hash,
        token=transfer.token,
        amount_in_base_units=str(transfer.base_units),
        from_address=transfer.from_address,
        to_address=transfer.to_address,
        text=text_of(transfer, swap, chain_id=network.chain_id),
    )


def _invalid(message: str) -> ApiRefusal:
    return ApiRefusal(ErrorCode.SIGNATURE_INVALID, message)
