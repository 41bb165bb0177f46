"""Licences are read as expressions, and an audit that did not happen is not a clean one."""

from __future__ import annotations

import pytest
from tools.supply_chain import (
    ROOT,
    Rules,
    check_licences,
    node_licences,
    read_npm_audit,
    read_pip_audit,
)

RULES = Rules(frozenset({"MIT", "Apache-2.0"}), {"MIT License": "MIT"}, {})


@pytest.mark.parametrize(
    ("expression", "is_accepted"),
    [
        ("MIT", True),
        ("MIT License", True),
        ("GPL-3.0-only", False),
        ("MIT OR GPL-3.0-only", True),
        ("MIT AND GPL-3.0-only", False),
        ("(MIT OR GPL-3.0-only)", True),
        ("MIT AND (GPL-3.0-only OR Apache-2.0)", True),
        ("(MIT OR GPL-3.0-only) AND (GPL-3.0-only)", False),
        ("(MIT) AND (Apache-2.0)", True),
        ("", False),
    ],
)
def test_licence_expression_is_evaluated_with_its_operators(
    expression: str, is_accepted: bool
) -> None:
    assert RULES.accepts(expression) is is_accepted


def test_accepted_licences_include_no_strong_copyleft() -> None:
    assert not [name for name in Rules.read().allowed if name.startswith(("GPL", "AGPL"))]


def test_every_package_of_a_node_lock_has_a_line() -> None:
    found = dict(node_licences(ROOT / "evm"))

    assert found["npm:viem"] == "MIT"
    assert len(found) > 10


def test_every_locked_package_has_an_accepted_licence(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """An upgrade of a lock file can bring a new licence, or another word for one."""
    code = check_licences()

    assert code == 0, capsys.readouterr().err


class TestAudit:
    def test_without_an_answer_is_not_clean(self) -> None:
        skipped = {"name": "yarl", "version": "1", "skip_reason": "not found"}

        of_python = read_pip_audit({"dependencies": [skipped]})
        of_node = read_npm_audit("evm", {"message": "405 Method Not Allowed"})

        assert of_python.unknown == ["yarl: not found"]
        assert of_node.unknown == ["all: 405 Method Not Allowed"]
        assert "NOT AUDITED" in "\n".join(of_node.lines())

    def test_names_vulnerable_packages_and_fixed_versions(self) -> None:
        flaw = {"id": "PYSEC-1", "fix_versions": ["2.0"]}
        of_python = read_pip_audit(
            {"dependencies": [{"name": "yarl", "version": "1", "vulns": [flaw]}]}
        )
        of_node = read_npm_audit(
            "evm", {"vulnerabilities": {"viem": {"range": "<2", "severity": "high"}}}
        )

        assert of_python.vulnerable == ["yarl 1: PYSEC-1, mended in 2.0"]
        assert of_node.vulnerable == ["viem <2: high"]
        assert not of_python.unknown

    def test_without_findings_says_so(self) -> None:
        clean = read_npm_audit("evm", {"vulnerabilities": {}})

        assert list(clean.lines()) == ["evm: no vulnerability is known"]
