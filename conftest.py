"""Fixtures that every room's tests may use."""

pytest_plugins = [
    "tests.plugins.postgres",
    "tests.plugins.broker",
    "tests.plugins.round_trips",
    "tests.plugins.plans",
]
