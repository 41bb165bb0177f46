"""The schemas of what requests may say, as the OpenAPI document shows them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from swap_api.http.descriptions import PARAMETERS
from swap_api.http.parameters import Parameters


def query_of(model: type[Parameters]) -> list[dict[str, Any]]:
    schema = _inline_definitions(model.model_json_schema())
    _accept_empty(schema)
    required = set(schema.get("required", ()))
    return [
        {
            "name": name,
            "in": "query",
            "required": name in required,
            "description": member.pop("description", None) or PARAMETERS.get(name, name),
            "schema": member,
        }
        for name, member in schema["properties"].items()
    ]


def body_of(model: type[Parameters]) -> dict[str, Any]:
    """Return the schema of a body with an example that can be sent."""
    schema = _inline_definitions(model.model_json_schema())
    _accept_empty(schema)
    shown = {
        name: member["examples"][0]
        for name, member in schema["properties"].items()
        if "examples" in member
    }
    return {"schema": schema, "example": schema.pop("example", shown)}


def _accept_empty(schema: Mapping[str, Any]) -> None:
    """Drop the smallest length of optional members: an empty value counts as absent."""
    for name, member in schema["properties"].items():
        if name not in schema.get("required", ()):
            for part in (member, member.get("items", {}), *member.get("anyOf", ())):
                part.pop("minLength", None)


def _inline_definitions(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema that stands alone: inside an operation nothing finds its definitions."""
    definitions = schema.pop("$defs", {})

    def inline(part: Any) -> Any:
        if isinstance(part, list):
            return [inline(one) for one in part]
        if not isinstance(part, dict):
            return part
        named = str(part.get("$ref", "")).removeprefix("#/$defs/")
        definition = definitions.get(named, {})
        rest = {name: value for name, value in part.items() if not (definition and name == "$ref")}
        return {name: inline(value) for name, value in {**definition, **rest}.items()}

    whole: dict[str, Any] = inline(schema)
    return whole
