"""`python -m swap_stack.sandbox`: funds test swaps as their recipients say, until it is ended."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Mapping
from typing import Any

from swap_runtime.http.asgi import AsgiServer
from swap_sdk import AsyncClient
from swap_stack.contracts import USDC
from swap_stack.keys import funder_key, sandbox_keys
from swap_stack.node import Node
from swap_stack.receiver import make_app
from swap_stack.sandbox.bench import Bench
from swap_stack.sandbox.outcomes import OUTCOME_DESCRIPTIONS, SandboxOutcome, find_outcome
from swap_stack.sandbox.sandbox_wallet import SandboxWallet
from swap_stack.sandbox.settings import NotASandbox, Settings, require_development_chain
from swap_stack.sandbox.watching import Sandbox
from swap_stack.user import refuse_at

FIRST_ATTEMPTS_FAIL = SandboxOutcome.WEBHOOK_FAILS


class Refusals:
    """Refuses the first attempt of each message about a swap that asks for it."""

    def __init__(self) -> None:
        self._refused: set[str] = set()

    def __call__(self, message_id: str, content: Mapping[str, Any]) -> bool:
        swap = content.get("swap")
        recipient = str(swap.get("destination_address", "")) if isinstance(swap, dict) else ""
        if find_outcome(recipient) is not FIRST_ATTEMPTS_FAIL or message_id in self._refused:
            return False
        self._refused.add(message_id)
        return True


async def run(settings: Settings) -> None:
    """
    :raises NotASandbox: where real money could be.
    """
    settings.list_keys()
    nodes = {network: Node(url) for network, url in settings.nodes.items()}
    for network, node in nodes.items():
        await require_development_chain(network, node)
    user, reorged = sandbox_keys()
    sandbox_wallets = {network: SandboxWallet(node, user) for network, node in nodes.items()}
    others = {network: SandboxWallet(node, reorged) for network, node in nodes.items()}
    await _prepare(sandbox_wallets, await _usdc(settings))
    refuses = Refusals()
    receiving = await _receive(settings, Bench(settings, refuses=refuses), refuses)
    try:
        await Sandbox(settings, sandbox_wallets, others).run()
    finally:
        await receiving.stop()


async def _usdc(settings: Settings) -> Mapping[str, str]:
    """Return where the token is that can refuse an account."""
    async with AsyncClient(settings.gateway, str(settings.partner["api_key"])) as partner:
        return {
            network["name"]: str(token["contract"])
            for network in await partner.networks()
            for token in network["tokens"]
            if token["symbol"] == USDC.symbol
        }


async def _prepare(sandbox_wallets: Mapping[str, SandboxWallet], usdc: Mapping[str, str]) -> None:
    """Make the recipient that takes nothing, on every chain."""
    refuses = OUTCOME_DESCRIPTIONS[SandboxOutcome.PAYOUT_FAILS].address
    for network, sandbox_wallet in sandbox_wallets.items():
        await sandbox_wallet.resume_mining()
        await refuse_at(sandbox_wallet.node, refuses)
        if network in usdc:
            await sandbox_wallet.block_at_usdc(usdc[network], refuses, funder_key())


async def _receive(settings: Settings, bench: Bench, refuses: Refusals) -> AsgiServer:
    settings.received.parent.mkdir(parents=True, exist_ok=True)
    secret = str(settings.partner["webhook"]["secret"])
    app = make_app(secret, settings.received, refuses=refuses, beside=bench.routes())
    server = AsgiServer(app, settings.host, settings.port)
    await server.start()
    return server


def main() -> None:
    logging.basicConfig(format="%(asctime)s %(message)s", level=logging.INFO)
    logging.getLogger("httpx").setLevel(logging.WARNING)  # a line per request otherwise
    try:
        asyncio.run(run(Settings.from_environment()))
    except NotASandbox as error:
        sys.exit(f"refused: {error}")
    except KeyboardInterrupt:
        return


if __name__ == "__main__":
    main()
