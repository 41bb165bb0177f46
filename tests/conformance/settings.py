"""Which deployment is asked, and what is known of it: from the environment, or a stack.json."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

KEY_HEADER = "X-SVC-APIKEY"


@dataclass(frozen=True, slots=True)
class Settings:
    base_url: str
    keys: Mapping[str, str]  # by what they may: secret, publishable, other (of another app)
    key_header: str = KEY_HEADER
    key_alias: str | None = None
    stack: Mapping[str, Any] = field(default_factory=dict)
    folder: Path = Path()  # what paths of the stack are relative to
    webhook_listen: str | None = None  # host:port at which the suite is to receive
    webhook_secret: str | None = None


def read_settings() -> Settings | None:
    """Return None where nobody has said which deployment to ask."""
    told = {
        name.removeprefix("CONFORMANCE_").lower(): value
        for name, value in os.environ.items()
        if name.startswith("CONFORMANCE_") and value
    }
    stack, folder = _stack(told.get("stack"))
    base_url = told.get("base_url") or stack.get("gateway", {}).get("url")
    if base_url is None:
        return None
    keys = {kind: told[f"{kind}_key"] for kind in ("publishable", "other") if f"{kind}_key" in told}
    if "api_key" in told:
        keys["secret"] = told["api_key"]
    partners = stack.get("partners", [])
    for kind, partner in zip(("secret", "other"), partners, strict=False):
        keys.setdefault(kind, partner["api_key"])
    return Settings(
        base_url=base_url.rstrip("/"),
        keys=keys,
        key_header=told.get("key_header", KEY_HEADER),
        key_alias=told.get("key_alias"),
        stack=stack,
        folder=folder,
        webhook_listen=told.get("webhook_listen"),
        webhook_secret=told.get("webhook_secret"),
    )


def _stack(path: str | None) -> tuple[Mapping[str, Any], Path]:
    if path is None or not Path(path).is_file():
        return {}, Path()
    file = Path(path).resolve()
    # It stands in var/ of a checkout, or deeper; its paths begin with var/.
    inside = file.parent
    while inside.name != "var" and inside != inside.parent:
        inside = inside.parent
    return json.loads(file.read_text()), inside.parent
