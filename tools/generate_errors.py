"""Write docs/errors.md from the enum of error codes."""

from generating import generated

from swap_contracts.public.errors import ERRORS, ErrorCode, FailReason

TARGET = "docs/errors.md"
HEAD = """# Errors

Generated from `libs/contracts/src/swap_contracts/public/errors.py` by `make generate`. The same
list is given by `GET /api/v2/errors`. An answer that says no has `error.code`, a `message` fit to
show a user, and `metadata` with `request_id`, `doc_url` and, for a validation, `field_errors`. No
error of this interface puts money at risk: what was paid is credited, refunded or claimable.

Ask again later, with the same idempotency key, where that may help; `Retry-After` says when.

| Code | HTTP | Asking again may help | Who must act |
|---|---|---|---|
"""
REASONS = """## Why a swap failed

`fail_reason` of a swap that is `failed`, or that was refunded:

"""


def row(code: ErrorCode) -> str:
    facts = ERRORS[code]
    again = "yes" if facts.is_retryable else "no"
    return f"| [{code}](#{anchor(code)}) | {facts.http_status} | {again} | {facts.who_must_act} |\n"


def anchor(code: ErrorCode) -> str:
    return code.lower().replace("_", "-")


def section(code: ErrorCode) -> str:
    return f'<a id="{anchor(code)}"></a>\n**`{code}`** {ERRORS[code].meaning}\n\n'


def page() -> str:
    rows = "".join(row(code) for code in ErrorCode)
    sections = "".join(section(code) for code in ErrorCode)
    reasons = "".join(f"- `{reason}`\n" for reason in FailReason)
    return f"{HEAD}{rows}\n{sections}{REASONS}{reasons}"


if __name__ == "__main__":
    generated({TARGET: page()})
