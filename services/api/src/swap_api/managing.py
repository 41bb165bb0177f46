"""Builds what manages organizations: a part of the wiring with a page of its own."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import TypedDict

from swap_api.adapters.callers import KeyHashes
from swap_api.adapters.keys import PostgresKeys
from swap_api.adapters.members import PostgresMembers
from swap_api.adapters.partners import PostgresPartners
from swap_api.adapters.webhook_endpoints import NotifierEndpoints
from swap_api.domain.bounds import Bounds
from swap_api.http.management import ManagementEndpoints
from swap_api.http.members import MemberEndpoints
from swap_api.http.webhooks import WebhookEndpoints
from swap_api.ports import NewId
from swap_api.settings import ApiGroup
from swap_api.usecases.identify_member import IdentifyMember
from swap_api.usecases.keep_keys import KeepKeys
from swap_api.usecases.keep_members import KeepMembers
from swap_api.usecases.keep_partners import KeepPartners
from swap_api.usecases.keep_webhooks import KeepWebhooks
from swap_runtime.service import Service


class Rooms(TypedDict):
    managed: ManagementEndpoints
    members: MemberEndpoints
    webhooks: WebhookEndpoints


@dataclass(frozen=True, slots=True)
class Management:
    keep_partners: KeepPartners
    keep_keys: KeepKeys
    keep_members: KeepMembers
    keep_webhooks: KeepWebhooks
    identify_member: IdentifyMember
    notifier: NotifierEndpoints

    def rooms(self) -> Rooms:
        """Return what answers the addresses."""
        return {
            "managed": ManagementEndpoints(self.keep_partners, self.keep_keys),
            "members": MemberEndpoints(self.keep_members),
            "webhooks": WebhookEndpoints(self.keep_webhooks),
        }


def build_management(
    service: Service, group: ApiGroup, hashes: KeyHashes, *, new_id: NewId
) -> Management:
    clock = service.clock
    partners, members = PostgresPartners(service.engine), PostgresMembers(service.engine)
    bounds = Bounds(group.bounds.model_dump())
    token = group.notifier_token
    if not token.get_secret_value():
        token = service.settings.operator.token
    if group.notifier_url is not None and not token.get_secret_value():
        raise ValueError("Set SWAP_API__NOTIFIER_TOKEN (an operator with the role service)")
    notifier = NotifierEndpoints(group.notifier_url, token)
    return Management(
        keep_partners=KeepPartners(partners, bounds, clock=clock, new_id=new_id),
        keep_keys=KeepKeys(
            PostgresKeys(service.engine),
            partners,
            bounds,
            clock=clock,
            new_id=new_id,
            new_secret=secrets.token_bytes,
            hash_key=hashes,
        ),
        keep_members=KeepMembers(
            members,
            partners,
            bounds,
            clock=clock,
            new_id=new_id,
            new_secret=secrets.token_bytes,
            hash_token=hashes,
        ),
        keep_webhooks=KeepWebhooks(notifier, partners, partners, bounds, clock=clock),
        identify_member=IdentifyMember(members, hash_token=hashes, clock=clock),
        notifier=notifier,
    )
