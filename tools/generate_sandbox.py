"""Write docs/sandbox.md from the sandbox's own table."""

from generating import generated

from swap_stack.catalogue import SLOW, SLOW_BLOCKS, SLOW_USD
from swap_stack.partners import SANDBOX_SECONDS
from swap_stack.sandbox.outcomes import MEANINGS, PREFIX, Meaning, Outcome

TARGET = "docs/sandbox.md"
HEAD = f"""# The sandbox

Generated from `deploy/embedded/src/swap_stack/sandbox/outcomes.py` by `make generate`.

A partner tries every outcome with HTTP alone. In the stack of `make up` or of `docker compose up`
the partner `sandbox` (its key is in `var/stack.json`) creates a swap, and somebody else plays the
user: the recipient's address says how. Any route, any amount, any way to fund it; every other
recipient is left to whoever has a wallet.

```
curl -s -H "X-SVC-APIKEY: $KEY" -H 'content-type: application/json' $URL/api/v2/swaps -d '{{
  "source_network": "ETHEREUM_DEVNET", "source_token": "ETH",
  "destination_network": "BASE_DEVNET", "destination_token": "ETH", "amount": "0.1",
  "destination_address": "{MEANINGS[Outcome.COMPLETED].address}"}}'
```

## Recipients

`{PREFIX}` and three digits:

| digits | outcome | the sandbox | what you see | it takes |
|---|---|---|---|---|
"""
TAIL = f"""
A swap of the sandbox's app waits {SANDBOX_SECONDS} seconds for its deposit, not six hours, so that
a deadline is soon over. {SLOW} deposits of {SLOW_USD:,} dollars or more count after {SLOW_BLOCKS}
blocks, a second each; below that, and for every other token, one block is enough.

Where a deposit is neither made nor refused, the reason is in `var/log/sandbox.log` (`docker compose
logs sandbox`).

## Webhooks

The app's endpoint is the sandbox's own receiver. What it was sent, every attempt of it, is in
`var/webhooks/sandbox.jsonl`. An endpoint of yours beside it is one command:

```
swapctl webhook add --app APP --url http://127.0.0.1:9000/
```

## Your own test app

One of its keys as a line of `var/sandbox/keys` (in containers `/sandbox/keys` of `sandbox`) brings
it in, at once. Only keys of the form `svc_test_…` are taken. A lifetime for its swaps: `swapctl app
create --swap-lifetime`.

## What it can never do

The sandbox is a program beside the services, with a wallet of its own and no right that a partner
and a user have not got. No service knows of it: a magic address is an address, and in live nothing
else. It plays on a catalogue that says `test`, with keys that say `test`, on nodes that are
development chains by their chain id and by what they say they are; otherwise it ends with what is
wrong, and so does not play. [Decision 0032](decisions/0032-the-sandbox-is-a-user.md) says why so,
and each line above is a test: [`tests/e2e/test_sandbox.py`](../tests/e2e/test_sandbox.py),
[`test_sandbox.py`](../deploy/embedded/tests/unit/test_sandbox.py).
"""


def row(outcome: Outcome, meaning: Meaning) -> str:
    needs = meaning.needs or "-"
    return f"| `{meaning.digits}` | {outcome} | {meaning.does} | {meaning.ends} | {needs} |\n"


def page() -> str:
    return HEAD + "".join(row(outcome, meaning) for outcome, meaning in MEANINGS.items()) + TAIL


if __name__ == "__main__":
    generated({TARGET: page()})
