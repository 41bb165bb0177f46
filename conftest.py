"""Fixtures that every room's tests may use."""

import hypothesis

pytest_plugins = [
    "tests.plugins.postgres",
    "tests.plugins.broker",
    "tests.plugins.round_trips",
    "tests.plugins.plans",
    "tests.plugins.fault_rows",
]

# A mutant is run against every test that reaches it: few examples, and no search for a smaller one.
hypothesis.settings.register_profile(
    "mutation",
    max_examples=10,
    deadline=None,
    derandomize=True,
    database=None,
    phases=(hypothesis.Phase.explicit, hypothesis.Phase.generate),
    suppress_health_check=list(hypothesis.HealthCheck),
)
