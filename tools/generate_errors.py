"""Write docs/errors.md from the enum of error codes."""

from generating import write_or_check

from swap_contracts.public.error_help import HELP
from swap_contracts.public.errors import ERRORS, ErrorCode, FailReason

TARGET = "docs/errors.md"
HEAD = """# Errors

Generated from `errors.py` and `error_help.py` in `libs/contracts/src/swap_contracts/public`
by `make generate`. `GET /api/v2/errors` gives the same list. An error has `error.code`, a
`message` fit to show a user, and `metadata` with `request_id`, `doc_url` and, where a parameter
is at fault, `field_errors`. No error of this interface puts money at risk: what was paid is
credited, refunded or claimable.

Where a retry may help, repeat the request with the same idempotency key; `Retry-After` says when.

| Code | HTTP | A retry may help | Who must act |
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
    help_ = HELP[code]
    example = help_.example if "`" in help_.example else _as_code(help_.example)
    return (
        f'<a id="{anchor(code)}"></a>\n**`{code}`** {ERRORS[code].meaning}\n\n'
        f"- Cause: {help_.cause}\n- What to do: {help_.what_to_do}\n- Example: {example}\n\n"
    )


def _as_code(example: str) -> str:
    return f"`{example}`" if example.startswith("curl ") else example


def page() -> str:
    rows = "".join(row(code) for code in ErrorCode)
    sections = "".join(section(code) for code in ErrorCode)
    reasons = "".join(f"- `{reason}`\n" for reason in FailReason)
    return f"{HEAD}{rows}\n{sections}{REASONS}{reasons}"


if __name__ == "__main__":
    write_or_check({TARGET: page()})
