"""What an invitation is for, as its holder reads it before accepting."""

from __future__ import annotations

from uuid import UUID

import pytest
from api_harness import Harness
from people import BASE, accept, an_owner

from swap_api.model.members import OPERATOR, Role
from swap_contracts.public.management import InvitedModel

pytestmark = pytest.mark.connected


async def test_an_invitation_is_read_by_its_token_and_stays_open(api: Harness) -> None:
    owner = await an_owner(api)
    path = f"/organizations/{owner.organization_id}/invitations"
    by_member = await owner.post_ok(path, {"name": "ada@shop.example", "role": "viewer"})
    by_operator = await api.parts.management.manage_members.invite(
        UUID(owner.organization_id), name="eve", role=Role.OWNER, actor=OPERATOR
    )

    answers = [
        await api.client.post(f"{BASE}/invitations/inspect", json={"token": token})
        for token in (by_member["token"], by_operator.token, by_member["token"])
    ]

    first, second, again = [InvitedModel.model_validate(one.json()["data"]) for one in answers]
    assert (first.name, first.role, first.invited_by) == ("ada@shop.example", "viewer", "owner")
    assert (first.organization.name, again) == ("Shop", first)
    assert (second.name, second.invited_by) == ("eve", None)
    assert (await accept(api, by_member["token"])).organization_id == owner.organization_id
    refused = await api.client.post(
        f"{BASE}/invitations/inspect", json={"token": by_member["token"]}
    )
    assert refused.status_code == 400
    assert refused.json()["error"]["code"] == "INVITATION_INVALID"
