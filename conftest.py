"""Fixtures for the tests of all packages."""

import hypothesis
import structlog

pytest_plugins = [
    "tests.plugins.postgres",
    "tests.plugins.broker",
    "tests.plugins.round_trips",
    "tests.plugins.plans",
    "tests.plugins.fault_rows",
]

# The duration of an example depends on the load of the machine, and says nothing about the code.
hypothesis.settings.register_profile("without deadline", deadline=None)
hypothesis.settings.load_profile("without deadline")

# Mutants run every test that reaches them: few examples, and no search for a smaller one.
hypothesis.settings.register_profile(
    "mutation",
    max_examples=10,
    deadline=None,
    derandomize=True,
    database=None,
    phases=(hypothesis.Phase.explicit, hypothesis.Phase.generate),
    suppress_health_check=list(hypothesis.HealthCheck),
)

# A traceback with the values of all variables takes up to a second, and nothing reads it.
structlog.configure(
    processors=[
        *structlog.get_config()["processors"][:-1],
        structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback),
    ]
)
