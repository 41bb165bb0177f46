"""Missing programs are installed once; an outdated one is reported in a sentence."""

from __future__ import annotations

from collections.abc import Callable
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import ModuleType

import pytest

from swap_stack.places import ROOT


@pytest.fixture
def bootstrap(tmp_path: Path) -> ModuleType:
    """The script as a module, with separate stamps."""
    loader = SourceFileLoader("bootstrap", str(ROOT / "tools/bootstrap"))
    spec = spec_from_loader("bootstrap", loader)
    assert spec is not None
    module = module_from_spec(spec)
    loader.exec_module(module)
    module.__dict__["STAMPS"] = tmp_path
    return module


def install(bootstrap: ModuleType, wanted: str, product: Path, *, works: bool = True) -> int:
    """Update one step and return the number of installations."""
    times: list[str] = []

    def step() -> tuple[str, Path, Callable[[], bool]]:
        def run() -> bool:
            times.append(wanted)
            return works

        return wanted, product, run

    bootstrap.__dict__["STEPS"] = {"step": step}
    bootstrap.bring_up_to_date("step")
    return len(times)


def test_a_step_runs_once_for_the_same_inputs(bootstrap: ModuleType, tmp_path: Path) -> None:
    assert install(bootstrap, "one", tmp_path) == 1
    assert install(bootstrap, "one", tmp_path) == 0
    assert install(bootstrap, "two", tmp_path) == 1


def test_a_step_whose_result_is_missing_runs_again(bootstrap: ModuleType, tmp_path: Path) -> None:
    assert install(bootstrap, "one", tmp_path / "gone") == 1
    assert install(bootstrap, "one", tmp_path / "gone") == 1


def test_a_step_that_did_without_is_tried_again(bootstrap: ModuleType, tmp_path: Path) -> None:
    assert install(bootstrap, "one", tmp_path, works=False) == 1
    assert install(bootstrap, "one", tmp_path) == 1


def test_uv_is_pinned_by_the_lock_with_its_hashes(bootstrap: ModuleType) -> None:
    pinned = bootstrap.pinned("uv").splitlines()
    assert pinned[0].startswith("uv==")
    assert sum("--hash=sha256:" in line for line in pinned) > 1
    assert "==" not in "".join(pinned[1:])


def test_an_old_python_version_is_refused(
    bootstrap: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bootstrap.sys, "version_info", (3, 9, 2))
    with pytest.raises(bootstrap.Missing, match=r"Python 3\.11 or newer is needed; .* is 3\.9"):
        bootstrap.python_step()


@pytest.mark.parametrize(
    ("output", "what"), [("v18.19.0\n", r"node is v18\.19\.0"), (None, "node is not installed")]
)
def test_an_old_node_version_is_refused(
    bootstrap: ModuleType, monkeypatch: pytest.MonkeyPatch, output: str | None, what: str
) -> None:
    monkeypatch.setattr(bootstrap, "version_of", lambda *_: output)
    with pytest.raises(bootstrap.Missing, match=f"Node 20 or newer with npm is needed; {what}"):
        bootstrap.evm_step()


def test_every_member_of_the_workspace_is_installed(bootstrap: ModuleType) -> None:
    folders = {folder.relative_to(ROOT).as_posix() for folder in bootstrap.member_folders()}
    assert {"libs/domain", "services/settler", "cli", "deploy/embedded"} <= folders


@pytest.mark.parametrize(
    ("system", "library", "message"),
    [
        ("Darwin on arm64", ("", ""), "Linux on x86-64 is needed .* this is Darwin on arm64"),
        ("Linux on aarch64", ("glibc", "2.36"), "this is Linux on aarch64"),
        ("Linux on x86_64", ("glibc", "2.17"), r"glibc 2\.28 or newer .* this is glibc 2\.17"),
        ("Linux on x86_64", ("", ""), "this is another C library"),
    ],
)
def test_a_platform_without_packages_is_refused_before_any_download(
    bootstrap: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    system: str,
    library: tuple[str, str],
    message: str,
) -> None:
    monkeypatch.setattr(bootstrap.platform, "system", lambda: system.partition(" ")[0])
    monkeypatch.setattr(bootstrap.platform, "machine", lambda: system.rpartition(" ")[2])
    monkeypatch.setattr(bootstrap.platform, "libc_ver", lambda: library)
    with pytest.raises(bootstrap.Missing, match=message):
        bootstrap.main(["python", "evm"])


def test_the_typescript_client_is_installed_without_linters(bootstrap: ModuleType) -> None:
    _, product, _ = bootstrap.sdk_step()
    assert product == ROOT / "sdk/typescript/node_modules/.bin/tsc"
