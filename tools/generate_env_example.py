"""Write .env.example from the settings classes of every service."""

import json
from importlib import import_module

from generating import write_or_check
from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined, to_jsonable_python

from swap_runtime.setting_files import variable_of
from swap_runtime.settings import SharedSettings

CLASSES = {
    "api": "swap_api.settings:ApiSettings",
    "quoter": "swap_quoter.settings:QuoterSettings",
    "chain_watcher": "swap_chain_watcher.settings:ChainWatcherSettings",
    "settler": "swap_settler.settings:SettlerSettings",
    "notifier": "swap_notifier.settings:NotifierSettings",
    "dashboard": "swap_dashboard.settings:DashboardSettings",
    "console": "swap_dashboard.console.settings:ConsoleSettings",
}
HEAD = """# Every setting of every service, with its default where it has one.
# Durations are ISO 8601. A line without `#` must be given. An empty value counts as absent.
# NAME_FILE=/path reads the value of NAME from a file, for any of them: for secrets.
# Generated from the settings classes by `make generate`.
"""


def lines(name: str, field: FieldInfo) -> list[str]:
    kind = field.annotation
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return [
            line
            for member, inner in kind.model_fields.items()
            for line in lines(f"{name}__{member.upper()}", inner)
        ]
    about = [f"# {field.description}"] if field.description else []
    if field.default is PydanticUndefined and field.default_factory is None:
        return [*about, f"{name}="]
    default = to_jsonable_python(field.get_default(call_default_factory=True))
    if default is None:
        return [*about, f"# {name}="]  # `null` would be read as text
    text = default if isinstance(default, str) else json.dumps(default)
    return [*about, f"# {name}={text}"]


def section(title: str, fields: dict[str, FieldInfo]) -> str:
    body = [
        line
        for name, field in fields.items()
        for line in lines(variable_of("SWAP_", name.upper(), field), field)
    ]
    return "\n".join([f"\n## {title}", *body])


def main() -> None:
    parts = [HEAD, section("all services", SharedSettings.model_fields)]
    for service, path in CLASSES.items():
        module, name = path.split(":")
        fields = getattr(import_module(module), name).model_fields
        parts.append(section(service, {service: fields[service]}))
    write_or_check({".env.example": "\n".join(parts) + "\n"})


if __name__ == "__main__":
    main()
