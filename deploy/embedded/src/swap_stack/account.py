"""The account of the dashboard that a stack makes, and links that sign it in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any, Final

import aiohttp

from swap_stack.daemon import StackError
from swap_stack.keys import Secrets
from swap_stack.partners import DEMO, Operator
from swap_stack.sandbox.settings import SANDBOX
from swap_stack.services import ServicePorts

EMAIL: Final = "developer@swap.localhost"
# A sign-in begins in the first, where `make swap` sends. The other partner stays another's, so that
# isolation can be tried.
ORGANIZATIONS: Final = (DEMO, SANDBOX)
TIMEOUT: Final = aiohttp.ClientTimeout(total=30)


def describe_account(ports: ServicePorts, secrets: Secrets) -> dict[str, str]:
    """Return the account as var/stack.json names it."""
    return {
        "url": ports.public_url("dashboard"),
        "email": EMAIL,
        "password": secrets.dashboard_password,
    }


async def make_account(
    operator: Operator,
    url: str,
    *,
    token: str,
    password: str,
    organizations: Sequence[str] = ORGANIZATIONS,
) -> None:
    """Make the account, unless an earlier start did.

    :param url: the dashboard's internal port.
    :param token: an operator's.
    :raises StackError: when the dashboard refuses.
    """
    if await find_link(url, token) is None:
        for number, organization in enumerate(organizations):
            invited = operator.run(
                *("member", "invite", EMAIL, "--role", "owner", "--organization", organization)
            )
            body = {"email": EMAIL, "invitation": invited["token"]}
            if number == 0:
                await _order(url, token, "accounts", {**body, "password": password})
            else:
                await _order(url, token, "memberships", body)


async def make_link(stack: Mapping[str, Any]) -> str | None:
    """Return a link that signs the account of a running stack in, once.

    :raises StackError: when the dashboard refuses.
    """
    urls = [row["internal_url"] for row in stack["services"] if row["name"] == "dashboard"]
    if not urls or stack.get("dashboard") is None:
        return None
    return await find_link(urls[0], stack["operator"]["token"])


async def find_link(url: str, token: str) -> str | None:
    """Return a link for the account; None where there is no account.

    :raises StackError: when the dashboard refuses.
    """
    answer = await _order(url, token, "sign-in-links", {"email": EMAIL})
    return None if answer is None else str(answer["link"])


async def _order(url: str, token: str, what: str, body: Mapping[str, str]) -> Any:
    headers = {"Authorization": f"Bearer {token}"}
    try:
        async with (
            aiohttp.ClientSession(timeout=TIMEOUT, headers=headers) as session,
            session.post(f"{url}/admin/{what}", json=body) as answer,
        ):
            content = await answer.json(content_type=None)
    except (aiohttp.ClientError, TimeoutError, ValueError) as error:
        raise StackError(f"The dashboard does not answer: {error}") from error
    if answer.status == HTTPStatus.NOT_FOUND:
        return None
    if answer.status != HTTPStatus.OK:
        raise StackError(f"The dashboard refused {what}: {content}")
    return content
