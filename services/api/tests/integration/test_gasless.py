"""Swaps that are funded by a signature, through the public API."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import orjson
import pytest
from api_factories import (
    DAI,
    PAYMASTER,
    USDC,
    a_body,
    a_message,
    a_swap,
)
from api_harness import App, Harness
from eth_account import Account
from gasless_swaps import (
    KEY,
    WALLET,
    a_gasless_body,
    a_gasless_catalogue,
    an_app_with_offers,
    create_gasless_swap,
    steps,
    to_sign,
)

from swap_chains.evm.codec import selector
from swap_chains.ports import CallSimulation
from swap_contracts.quoting import AssetRef
from swap_contracts.swaps import Authorization

pytestmark = pytest.mark.connected

OTHER_KEY = "0x" + "b2" * 32
ORDER = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
REVERTED = CallSimulation(succeeded=False, is_revert=True, data=b"", text="reverted")


@pytest.fixture
def catalogue_file(tmp_path: Path) -> Path:
    return a_gasless_catalogue(tmp_path)


@pytest.fixture
async def app(api: Harness) -> App:
    return await an_app_with_offers(api)


def signed(typed_data: Any, key: str = KEY) -> str:
    made = Account.sign_typed_data(key, full_message=typed_data)
    return str(made.signature.to_0x_hex())


async def authorize(
    api: Harness, app: App, swap_id: str, signature: str, signer: str = WALLET
) -> tuple[int, Any]:
    body = {"signature": signature, "signer_address": signer}
    answer = await api.post(app, f"/swaps/{swap_id}/authorize", body)
    envelope = answer.json()
    return answer.status_code, envelope["data"] or envelope["error"]


async def status(api: Harness, app: App, swap_id: str) -> Any:
    envelope = (await api.get(app, f"/swaps/{swap_id}/authorize")).json()
    return envelope["data"] or envelope["error"]


async def apply_authorization(api: Harness, data: Any, **members: Any) -> None:
    """Apply a message about an authorization to the read model."""
    swap = data["swap"]
    [row] = await api.rows("SELECT id, app_id, sequence_number, sequence FROM swap")
    quote = data["quote"]
    assert quote["requested_amount"] == 25.5
    authorization: dict[str, Any] = {
        "submission": 1,
        "status": "Initiated",
        "signer": WALLET,
        "nonce": "0x01",
        "valid_before": int((datetime.now(UTC) + timedelta(minutes=20)).timestamp()),
        "detail": None,
        "transaction_hash": None,
        "block_number": None,
        "confirmations_required": 2,
        **members,
    }
    dollars = AssetRef(network="ETHEREUM_DEVNET", token=USDC, decimals=6)
    changed = a_swap(
        swap_id=row.id,
        app_id=row.app_id,
        sequence_number=row.sequence_number,
        sequence=row.sequence + 1,
        method="gasless",
        source=dollars,
        quote=a_swap().quote.model_copy(
            update={
                "source": dollars,
                "requested_base_units": "25500000",
                "source_usd_e18": str(10**18),
            }
        ),
        expires_at=datetime.fromisoformat(swap["created_date"]) + timedelta(hours=6),
        authorization=Authorization(**authorization),
    )
    await api.parts.swaps.store_swaps([a_message(changed)])


async def test_gasless_swap_is_listed_by_its_signer(api: Harness, app: App) -> None:
    data = await create_gasless_swap(api, app)
    listed = [await api.get(app, "/swaps", params={"address": WALLET})]

    await apply_authorization(api, data)
    listed += [await api.get(app, "/swaps", params={"address": WALLET.lower()})]

    ids = [[one["swap"]["id"] for one in answer.json()["data"]] for answer in listed]
    assert ids == [[], [data["swap"]["id"]]]


async def test_a_creation_returns_the_data_to_sign(api: Harness, app: App) -> None:
    action = (await create_gasless_swap(api, app))["next_action"]

    assert (action["step"], action["status"], action["action"]) == ("sign", "action_required", None)
    assert action["detail"] == "Connect the wallet that will sign, or pass source_address"
    assert (await create_gasless_swap(api, app, source_address=WALLET))["next_action"] is None


class TestCapabilities:
    async def test_tokens_have_their_signature_method(self, api: Harness, app: App) -> None:
        networks = (await api.get(app, "/networks")).json()["data"]

        capabilities = {
            (network["name"], token["symbol"]): (
                token["supports_gasless_deposit"],
                token["gasless_standard"],
            )
            for network in networks
            for token in network["tokens"]
        }
        assert capabilities["ETHEREUM_DEVNET", "ETH"] == (False, "")
        assert capabilities["ETHEREUM_DEVNET", "USDC"] == (True, "eip3009")
        assert capabilities["ETHEREUM_DEVNET", "DAI"] == (True, "eip2612")
        assert capabilities["BARE_DEVNET", "USDC"] == (False, "")
        assert capabilities["ETHEREUM_DEVNET", "USDT"] == (False, "")

    async def test_a_token_with_only_permit2_is_not_gasless(self, api: Harness, app: App) -> None:
        """Neither priced nor created, and no other method requests an approval of Permit2."""
        query = {
            "source_network": "ETHEREUM_DEVNET",
            "source_token": "USDT",
            "destination_network": "BASE_DEVNET",
            "destination_token": "USDC",
            "amount": 25.5,
            "use_gasless": "true",
        }
        answers = [
            await api.create(app, a_gasless_body(source_token="USDT")),
            *[await api.get(app, path, params=query) for path in ("/quote", "/limits")],
        ]

        for answer in answers:
            assert answer.status_code == 400
            error = answer.json()["error"]
            assert error["code"] == "UNSUPPORTED_GASLESS"
            assert "choose another funding method" in error["message"]
        way = a_body(source_token="USDT", amount=25.5)
        swap_id = (await api.create(app, way)).json()["data"]["swap"]["id"]
        found = await steps(api, app, swap_id, source_address=WALLET)
        assert {step["step"] for step in found} <= {"approve", "deposit"}
        assert not any("permit2" in (step["signing_standard"] or "") for step in found)

    async def test_change_the_list_of_networks_immediately(self, api: Harness, app: App) -> None:
        before = await api.get(app, "/networks")
        api.chains.against[USDC] = ["its EIP-712 domain is another"]
        await api.parts.funding.offers.gasless.refresh()
        after = await api.get(app, "/networks")

        assert before.text.count('"eip3009"') > after.text.count('"eip3009"')

    async def test_gasless_is_not_offered_before_the_chain_was_read(self, api: Harness) -> None:
        api.chains.is_away = True
        app = await api.an_app()
        await api.parts.funding.offers.gasless.refresh()

        answer = await api.create(app, a_gasless_body())

        assert (answer.status_code, answer.json()["error"]["code"]) == (400, "UNSUPPORTED_GASLESS")

    @pytest.mark.fault("G6")
    async def test_g6_a_token_whose_domain_is_another_is_not_offered(
        self, api: Harness, app: App
    ) -> None:
        api.chains.against[USDC] = ["its EIP-712 domain is not what the catalogue says"]
        await api.parts.funding.offers.gasless.refresh()

        answer = await api.create(app, a_gasless_body())

        assert answer.json()["error"]["code"] == "UNSUPPORTED_GASLESS"
        assert "another funding method" in answer.json()["error"]["message"]

    @pytest.mark.parametrize(
        ("body", "code"),
        [
            ({"source_token": "ETH", "amount": 1}, "UNSUPPORTED_GASLESS"),
            ({"source_network": "BARE_DEVNET"}, "UNSUPPORTED_GASLESS"),
            ({"use_deposit_address": True}, "CONFLICTING_FUNDING_METHODS"),
        ],
    )
    async def test_unsupported_gasless_order_is_refused(
        self, api: Harness, app: App, body: dict[str, Any], code: str
    ) -> None:
        answer = await api.create(app, a_gasless_body(**body))

        assert (answer.status_code, answer.json()["error"]["code"]) == (400, code)

    async def test_gasless_can_be_combined_with_the_depository(
        self, api: Harness, app: App
    ) -> None:
        assert (await create_gasless_swap(api, app, use_depository=True))["deposit_actions"] == []


class TestWhatIsSigned:
    async def test_is_requested_from_the_named_wallet(self, api: Harness, app: App) -> None:
        data = await create_gasless_swap(api, app)
        assert data["deposit_actions"] == []
        assert data["swap"]["source_address"] is None

        sign = await to_sign(api, app, data["swap"]["id"])

        typed = sign["typed_data"]
        assert (sign["type"], sign["step"], sign["status"]) == ("sign", "sign", "action_required")
        assert sign["signing_standard"] == "eip3009"
        assert (sign["to_address"], sign["amount"]) == (PAYMASTER, 25.5)
        assert sign["amount_in_base_units"] == "25500000"
        assert typed["primaryType"] == "ReceiveWithAuthorization"
        assert typed["domain"] == {
            "name": "USD Coin",
            "version": "2",
            "chainId": 31337,
            "verifyingContract": USDC,
        }
        assert "EIP712Domain" in typed["types"]
        assert typed["message"] == {
            "from": WALLET,
            "to": PAYMASTER,
            "value": "25500000",
            "validAfter": "0",
            "validBefore": str(sign["valid_before"]),
            "nonce": sign["nonce"],
        }

    async def test_is_a_permit_where_the_token_has_no_authorizations(
        self, api: Harness, app: App
    ) -> None:
        api.chains.next_nonce = 4
        data = await create_gasless_swap(api, app, source_token="DAI")

        sign = await to_sign(api, app, data["swap"]["id"])

        assert sign["signing_standard"] == "eip2612"
        assert sign["typed_data"]["primaryType"] == "Permit"
        assert sign["typed_data"]["message"]["nonce"] == sign["nonce"] == "4"
        assert sign["typed_data"]["domain"]["verifyingContract"] == DAI

    async def test_stands_in_the_answer_where_the_wallet_is_known(
        self, api: Harness, app: App
    ) -> None:
        data = await create_gasless_swap(api, app, source_address=WALLET)

        [action] = data["deposit_actions"]
        sign = await to_sign(api, app, data["swap"]["id"])
        [read] = (
            await api.get(
                app, f"/swaps/{data['swap']['id']}", params={"source_address": WALLET.lower()}
            )
        ).json()["data"]["deposit_actions"]

        assert data["swap"]["source_address"] is None
        assert orjson.dumps(action) == orjson.dumps({name: sign[name] for name in action})
        assert orjson.dumps(action) == orjson.dumps(read)

    async def test_stays_the_same_until_its_nonce_is_used(self, api: Harness, app: App) -> None:
        data = await create_gasless_swap(api, app, source_token="DAI")
        first = await to_sign(api, app, data["swap"]["id"])
        assert await to_sign(api, app, data["swap"]["id"]) == first

        api.chains.next_nonce = 1
        second = await to_sign(api, app, data["swap"]["id"])

        assert (first["nonce"], second["nonce"]) == ("0", "1")

    async def test_requires_the_wallet(self, api: Harness, app: App) -> None:
        data = await create_gasless_swap(api, app)

        refused = await steps(api, app, data["swap"]["id"])

        assert refused["code"] == "SOURCE_ADDRESS_REQUIRED"
        assert refused["message"] == "Connect the wallet that will sign, or pass source_address"

    async def test_is_within_about_half_an_hour(self, api: Harness, app: App) -> None:
        data = await create_gasless_swap(api, app)

        sign = await to_sign(api, app, data["swap"]["id"])

        left = sign["valid_before"] - datetime.now(UTC).timestamp()
        assert 29 * 60 < left <= 30 * 60

    async def test_a_cancelled_authorization_is_reported_as_ended(
        self, api: Harness, app: App
    ) -> None:
        data = await create_gasless_swap(api, app)
        api.chains.is_nonce_used = True

        [sign, _] = await steps(api, app, data["swap"]["id"], source_address=WALLET)

        assert (sign["status"], sign["typed_data"]) == ("failed", None)
        assert "create another swap" in sign["detail"]


class TestAuthorize:
    async def test_accepts_a_signature_and_notifies_the_settler(
        self, api: Harness, app: App
    ) -> None:
        data = await create_gasless_swap(api, app)
        sign = await to_sign(api, app, data["swap"]["id"])

        answer = await authorize(api, app, data["swap"]["id"], signed(sign["typed_data"]))

        assert answer == (200, {"status": "Initiated", "transaction": None})
        [row] = await api.rows(
            "SELECT convert_from(payload, 'UTF8') AS payload FROM outbox "
            "WHERE convert_from(payload, 'UTF8') LIKE '%AuthorizationSubmitted%'"
        )
        body = orjson.loads(row.payload)["body"]
        assert orjson.loads(body["typed_data"]) == sign["typed_data"]
        assert (body["signer"], body["submission"]) == (WALLET, 1)
        [done, publish] = await steps(api, app, data["swap"]["id"])
        assert (done["status"], publish["status"]) == ("completed", "in_progress")
        assert done["typed_data"] is None

    @pytest.mark.fault("G13")
    async def test_g13_a_second_one_is_refused(self, api: Harness, app: App) -> None:
        data = await create_gasless_swap(api, app)
        sign = await to_sign(api, app, data["swap"]["id"])
        await authorize(api, app, data["swap"]["id"], signed(sign["typed_data"]))

        code, error = await authorize(api, app, data["swap"]["id"], signed(sign["typed_data"]))

        assert (code, error["code"]) == (400, "AUTHORIZATION_ALREADY_SUBMITTED")
        assert "already authorized" in error["message"]

    async def test_without_a_sign_request_it_is_refused(self, api: Harness, app: App) -> None:
        direct = (await api.create(app, a_body())).json()["data"]
        gasless = await create_gasless_swap(api, app)

        for data in (direct, gasless):
            code, error = await authorize(api, app, data["swap"]["id"], "0x" + "11" * 65)
            assert (code, error["code"]) == (400, "AUTHORIZATION_NOT_REQUESTED")
            assert "no authorization request found" in error["message"]

    async def test_swap_of_another_partner_is_not_found(self, api: Harness, app: App) -> None:
        data = await create_gasless_swap(api, app)
        other = await api.an_app()

        code, error = await authorize(api, other, data["swap"]["id"], "0x" + "11" * 65)

        assert (code, error["code"]) == (404, "NOT_FOUND")

    async def test_correct_signature_is_accepted_after_one_of_another_key(
        self, api: Harness, app: App
    ) -> None:
        data = await create_gasless_swap(api, app)
        sign = await to_sign(api, app, data["swap"]["id"])
        assert (await status(api, app, data["swap"]["id"]))["status"] == "Initiated"

        code, error = await authorize(
            api, app, data["swap"]["id"], signed(sign["typed_data"], OTHER_KEY)
        )

        assert (code, error["code"]) == (400, "SIGNATURE_INVALID")
        assert api.chains.tries == []
        assert (await status(api, app, data["swap"]["id"]))["status"] == "Rejected"
        answer = await authorize(api, app, data["swap"]["id"], signed(sign["typed_data"]))
        assert answer == (200, {"status": "Initiated", "transaction": None})

    @pytest.mark.fault("G7")
    async def test_g7_high_s_is_accepted_in_its_low_form(self, api: Harness, app: App) -> None:
        data = await create_gasless_swap(api, app)
        sign = await to_sign(api, app, data["swap"]["id"])
        plain = bytes.fromhex(signed(sign["typed_data"])[2:])
        high = ORDER - int.from_bytes(plain[32:64], "big")
        bent = plain[:32] + high.to_bytes(32, "big") + bytes([55 - plain[64]])

        code, _ = await authorize(api, app, data["swap"]["id"], "0x" + bent.hex())

        assert code == 200
        assert api.chains.tries[0][1] == plain

    @pytest.mark.fault("G8")
    async def test_g8_a_key_that_the_token_does_not_take_is_refused(
        self, api: Harness, app: App
    ) -> None:
        """The key of a delegating account is recovered, but the token calls its code."""
        data = await create_gasless_swap(api, app)
        sign = await to_sign(api, app, data["swap"]["id"])
        api.chains.has_code = True
        api.chains.answer = REVERTED

        code, error = await authorize(api, app, data["swap"]["id"], signed(sign["typed_data"]))

        assert (code, error["code"]) == (400, "SIGNATURE_INVALID")

    @pytest.mark.fault("G9")
    async def test_g9_a_wallet_with_code_is_decided_by_the_very_call(
        self, api: Harness, app: App
    ) -> None:
        data = await create_gasless_swap(api, app)
        await to_sign(api, app, data["swap"]["id"])
        api.chains.has_code = True

        code, _ = await authorize(api, app, data["swap"]["id"], "0x" + "77" * 130)

        assert code == 200
        assert len(api.chains.tries) == 1

    async def test_a_permit_of_a_wallet_with_code_is_refused(self, api: Harness, app: App) -> None:
        data = await create_gasless_swap(api, app, source_token="DAI")
        await to_sign(api, app, data["swap"]["id"])
        api.chains.has_code = True

        code, error = await authorize(api, app, data["swap"]["id"], "0x" + "77" * 130)

        assert (code, error["code"]) == (400, "SIGNATURE_INVALID")
        assert "wallets with code" in error["message"]

    async def test_a_signer_with_too_little_is_refused(self, api: Harness, app: App) -> None:
        data = await create_gasless_swap(api, app)
        sign = await to_sign(api, app, data["swap"]["id"])
        api.chains.balance = 25_499_999

        code, error = await authorize(api, app, data["swap"]["id"], signed(sign["typed_data"]))

        assert (code, error["code"]) == (400, "INSUFFICIENT_SIGNER_BALANCE")
        assert (await status(api, app, data["swap"]["id"]))["status"] == "Initiated"

    @pytest.mark.fault("G18")
    async def test_g18_while_the_depository_is_paused_another_method_is_named(
        self, api: Harness, app: App
    ) -> None:
        data = await create_gasless_swap(api, app)
        sign = await to_sign(api, app, data["swap"]["id"])
        api.chains.answer = CallSimulation(
            succeeded=False, is_revert=True, data=selector("EnforcedPause()"), text="paused"
        )

        code, error = await authorize(api, app, data["swap"]["id"], signed(sign["typed_data"]))

        assert (code, error["code"]) == (400, "UNSUPPORTED_GASLESS")
        assert "another funding method" in error["message"]

    async def test_while_no_node_answers_signatures_are_refused(
        self, api: Harness, app: App
    ) -> None:
        data = await create_gasless_swap(api, app)
        sign = await to_sign(api, app, data["swap"]["id"])
        api.chains.is_away = True

        code, error = await authorize(api, app, data["swap"]["id"], signed(sign["typed_data"]))

        assert (code, error["code"]) == (503, "SERVICE_UNAVAILABLE")

    @pytest.mark.parametrize("signature", ["0x", "signed", "0xzz", "0x" + "11" * 5000])
    async def test_malformed_signature_is_refused(
        self, api: Harness, app: App, signature: str
    ) -> None:
        data = await create_gasless_swap(api, app)
        await to_sign(api, app, data["swap"]["id"])

        code, error = await authorize(api, app, data["swap"]["id"], signature)

        assert (code, error["code"]) == (400, "VALIDATION_ERROR")

    @pytest.mark.fault("G12")
    async def test_g12_what_was_signed_too_late_is_expired(self, api: Harness, app: App) -> None:
        data = await create_gasless_swap(api, app)
        sign = await to_sign(api, app, data["swap"]["id"])
        await api.rows(
            "UPDATE sign_request SET valid_before = extract(epoch FROM now())::bigint + 20 "
            "RETURNING issue"
        )
        [row] = await api.rows("SELECT valid_before FROM sign_request")
        typed = sign["typed_data"]
        typed["message"]["validBefore"] = str(row.valid_before)

        code, error = await authorize(api, app, data["swap"]["id"], signed(typed))

        assert (code, error["code"]) == (400, "AUTHORIZATION_EXPIRED")
        assert "expired" in error["message"]


class TestStatus:
    async def test_is_an_error_before_a_sign_request(self, api: Harness, app: App) -> None:
        data = await create_gasless_swap(api, app)

        assert (await status(api, app, data["swap"]["id"]))["code"] == (
            "AUTHORIZATION_NOT_REQUESTED"
        )

    async def test_follows_the_deposit(self, api: Harness, app: App) -> None:
        data = await create_gasless_swap(api, app)
        swap_id = data["swap"]["id"]
        await authorize(api, app, swap_id, signed((await to_sign(api, app, swap_id))["typed_data"]))

        await apply_authorization(api, data, status="Published", transaction_hash="0x" + "cd" * 32)

        assert await status(api, app, swap_id) == {
            "status": "Published",
            "transaction": {
                "transaction_id": "0x" + "cd" * 32,
                "transaction_hash": "0x" + "cd" * 32,
                "status": "initiated",
                "confirmations": 0,
                "max_confirmations": 2,
            },
        }

    async def test_after_insufficient_the_same_signature_can_be_submitted_again(
        self, api: Harness, app: App
    ) -> None:
        data = await create_gasless_swap(api, app)
        swap_id = data["swap"]["id"]
        first = await to_sign(api, app, swap_id)
        await authorize(api, app, swap_id, signed(first["typed_data"]))
        await apply_authorization(api, data, status="Insufficient", detail="too little")

        again = await to_sign(api, app, swap_id)
        answer = await authorize(api, app, swap_id, signed(first["typed_data"]))

        assert again["typed_data"] == first["typed_data"]
        assert again["detail"] == "too little"
        assert answer == (200, {"status": "Initiated", "transaction": None})

    async def test_a_rejected_signature_is_requested_again_only_after_its_end(
        self, api: Harness, app: App
    ) -> None:
        data = await create_gasless_swap(api, app)
        swap_id = data["swap"]["id"]
        sign = await to_sign(api, app, swap_id)
        await authorize(api, app, swap_id, signed(sign["typed_data"]))
        await apply_authorization(api, data, status="Rejected", detail="refused")

        [failed, _] = await steps(api, app, swap_id, source_address=WALLET)
        code, error = await authorize(api, app, swap_id, signed(sign["typed_data"]))

        assert (failed["status"], failed["detail"]) == ("failed", "refused")
        assert (code, error["code"]) == (400, "AUTHORIZATION_ALREADY_SUBMITTED")

    async def test_after_expiry_another_signature_can_be_submitted(
        self, api: Harness, app: App
    ) -> None:
        data = await create_gasless_swap(api, app)
        swap_id = data["swap"]["id"]
        await authorize(api, app, swap_id, signed((await to_sign(api, app, swap_id))["typed_data"]))
        await api.rows("UPDATE sign_request SET valid_before = 1 RETURNING issue")
        await apply_authorization(api, data, status="Expired", valid_before=1)
        assert (await status(api, app, swap_id))["status"] == "Expired"

        sign = await to_sign(api, app, swap_id)
        answer = await authorize(api, app, swap_id, signed(sign["typed_data"]))

        assert answer == (200, {"status": "Initiated", "transaction": None})
