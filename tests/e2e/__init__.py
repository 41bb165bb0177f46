"""The whole system as processes, tested from outside."""

import pytest

# Its assertions are those of the journeys that inherit them.
pytest.register_assert_rewrite("tests.e2e.journey")
