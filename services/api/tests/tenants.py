"""A tenant with one object of each kind, and the values that identify its answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid4

from api_factories import a_message, a_swap, an_input
from api_harness import App, Harness
from fake_webhooks import FakeWebhooks
from people import Person, an_owner

from swap_api.model.keys import Allowances, Environment, KeyKind
from swap_domain.lifecycle import Status

TABLES = ("swap", "app", "api_key", "invitation", "member", "deposit_hint", "sign_request")


@dataclass(frozen=True, slots=True)
class Tenant:
    """An organization, its members, its apps, and the swap of one of them."""

    owner: Person
    secret: App
    publishable: App
    live: App  # of another app, for the other environment
    values: Mapping[str, str]  # by the name of the path parameter

    @property
    def marks(self) -> frozenset[str]:
        """Return the values that no answer to another tenant may contain."""
        return frozenset({*self.values.values(), self.name, self.reference})

    @property
    def name(self) -> str:
        return f"organization {self.values['organizationId'][:8]}"

    @property
    def reference(self) -> str:
        return f"order {self.values['swapId'][:8]}"


async def a_tenant(api: Harness, webhooks: FakeWebhooks) -> Tenant:
    management = api.parts.management
    owner = await an_owner(api)
    await owner.post_ok(
        f"/organizations/{owner.organization_id}",
        {"name": f"organization {owner.organization_id[:8]}"},
    )
    secret = await _an_app(api, owner, Environment.TEST)
    publishable = await api.another_key(secret, KeyKind.PUBLISHABLE)
    live = await _an_app(api, owner, Environment.LIVE)
    invited = await owner.post_ok(
        f"/organizations/{owner.organization_id}/invitations",
        {"name": f"ada {owner.organization_id}", "role": "viewer"},
    )
    token = await owner.post_ok("/me/tokens", {"label": f"laptop {owner.organization_id}"})
    webhook = await management.manage_webhooks._endpoints.add(
        secret.id,
        {"url": "https://shop.example", "wants_updates": False, "wants_notices": False},
        bound=None,
    )
    sent = await webhooks.order(UUID(webhook["id"]), "test", {})
    swap_id, transaction_hash = uuid4(), "0x" + uuid4().hex * 2
    swap = a_swap(
        swap_id=swap_id,
        app_id=secret.id,
        reference_id=f"order {str(swap_id)[:8]}",
        status=Status.PAYOUT_PENDING,
        transactions=(an_input(transaction_hash=transaction_hash),),
    )
    await api.parts.swaps.store_swaps([a_message(swap)])
    values = {
        "organizationId": owner.organization_id,
        "appId": str(secret.id),
        "keyId": str(publishable.key_id),
        "memberId": owner.id,
        "invitationId": invited["id"],
        "tokenId": token["id"],
        "webhookId": webhook["id"],
        "messageId": sent["message_id"],
        "swapId": str(swap_id),
        "transactionHash": transaction_hash,
    }
    return Tenant(owner, secret, publishable, live, values)


async def link_token(api: Harness, tenant: Tenant, swap_id: str) -> str:
    """Return the token of a link to a swap of the tenant, with every right."""
    path = f"/swaps/{swap_id}/pay_link?may_set_refund_address=true"
    answer = await api.get(tenant.secret, path)
    return str(answer.json()["data"]["read_token"])


async def a_closed_key(api: Harness, tenant: Tenant, how: str) -> str:
    """Return a revoked key of the tenant."""
    key = await api.another_key(tenant.secret, KeyKind.SECRET)
    if how == "revoked":
        await api.parts.management.manage_keys.revoke(key.key_id)
    else:
        ended = "UPDATE api_key SET expires_at = now() WHERE id = :id RETURNING id"
        await api.rows(ended, id=key.key_id)
    return key.key


async def everything_of(api: Harness, webhooks: FakeWebhooks) -> Any:
    """Return the rows that requests must not change, except the last use of keys."""
    rows = {
        table: sorted(str(row) for row in await api.rows(f"SELECT * FROM {table}"))
        for table in TABLES
    }
    outbox = await api.rows("SELECT count(*) AS number FROM outbox")
    return rows, outbox, list(webhooks.done), sorted(webhooks.endpoints)


async def _an_app(api: Harness, owner: Person, environment: Environment) -> App:
    made = await api.parts.management.manage_partners.add_app(
        owner.organization_id,  # type: ignore[arg-type]
        name=f"app of {owner.organization_id}",
        environment=environment,
        allowances=Allowances(is_lifted=True),
    )
    issued = await api.parts.management.manage_keys.issue(made["id"], KeyKind.SECRET)
    return App(made["id"], issued.key, issued.id, made["organization_id"])
