"""Builds pay links."""

from __future__ import annotations

from swap_api.admission.build import AdmissionParts
from swap_api.funding.build import Funding
from swap_api.pay_links.adapters.pay_rendering import JsonPayRendering
from swap_api.pay_links.http.pay import PayEndpoints
from swap_api.pay_links.store.frame_origins import PostgresFrameOrigins
from swap_api.pay_links.usecases.make_link import MakeLink
from swap_api.pay_links.usecases.open_link import OpenLink
from swap_api.pay_links.usecases.read_swap_for_payer import ReadSwapForPayer
from swap_api.read_model.build import Lookups
from swap_api.settings import ApiGroup
from swap_api.swaps.build import Swaps
from swap_api.swaps.store.history import PostgresHistory
from swap_api.swaps.store.refund_addresses import PostgresRefundAddresses
from swap_runtime.postgres.database import Engine


def build(
    engine: Engine,
    group: ApiGroup,
    lookups: Lookups,
    admission: AdmissionParts,
    *,
    funding: Funding,
    swaps: Swaps,
) -> PayEndpoints:
    rendering, tokens = JsonPayRendering(swaps.rendering), admission.link_tokens
    environment = admission.keyless_caller.environment
    return PayEndpoints(
        make_link=MakeLink(lookups.swaps, tokens, rendering, page_url=group.pay_page_url),
        open_link=OpenLink(lookups.swaps, tokens, environment=environment),
        read_swap_for_payer=ReadSwapForPayer(
            lookups.read_caught_up,
            lookups.heads,
            rendering,
            deposit=funding.resolve_deposit,
            history=PostgresHistory(engine),
            refund_addresses=PostgresRefundAddresses(engine),
            frame_origins=PostgresFrameOrigins(engine),
        ),
        set_refund_address=swaps.set_refund_address,
        authorizations=funding.authorizations,
        history=swaps.history,
    )
