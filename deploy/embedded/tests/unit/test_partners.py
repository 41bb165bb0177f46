"""The operator of a stack that starts."""

from __future__ import annotations

import pytest

from swap_stack.daemon import StackError
from swap_stack.partners import Operator


def test_the_shell_of_another_stack_names_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """`make env` exports them, and `make down` removes the file that they name."""
    monkeypatch.setenv("SWAPCTL_STACK", "nowhere/stack.json")
    monkeypatch.setenv("SWAPCTL_NAMESPACE", "nowhere")
    operator = Operator({"settler": "http://127.0.0.1:1"}, "a-token")

    with pytest.raises(StackError, match="stuck") as failure:
        operator.run("stuck")

    assert "nowhere" not in str(failure.value)
    assert "Connection refused" in str(failure.value)
