"""The addresses of pay links."""

from __future__ import annotations

from typing import Final

from swap_api.funding.http.routes import AUTHORIZE_REFUSALS
from swap_api.http.endpoints import API, LOOKUP_WEIGHT, Endpoint
from swap_api.http.parameters import (
    AuthorizeBody,
    LinkParameters,
    RefundAddressBody,
    StepsParameters,
)
from swap_api.model.keys import Scope
from swap_api.pay_links.http.pay import PayEndpoints
from swap_contracts.public.authorizations import AuthorizationModel
from swap_contracts.public.errors import ErrorCode
from swap_contracts.public.lookups import SwapEventModel
from swap_contracts.public.pay import PayLinkModel, PaySwapModel

SWAP: Final = "/pay/v1/swaps/{swapId}"


def pay_link_endpoints(pay: PayEndpoints) -> list[Endpoint]:
    """Return where a link is made, and what its holder reaches without a key."""
    return [
        Endpoint(
            "GET",
            f"{API}/swaps/{{swapId}}/pay_link",
            pay.link,
            "Read the link to the pay page of a swap",
            PayLinkModel,
            query=LinkParameters,
        ),
        Endpoint(
            "GET",
            SWAP,
            pay.read,
            "Read a swap as its payer sees it",
            PaySwapModel,
            weight=LOOKUP_WEIGHT,
            scope=Scope.PAY_LINK,
            query=StepsParameters,
            refuses=(ErrorCode.INVALID_ADDRESS_ERROR,),
            is_conditional=True,
        ),
        Endpoint(
            "GET",
            f"{SWAP}/events",
            pay.events,
            "List what happened to the swap of a link; `Accept: text/event-stream` follows it live",
            list[SwapEventModel],
            scope=Scope.PAY_LINK,
            is_live=True,
        ),
        Endpoint(
            "POST",
            f"{SWAP}/authorize",
            pay.authorize,
            "Submit the signature that deposits for the swap of a link",
            AuthorizationModel,
            scope=Scope.PAY_LINK,
            body=AuthorizeBody,
            refuses=AUTHORIZE_REFUSALS,
        ),
        Endpoint(
            "POST",
            f"{SWAP}/refund_address",
            pay.refund_address,
            "Set the refund address of the swap of a link, while it is unset",
            type(None),
            scope=Scope.PAY_LINK,
            body=RefundAddressBody,
            refuses=(
                ErrorCode.INVALID_ADDRESS_ERROR,
                ErrorCode.BLACKLISTED_ADDRESS,
            ),
        ),
    ]
