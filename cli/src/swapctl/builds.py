"""Which build of a service answers, as its metrics name it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from swapctl.service_figures import read_figures

BUILD_INFO: Final = "swap_build_info"
SHORT_REVISION: Final = 12  # characters of a commit


@dataclass(frozen=True, slots=True)
class Build:
    version: str
    revision: str

    def __str__(self) -> str:
        return f"{self.version} ({self.revision[:SHORT_REVISION]})"


def read_build(url: str) -> Build | None:
    """Return the build of the process that answers; None for one that does not name it.

    :param url: of the internal port.
    :raises RequestFailed: when the port does not answer, or its answer is not metrics.
    """
    found = read_figures(url, [BUILD_INFO])[BUILD_INFO]
    return Build(found[0].labels["version"], found[0].labels["revision"]) if found else None
