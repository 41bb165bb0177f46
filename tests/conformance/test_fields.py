"""Every field of every object of the deployment: its type, and whether it may be null."""

from __future__ import annotations

import pytest

from tests.conformance.everything import observe_everything
from tests.conformance.observations import Observations
from tests.conformance.paid_swaps import PaidSwaps
from tests.conformance.receiver import Receiver
from tests.conformance.shapes import field_fault, unknown_members
from tests.conformance.tables import Field, Model, fields, models
from tests.conformance.world import World

SHOWN_AT_MOST = 5


def marked(row: Field | Model | object, section: str, name: str) -> object:
    return pytest.param(row, id=name, marks=pytest.mark.rule(section, name))


@pytest.fixture(scope="session")
def shown(world: World, paid_swaps: PaidSwaps, receiver: Receiver) -> Observations:
    """Return the deployment's objects, after everything was requested."""
    observe_everything(world, paid_swaps, receiver)
    return world.target.observed


@pytest.mark.parametrize(
    "model",
    [
        marked(m, m.section, f"{m.name} is {'closed' if m.is_closed else 'there'}")
        for m in models().values()
    ],
)
def test_objects_have_no_unknown_members(model: Model, shown: Observations) -> None:
    samples = shown.of(model.name)
    if not samples:
        pytest.skip(f"none was shown: {model.missing_because}")
    if model.is_closed:
        added = {
            f"{s.where}: {name}"
            for s in samples
            for name in unknown_members(model.name, s.instance)
        }
        assert not added, sorted(added)[:SHOWN_AT_MOST]


@pytest.mark.parametrize(
    "field",
    [
        marked(f, f.section, f"{f.model}.{f.name}: {f.type}{' or null' if f.is_nullable else ''}")
        for f in fields()
    ],
)
def test_fields_match_the_specification(field: Field, shown: Observations) -> None:
    samples = shown.of(field.model)
    if not samples:
        pytest.skip(f"none was shown: {models()[field.model].missing_because}")
    faults = [
        f"{sample.where}.{field.name} {problem}"
        for sample in samples
        if (problem := field_fault(field, sample.instance)) is not None
    ]
    assert not faults, faults[:SHOWN_AT_MOST]


@pytest.mark.rule("4", "data-kinds")
def test_every_endpoint_answers_the_kind_of_data_it_should(shown: Observations) -> None:
    assert shown.faults == []
