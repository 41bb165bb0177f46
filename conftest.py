"""Fixtures that every room's tests may use."""

import hypothesis
import structlog

pytest_plugins = [
    "tests.plugins.postgres",
    "tests.plugins.broker",
    "tests.plugins.round_trips",
    "tests.plugins.plans",
    "tests.plugins.fault_rows",
]

# How long an example takes says how busy the machine is, and nothing about the code.
hypothesis.settings.register_profile("without deadline", deadline=None)
hypothesis.settings.load_profile("without deadline")

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

# A traceback with the values of all variables takes up to a second to write, and nothing reads it.
structlog.configure(
    processors=[
        *structlog.get_config()["processors"][:-1],
        structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback),
    ]
)
