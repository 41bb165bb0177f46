"""A wallet in a real browser (EIP-6963): a development key answers the page's requests here."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from eth_utils.address import to_checksum_address
from hexbytes import HexBytes
from web3.types import RPCEndpoint, TxParams

from tests.e2e.gasless import sign
from tests.e2e.outside import User
from tests.support.browser import Page

SCRIPT: Final = Path(__file__).with_name("injected_wallet.js")
ANOTHER_CHAIN: Final = 1  # the wallet's network before it is asked to change it
CHAIN_UNKNOWN: Final = 4902
REJECTED: Final = 4001


class WalletDeclined(Exception):
    def __init__(self, code: int) -> None:
        super().__init__(f"the wallet declines ({code})")
        self.code = code


class InjectedWallet:
    def __init__(self, user: User, *, declines: Sequence[str] = ()) -> None:
        """
        :param declines: methods that the user declines once each.
        """
        self._user = user
        self._chain_id = ANOTHER_CHAIN
        self._declines = [*declines]
        self.methods: list[str] = []
        self.sent: list[str] = []

    async def inject(self, page: Page) -> None:
        """Inject the wallet into later pages, before their scripts run."""
        await page.send("Runtime.addBinding", name="askWallet")
        await page.send("Page.addScriptToEvaluateOnNewDocument", source=SCRIPT.read_text())

    async def answer(self, page: Page) -> None:
        """Answer the page's pending requests."""
        await page.value("1")  # requests of the page come with the answer to a command
        while page.calls:
            call = json.loads(page.calls.pop(0))
            self.methods.append(call["method"])
            result, error = await self._answer(call)
            arguments = ", ".join(json.dumps(one) for one in (call["id"], result, error))
            await page.value(f"window.answerWallet({arguments}); 1")

    async def _answer(self, call: Mapping[str, Any]) -> tuple[Any, dict[str, Any] | None]:
        try:
            if call["method"] in self._declines:
                self._declines.remove(call["method"])
                raise WalletDeclined(REJECTED)
            return await self._result(call["method"], call["params"]), None
        except WalletDeclined as error:
            return None, {"code": error.code, "message": str(error)}

    async def _result(self, method: str, params: Sequence[Any]) -> Any:
        match method:
            case "eth_requestAccounts":
                return [self._user.address]
            case "eth_chainId":
                return hex(self._chain_id)
            case "wallet_switchEthereumChain":
                raise WalletDeclined(CHAIN_UNKNOWN)
            case "wallet_addEthereumChain":
                self._chain_id = int(params[0]["chainId"], 16)
                return None
            case "eth_signTypedData_v4":
                assert params[0] == self._user.address
                return sign(self._user, json.loads(params[1]))
            case "eth_sendTransaction":
                return await self._send(params[0])
        answer = await self._user.chain.provider.make_request(RPCEndpoint(method), list(params))
        return answer["result"]

    async def _send(self, request: Mapping[str, str]) -> str:
        assert request["from"] == self._user.address
        transaction: TxParams = {
            "to": to_checksum_address(request["to"]),
            "value": int(request["value"], 16),  # type: ignore[typeddict-item]
            "data": HexBytes(request.get("data", "0x")),
            "gas": int(request.get("gas", "0x186a0"), 16),
        }
        [sent] = await self._user.send(transaction)
        self.sent.append(sent)
        return sent
