"""Write docs/states.md from the three status tables and the causes of changes."""

from collections.abc import Mapping
from enum import StrEnum

from generating import write_or_check

from swap_contracts.public.change_causes import CAUSE_TEXTS
from swap_domain import authorization_status, lifecycle, transaction_status

TARGET = "docs/states.md"
HEAD = """# States

Generated from the tables in `libs/domain/src/swap_domain` by `make generate`. A pair of status and
trigger that has no arrow here is refused. Where more than one arrow leaves a status, pure functions
in the `decide` packages of `services/settler/src/swap_settler` choose the trigger.
"""


def diagram(table: Mapping[tuple[StrEnum, StrEnum], StrEnum], first: StrEnum) -> str:
    arrows = [f"    {a.value} --> {b.value}: {t.value}" for (a, t), b in table.items()]
    outside = {status for status, _ in table}
    ends = [f"    {s.value} --> [*]" for s in type(first) if s not in outside]
    lines = ["```mermaid", "stateDiagram-v2", f"    [*] --> {first.value}", *arrows, *ends, "```"]
    return "\n".join(lines)


def causes() -> str:
    rows = [f"| `{cause}` | {text} | {actor} |" for cause, (actor, text) in CAUSE_TEXTS.items()]
    return "\n".join(["| Cause | What happened | Who acted |", "|---|---|---|", *rows])


def page() -> str:
    swap = diagram(lifecycle.TRANSITIONS, lifecycle.Status.DEPOSIT_PENDING)
    transaction = diagram(
        transaction_status.TRANSITIONS, transaction_status.TransactionStatus.PENDING
    )
    authorization = diagram(
        authorization_status.TRANSITIONS, authorization_status.AuthorizationStatus.INITIATED
    )
    return "\n".join(
        [
            HEAD,
            f"## A swap\n\n{swap}\n",
            "A fact that moves no status (seen, sent, mined) spends a sequence all the same: the\n"
            "history then has two rows of one status.\n",
            "### Causes\n\nAn event of `GET /api/v2/swaps/{swapId}/events` has the cause of the "
            "change. It is null for a change by\nan earlier version of the settler. "
            "Later versions may add causes.\n\n"
            f"{causes()}\n",
            f"## A transaction of a swap\n\n{transaction}\n",
            "A deposit begins as `initiated`: it is seen before anybody decides about it.\n",
            f"## A gasless authorization\n\n{authorization}\n",
        ]
    )


if __name__ == "__main__":
    write_or_check({TARGET: page()})
