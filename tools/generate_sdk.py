"""Write the Python client's models from the public ones.

They are TypedDicts: a field that the service adds later is accepted and breaks no client.
"""

import inspect
from collections.abc import Iterable, Mapping
from typing import Any, Final, get_args

from generating import write_or_check
from pydantic.json_schema import models_json_schema

from swap_contracts.public import (
    authorizations,
    change_causes,
    explaining,
    lookups,
    models,
    pay,
    transfers,
)

TARGET = "sdk/python/src/swap_sdk/models.py"
HEAD = """\"\"\"What every answer holds. Generated from the public models by `make generate`.\"\"\"

from __future__ import annotations

from typing import Any, Literal, TypedDict
"""
PLAIN = {
    "string": "str",
    "integer": "int",
    "number": "float",
    "boolean": "bool",
    "null": "None",
    "object": "dict[str, Any]",
}
LINE_MAX = 100
# Closed sets of values that many clients name.
ENUMS: Final[Mapping[tuple[str, ...], str]] = {
    get_args(models.SwapStatus): "SwapStatus",
    get_args(change_causes.ChangeCause): "ChangeCause",
}


def type_of(schema: Mapping[str, Any]) -> str:
    if "$ref" in schema:
        return name_of(schema["$ref"].rpartition("/")[2])
    if "anyOf" in schema:
        return " | ".join(dict.fromkeys(type_of(one) for one in schema["anyOf"]))
    if name := ENUMS.get(tuple(schema.get("enum", ()))):
        return name
    if values := schema.get("enum") or [schema[name] for name in ("const",) if name in schema]:
        return f"Literal[{', '.join(quote(value) for value in values)}]"
    if schema.get("type") == "array":
        return f"list[{type_of(schema['items'])}]"
    return PLAIN.get(schema.get("type", ""), "Any")


def quote(value: str) -> str:
    return f'"{value}"'


def name_of(model: str) -> str:
    return model.removesuffix("Model")


def model_text(name: str, schema: Mapping[str, Any]) -> str:
    """Return one class; where a member's name is a keyword, in the form that takes it."""
    members = {member: type_of(how) for member, how in schema["properties"].items()}
    if "from" in members:
        body = "".join(f'        "{m}": {t},\n' for m, t in members.items())
        return f'{name_of(name)} = TypedDict(\n    "{name_of(name)}",\n    {{\n{body}    }},\n)\n'
    lines = [member_line(member, kind) for member, kind in members.items()]
    return f"class {name_of(name)}(TypedDict):\n" + "".join(f"    {line}\n" for line in lines)


def enum_text(name: str, values: Iterable[str]) -> str:
    lines = "".join(f"    {quote(value)},\n" for value in values)
    return f"{name} = Literal[\n{lines}]\n"


def member_line(member: str, kind: str) -> str:
    line = f"{member}: {kind}"
    if len(line) + 4 <= LINE_MAX or not (kind.startswith("Literal[") and kind.endswith("]")):
        return line
    values = kind.removeprefix("Literal[").removesuffix("]").split(", ")
    inner = "".join(f"        {value},\n" for value in values)
    return f"{member}: Literal[\n{inner}    ]"


def in_order(definitions: Mapping[str, Any]) -> list[str]:
    """Return the names, each after what it is made of: one of them is not a class."""
    done: dict[str, None] = {}

    def visit(name: str) -> None:
        for used in sorted(_used_schemas(definitions[name])):
            if used not in done:
                visit(used)
        done[name] = None

    for name in sorted(definitions):
        if name not in done:
            visit(name)
    return list(done)


def _used_schemas(schema: Any) -> set[str]:
    if isinstance(schema, list):
        return {name for one in schema for name in _used_schemas(one)}
    if not isinstance(schema, dict):
        return set()
    found = {schema["$ref"].rpartition("/")[2]} if "$ref" in schema else set()
    return found | {name for one in schema.values() for name in _used_schemas(one)}


def page() -> str:
    found = {
        model: None
        for module in (models, authorizations, lookups, explaining, pay, transfers)
        for _, model in inspect.getmembers(module, inspect.isclass)
        if issubclass(model, models.PublicModel) and model is not models.PublicModel
    }
    _, schema = models_json_schema([(model, "serialization") for model in found])
    definitions = schema["$defs"]
    enums = "\n".join(enum_text(name, values) for values, name in ENUMS.items())
    texts = [model_text(name, definitions[name]) for name in in_order(definitions)]
    return "\n\n".join([f"{HEAD}\n{enums}", *texts])


if __name__ == "__main__":
    write_or_check({TARGET: page()})
