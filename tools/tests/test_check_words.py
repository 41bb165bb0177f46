"""The glossary is enforced: avoided words, classes without entry, an exact list of the rest."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from tools.check_words import (
    Glossary,
    avoided_names,
    faults,
    identifiers,
    participle_faults,
    read_glossary,
)

PAGE = """
| Term | Meaning | Avoid | Class |
|---|---|---|---|
| reconcile | Prove it. | `explain`, `kept` alone | `Reconcile` |

## Classes without an entry

`Part`
"""


@pytest.fixture
def glossary() -> Glossary:
    return read_glossary(PAGE)


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = Path("services/settler/src/swap_settler/settling/decide/part.py")
    path.parent.mkdir(parents=True)
    path.write_text("class Reconcile: ...\n\n\nclass Part: ...\n")
    return path


def found(glossary: Glossary, module: Path) -> list[str]:
    return faults(glossary, avoided_names([module], glossary.avoided), [module])


def test_module_without_avoided_words_passes(glossary: Glossary, module: Path) -> None:
    assert found(glossary, module) == []


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("def explain_it(): ...", "explain_it"),
        ("class ExplainAll: ...", "ExplainAll"),
        ("async def f(explain): ...", "explain"),
        ("kept = 1", "kept"),
        ("f.explain = 1", "explain"),
    ],
)
def test_an_avoided_word_in_an_identifier_fails(
    glossary: Glossary, module: Path, line: str, name: str
) -> None:
    module.write_text(f"{module.read_text()}{line.replace('class E', 'class _E')}\n")
    text = f"services/settler {'_' if name.startswith('Explain') else ''}{name}"
    assert found(glossary, module) == [f"{text}: the glossary avoids this word"]


def test_word_avoided_alone_may_be_part_of_an_identifier(glossary: Glossary, module: Path) -> None:
    module.write_text(f"{module.read_text()}kept_rows = 1  # explain\n")
    assert found(glossary, module) == []


def test_a_new_domain_class_without_an_entry_fails(glossary: Glossary, module: Path) -> None:
    module.write_text(f"{module.read_text()}class New: ...\n")
    [fault] = found(glossary, module)
    assert fault.endswith("no entry for the class New")


def test_entry_for_a_missing_class_fails(glossary: Glossary, module: Path) -> None:
    module.write_text("class Other: ...\n")
    assert [fault.partition(": ")[2] for fault in found(glossary, module)] == [
        "no entry for the class Other",
        "names a class that does not exist: Reconcile",
        "listed without an entry, but not needed: Part",
    ]


def test_second_row_of_a_term_fails(module: Path) -> None:
    twice = PAGE.replace("| reconcile |", "| reconcile | Again. | | |\n| reconcile |")
    [fault] = found(read_glossary(twice), module)
    assert fault.endswith("more than one row for the term reconcile")


def test_columns_of_tables_are_not_checked() -> None:
    row = ast.parse("class Row(Table, table=True):\n    kept: int = 0\n    def f(self): ...")
    assert set(identifiers(row)) == {"Row", "f", "self"}


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("class Forgotten: ...", "Forgotten"),
        ("class _Uncompared: ...", "_Uncompared"),
        ("def sent(): ...", "sent"),
        ("async def _shown(): ...", "_shown"),
        ("class Part:\n    def unpaid(self): ...", "unpaid"),
        ("Filled = tuple[str, int]", "Filled"),
    ],
)
def test_a_class_function_or_type_named_by_a_participle_alone_fails(
    module: Path, line: str, name: str
) -> None:
    module.write_text(f"{line}\n")
    assert participle_faults([module]) == [
        f"{module} {name}: a past participle alone is never a name"
    ]


@pytest.mark.parametrize(
    "text",
    [
        "class ForgottenPayment: ...",
        "def mark_sent(): ...",
        "def read(): ...\n\n\ndef proceed(): ...",
        "class Part:\n    @property\n    def paid(self): ...",
        "paid = 1  # a status\n\n\nclass State:\n    sent: bool = False",
        "class Paid: ...  # an exception with a reason",
    ],
)
def test_nouns_verbs_attributes_and_exceptions_pass(module: Path, text: str) -> None:
    module.write_text(f"{text}\n")
    assert participle_faults([module]) == []


def test_a_module_named_by_a_participle_alone_fails(module: Path) -> None:
    path = module.with_name("settled.py")
    path.write_text("")
    assert participle_faults([path]) == [f"{path} settled: a past participle alone is never a name"]


def test_modules_of_tests_and_the_generated_client_are_not_checked(module: Path) -> None:
    for path in (module.with_name("test_part.py"), Path("sdk/python/src/swap_sdk/models.py")):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("class Quoted: ...\n")
        assert participle_faults([path]) == []
