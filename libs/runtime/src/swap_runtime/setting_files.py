"""Values of settings that are read from files: `NAME_FILE` names the file with the value of `NAME`.

A file keeps a secret out of the environment, which child processes inherit and crash reports show.
A setting that names a file itself (`SWAP_KAFKA__CA_FILE`) is read as it stands.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_settings import EnvSettingsSource

SUFFIX: Final = "_FILE"


def read_variable(environment: Mapping[str, str], name: str) -> str:
    """Return the value of a variable, or the content of the file that `NAME_FILE` names.

    :raises KeyError: when neither is set.
    :raises ValueError: when both are set, or the file is not readable.
    """
    file_variable = f"{name}{SUFFIX}"
    if not environment.get(file_variable):
        return environment[name]
    _refuse_both(environment, name)
    return _content(file_variable, environment[file_variable])


class EnvironmentAndFiles(EnvSettingsSource):
    """The environment, in which `NAME_FILE` is replaced by the value of `NAME`."""

    def _load_env_vars(self) -> Mapping[str, str | None]:
        values = dict(super()._load_env_vars())
        names = set(_names(self.env_prefix, self.settings_cls.model_fields))
        suffix = SUFFIX.lower()
        for file_variable, path in tuple(values.items()):
            name = file_variable.removesuffix(suffix)
            if path is None or file_variable in names or name == file_variable or name not in names:
                continue
            _refuse_both(values, name)
            values[name] = _content(file_variable, path)
            del values[file_variable]
        return values


def _names(prefix: str, fields: Mapping[str, FieldInfo]) -> Iterator[str]:
    """Yield the variable of each setting, in lower case: pydantic-settings ignores the case."""
    for member, field in fields.items():
        name = variable_of(prefix, member, field).lower()
        kind = field.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            yield from _names(f"{name}__", kind.model_fields)
        else:
            yield name


def variable_of(prefix: str, member: str, field: FieldInfo) -> str:
    """Return the variable of a setting: one that a standard names has no `SWAP_` prefix."""
    alias = field.validation_alias
    return alias if isinstance(alias, str) else f"{prefix}{member}"


def _refuse_both(environment: Mapping[str, str | None], name: str) -> None:
    if environment.get(name):
        raise ValueError(f"{name.upper()} and {name.upper()}{SUFFIX} are both set: set one of them")


def _content(file_variable: str, path: str) -> str:
    try:
        return Path(path).read_text().rstrip("\r\n")
    except (OSError, UnicodeError) as error:
        raise ValueError(f"{file_variable.upper()}: {path} is not readable: {error}") from None
