"""The endpoints that take what a wallet has signed."""

from __future__ import annotations

from typing import Final

from swap_api.funding.http.attachments import AttachmentEndpoints
from swap_api.funding.http.authorizations import AuthorizationEndpoints
from swap_api.http.endpoints import API, Endpoint
from swap_api.http.parameters import AttachBody, AuthorizeBody, TransferParameters
from swap_contracts.public.authorizations import AuthorizationModel
from swap_contracts.public.errors import ErrorCode
from swap_contracts.public.transfers import LoneTransferModel

AUTHORIZE_REFUSALS: Final = (
    ErrorCode.AUTHORIZATION_NOT_REQUESTED,
    ErrorCode.AUTHORIZATION_ALREADY_SUBMITTED,
    ErrorCode.AUTHORIZATION_EXPIRED,
    ErrorCode.SIGNATURE_INVALID,
    ErrorCode.INSUFFICIENT_SIGNER_BALANCE,
    ErrorCode.INVALID_ADDRESS_ERROR,
    ErrorCode.SWAP_NOT_PAYABLE,
    ErrorCode.UNSUPPORTED_GASLESS,
)


def authorization_endpoints(authorizations: AuthorizationEndpoints) -> list[Endpoint]:
    return [
        Endpoint(
            "POST",
            f"{API}/swaps/{{swapId}}/authorize",
            authorizations.authorize,
            "Submit the signature that deposits for a gasless swap",
            AuthorizationModel,
            body=AuthorizeBody,
            refuses=AUTHORIZE_REFUSALS,
        ),
        Endpoint(
            "GET",
            f"{API}/swaps/{{swapId}}/authorize",
            authorizations.read,
            "Read how far the signature is",
            AuthorizationModel,
            refuses=(ErrorCode.AUTHORIZATION_NOT_REQUESTED,),
        ),
    ]


def attachment_endpoints(attachments: AttachmentEndpoints) -> list[Endpoint]:
    path = f"{API}/swaps/{{swapId}}/attach_deposit"
    return [
        Endpoint(
            "GET",
            path,
            attachments.show,
            "Show a transfer that named no swap, and what its sender signs to give it to this one",
            list[LoneTransferModel],
            query=TransferParameters,
        ),
        Endpoint(
            "POST",
            path,
            attachments.attach,
            "Give a transfer that named no swap to this one, by its sender's signature",
            LoneTransferModel,
            body=AttachBody,
            refuses=(
                ErrorCode.SIGNATURE_INVALID,
                ErrorCode.DEPOSIT_NOT_ATTACHABLE,
            ),
        ),
    ]
