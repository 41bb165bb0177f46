"""Custom resources are compared with closed definitions: a misspelled field is a finding."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tools.check_crds import Schemas, findings, schemas_of

DEFINITION = """
kind: CustomResourceDefinition
spec:
  group: cars.example.com
  names: {kind: Car}
  versions:
    - name: v1
      schema:
        openAPIV3Schema:
          type: object
          properties:
            apiVersion: {type: string}
            kind: {type: string}
            metadata: {type: object}
            spec:
              type: object
              properties:
                wheels: {type: integer}
                weight: {type: integer, x-kubernetes-int-or-string: true}
                extras: {type: object, x-kubernetes-preserve-unknown-fields: true}
                sign: {type: string, enum: [=]}
"""


@pytest.fixture
def schemas(tmp_path: Path) -> Schemas:
    file = tmp_path / "cars.yaml"
    file.write_text(DEFINITION)
    return schemas_of([file])


def a_car(version: str = "cars.example.com/v1", **spec: Any) -> dict[str, Any]:
    return {"apiVersion": version, "kind": "Car", "metadata": {"name": "mine"}, "spec": spec}


def test_allowed_fields_give_no_finding(schemas: Schemas) -> None:
    car = a_car(wheels=4, weight="1t", extras={"radio": True}, sign="=")

    assert list(findings([car], schemas)) == []


def test_misspelled_field_wrong_type_and_unknown_version_are_findings(schemas: Schemas) -> None:
    cars = [a_car(wheals=4), a_car(wheels="four"), a_car("cars.example.com/v2")]

    texts = list(findings(cars, schemas))

    assert len(texts) == 3
    assert "wheals" in texts[0]
    assert texts[1].startswith("Car/mine: spec.wheels:")
    assert texts[2] == "Car/mine: no definition of cars.example.com/v2"


def test_builtin_objects_are_not_checked(schemas: Schemas) -> None:
    assert list(findings([a_car("apps/v1")], schemas)) == []
