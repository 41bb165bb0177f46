"""The page that `doc_url` of every error leads to, unless the deployment has another one."""

from __future__ import annotations

import re
from html import escape
from typing import Final

from starlette.responses import HTMLResponse

from swap_contracts.public.error_help import HELP
from swap_contracts.public.errors import ERRORS, ErrorCode

HEAD: Final = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Errors</title>
<style>
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
section { border-top: 1px solid #8884; padding: 0 0 .5rem }
section:target { background: #fd06 }
dt { font-weight: 600 }
</style>
<h1>Errors</h1>
<p>No error of this interface puts money at risk: what was paid is credited, refunded or claimable.
Where a retry may help, send the same request with the same idempotency key.</p>
"""
CODE: Final = re.compile("`([^`]+)`")


def error_page() -> HTMLResponse:
    """Return the page; it loads nothing else."""
    text = HEAD + "".join(_section(code) for code in ErrorCode)
    return HTMLResponse(text)


def anchor_of(code: ErrorCode) -> str:
    return code.lower().replace("_", "-")


def _section(code: ErrorCode) -> str:
    facts, help_ = ERRORS[code], HELP[code]
    again = "A retry may help." if facts.is_retryable else "A retry does not help."
    lines = {"Cause": help_.cause, "What to do": help_.what_to_do, "Example": help_.example}
    listed = "".join(f"<dt>{name}</dt><dd>{_prose(text)}</dd>" for name, text in lines.items())
    return (
        f'<section id="{anchor_of(code)}"><h2>{code}</h2><p>{_prose(facts.meaning)}</p>'
        f"<dl>{listed}</dl>"
        f"<p>HTTP {facts.http_status}. {again} The {facts.who_must_act} must act.</p></section>\n"
    )


def _prose(text: str) -> str:
    return CODE.sub(r"<code>\1</code>", escape(text))
