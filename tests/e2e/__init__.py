"""End-to-end tests of the whole system as processes."""

import pytest

# The assertions are in the class that the journeys inherit.
pytest.register_assert_rewrite("tests.e2e.journey")
