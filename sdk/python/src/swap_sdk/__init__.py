"""The Python client of the swap service.

    from swap_sdk import Client

    with Client("https://swaps.example", "svc_live_…") as swaps:
        created = swaps.create_swap(
            source_network="ETHEREUM_MAINNET",
            source_token="USDC",
            destination_network="BASE_MAINNET",
            destination_token="USDC",
            destination_address="0x…",
            amount="25.5",
        )

`AsyncClient` has the same methods as coroutines. `swap_sdk.webhooks` verifies webhooks, and
`swap_sdk.models` defines every answer.
"""

from swap_sdk.awaited import AsyncClient
from swap_sdk.blocking import Client
from swap_sdk.errors import ApiError, SwapError, Unreachable
from swap_sdk.retries import Retries

__all__ = ["ApiError", "AsyncClient", "Client", "Retries", "SwapError", "Unreachable"]
