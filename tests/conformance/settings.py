"""The deployment under test and its settings: from the environment, or a stack.json."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

KEY_HEADER = "X-SVC-APIKEY"
CONFIGURED_KEYS = (
    "publishable",  # of the same app
    "other",  # a secret key of another app
    "revoked",
    "expired",
    "foreign",  # of the other environment
    "brief",  # of an app with a deposit window of seconds
)
OPERATED = ("api", "settler", "notifier")  # services with operator requests


@dataclass(frozen=True, slots=True)
class OperatorAccess:
    """The internal ports of services, and the token for them."""

    token: str
    urls: Mapping[str, str]
    app_id: str


@dataclass(frozen=True, slots=True)
class Settings:
    base_url: str
    keys: Mapping[str, str]  # by kind: secret, publishable, other (of another app)
    key_header: str = KEY_HEADER
    key_alias: str | None = None
    stack: Mapping[str, Any] = field(default_factory=dict)
    folder: Path = Path()  # the base of the stack's paths
    operator: OperatorAccess | None = None
    is_sandbox: bool = False  # whether a sandbox acts as the user for the key's app
    webhook_listen: str | None = None  # host:port of the suite's receiver
    webhook_secret: str | None = None


def read_settings() -> Settings | None:
    """Return None where no deployment is configured."""
    options = {
        name.removeprefix("CONFORMANCE_").lower(): value
        for name, value in os.environ.items()
        if name.startswith("CONFORMANCE_") and value
    }
    stack, folder = _stack(options.get("stack"))
    base_url = options.get("base_url") or stack.get("gateway", {}).get("url")
    if base_url is None:
        return None
    keys = {kind: options[f"{kind}_key"] for kind in CONFIGURED_KEYS if f"{kind}_key" in options}
    if "api_key" in options:
        keys["secret"] = options["api_key"]
    partners = stack.get("partners", [])
    for kind, partner in zip(("secret", "other"), partners, strict=False):
        keys.setdefault(kind, partner["api_key"])
    return Settings(
        base_url=base_url.rstrip("/"),
        keys=keys,
        key_header=options.get("key_header", KEY_HEADER),
        key_alias=options.get("key_alias"),
        stack=stack,
        folder=folder,
        operator=_operator(options, stack),
        is_sandbox=options.get("sandbox", "") not in ("", "0", "false"),
        webhook_listen=options.get("webhook_listen"),
        webhook_secret=options.get("webhook_secret"),
    )


def _operator(options: Mapping[str, str], stack: Mapping[str, Any]) -> OperatorAccess | None:
    """Return the configured access, or that of a stack.json; None without a token or an app."""
    urls = {row["name"]: row["internal_url"] for row in stack.get("services", ())}
    for name in OPERATED:
        urls[name] = options.get(f"operator_{name}", urls.get(name, ""))
    partners = stack.get("partners") or [{}]
    token = options.get("operator_token") or stack.get("operator", {}).get("token")
    app_id = options.get("app_id") or partners[0].get("app_id")
    if token is None or app_id is None:
        return None
    return OperatorAccess(token, {name: url for name, url in urls.items() if url}, app_id)


def _stack(path: str | None) -> tuple[Mapping[str, Any], Path]:
    if path is None or not Path(path).is_file():
        return {}, Path()
    file = Path(path).resolve()
    # It is in var/ of a checkout, or deeper; its paths begin with var/.
    inside = file.parent
    while inside.name != "var" and inside != inside.parent:
        inside = inside.parent
    return json.loads(file.read_text()), inside.parent
