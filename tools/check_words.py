"""Fail on an avoided or a participle name, a gap of the glossary, and a long sentence.

Sentences are those of pages, docstrings and comments.
"""

from __future__ import annotations

import ast
import io
import re
import subprocess
import sys
import tokenize
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePath
from typing import Final

GLOSSARY: Final = Path("docs/glossary.md")
TESTS: Final = ("test_", "Test")  # their names are sentences
COLUMNS: Final = 4  # term, meaning, avoid, class
WITHOUT_ENTRY: Final = "## Classes without an entry"
PUBLIC: Final = "## Public names"  # kept for those who use them, though the glossary avoids them
SEGMENT: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
# In `model/`, beside the data of decisions.
NOT_PURE: Final = ("batch_state", "observe_changes", "ports")
QUOTED: Final = re.compile(r"`([^`]+)`( alone)?")
# Base forms and nouns with the ending of a participle.
NOT_PARTICIPLES: Final = re.compile(
    "bed|bleed|breed|embed|exceed|feed|heed|need|proceed|seed|shed|speed|succeed"
)
IRREGULAR: Final = re.compile(
    "(?:un)?(?:begun|bent|bound|broken|brought|built|caught|chosen|done|drawn|driven|fed|forgotten|"
    "found|frozen|given|gone|gotten|heard|held|hidden|kept|known|led|left|lent|lost|made|meant|met|"
    "paid|proven|seen|sent|shown|sold|spent|spoken|stolen|stood|stuck|swept|sworn|taken|taught|"
    "thought|thrown|told|torn|understood|withdrawn|withheld|woken|won|worn|written)"
)
# Participles that stay names, with the reason.
PARTICIPLE_NAMES: Final[Mapping[str, str]] = {
    "Bound": "the noun, an upper limit",
    "Deposited": "an event of the Depository",
    "Paid": "an event of the Treasury",
    "Swept": "an event of the factory of deposit addresses",
    "Withdrawn": "an event of the Treasury",
    "awaited": "a module of the Python client that partners may import",
    "blocked": "a module of blocked recipients, named as the command",
    "parked": "a module of parked messages, named as the command",
    "stuck": "a module of stuck swaps, named as the command",
}
GENERATED: Final = Path("sdk/python/src/swap_sdk/models.py")  # the names of the public schemas
SENTENCE_WORDS_MAX: Final = 25
NO_PROSE: Final = re.compile(r"^ *```.*?^ *```|<!--.*?-->", re.MULTILINE | re.DOTALL)
ITEM: Final = re.compile(r" *(?:[-*+]|\d+\.) +")
# Inline code, an image, a link and an address are one word each.
ONE_WORD: Final = re.compile(
    r"(`+).+?\1|!?\[(?:[^][]|\[[^]]*\])*\]\([^)]*\)|<?https?://[^\s)>]*[^\s)>.,:;]>?"
)
LIST_OF_NAMES: Final = re.compile(r"code(?:,?(?: and| or)? code)+")  # one word, too
TAG: Final = re.compile(r"</?[a-z][^>]*>")
FIELD: Final = re.compile(r":(?:param|raises?|returns?|yields?)\b[^:]*:")
ROW: Final = re.compile(r"(?<=\S) {2,}(?=\S)")  # cells of a table in a docstring
ITEM_INDENT: Final = 4  # the text of an item or a field is indented by no more
CELL_END: Final = re.compile(r"(?<!\\)\|")
SENTENCE_END: Final = re.compile(r"(?<=[.!?])[)\"'*_]*\s+")


@dataclass(frozen=True)
class AvoidedWord:
    segments: tuple[str, ...]
    is_alone: bool  # only as the whole identifier

    def matches(self, segments: tuple[str, ...]) -> bool:
        if self.is_alone:
            return segments == self.segments
        size = len(self.segments)
        return any(
            segments[start : start + size] == self.segments
            for start in range(len(segments) - size + 1)
        )


@dataclass(frozen=True)
class Glossary:
    avoided: tuple[AvoidedWord, ...]
    classes: frozenset[str]
    without_entry: frozenset[str]
    public: frozenset[str] = frozenset()
    repeated: tuple[str, ...] = ()  # terms with more than one row


def segments_of(identifier: str) -> tuple[str, ...]:
    return tuple(part.lower() for part in SEGMENT.findall(identifier))


def read_glossary(text: str) -> Glossary:
    tables, _, rest = text.partition(WITHOUT_ENTRY)
    tables, _, public = tables.partition(PUBLIC)
    avoided: list[AvoidedWord] = []
    classes: set[str] = set()
    terms: Counter[str] = Counter()
    for line in tables.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if not line.startswith("|") or len(cells) != COLUMNS:
            continue
        if cells[0] != "Term" and cells[0].strip("-"):
            terms[cells[0]] += 1
        avoided += [
            AvoidedWord(segments_of(word), bool(alone)) for word, alone in QUOTED.findall(cells[2])
        ]
        classes |= {name for name, _ in QUOTED.findall(cells[3])}
    return Glossary(
        tuple(avoided),
        frozenset(classes),
        frozenset(name for name, _ in QUOTED.findall(rest)),
        frozenset(name for name, _ in QUOTED.findall(public)),
        tuple(term for term, rows in terms.items() if rows > 1),
    )


def _is_table(node: ast.ClassDef) -> bool:
    return any(keyword.arg == "table" for keyword in node.keywords)


def identifiers(tree: ast.AST) -> Iterator[str]:
    """Return what a module defines; the columns of a table keep the names of the database."""
    columns = {
        id(field.target)
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef) and _is_table(node)
        for field in node.body
        if isinstance(field, ast.AnnAssign)
    }
    for node in ast.walk(tree):
        match node:
            case ast.ClassDef(name=name) | ast.FunctionDef(name=name):
                yield name
            case ast.AsyncFunctionDef(name=name):
                yield name
            case ast.arg(arg=name):
                yield name
            case ast.Name(id=name, ctx=ast.Store()) if id(node) not in columns:
                yield name
            case ast.Attribute(attr=name, ctx=ast.Store()):
                yield name
            case ast.alias(asname=str(name)):
                yield name


def package_of(path: PurePath) -> str:
    return "/".join(path.parts[:2] if path.parts[0] in ("libs", "services") else path.parts[:1])


def is_domain(path: PurePath) -> bool:
    folders = path.parts[3:-1]
    is_model = folders[-1:] == ("model",) and path.stem not in NOT_PURE
    is_pure = is_model or any(folder in folders for folder in ("domain", "decide", "ledger"))
    return "src" in path.parts and (is_pure or "swap_domain" in path.parts)


def avoided_names(paths: Sequence[Path], avoided: Sequence[AvoidedWord]) -> set[str]:
    @cache
    def is_avoided(name: str) -> bool:
        segments = segments_of(name)
        return any(word.matches(segments) for word in avoided)

    return {
        f"{package_of(path)} {name}"
        for path in paths
        for name in {path.stem, *identifiers(ast.parse(path.read_text()))}
        if not name.startswith(TESTS) and is_avoided(name)
    }


def domain_classes(paths: Sequence[Path]) -> set[str]:
    return {
        node.name
        for path in paths
        if is_domain(path)
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    }


def all_classes(paths: Sequence[Path]) -> set[str]:
    return {
        node.name
        for path in paths
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ClassDef)
    }


def is_participle(word: str) -> bool:
    if IRREGULAR.fullmatch(word):
        return True
    return word.endswith("ed") and len(word) > len("red") and not NOT_PARTICIPLES.fullmatch(word)


def names_of(tree: ast.AST) -> Iterator[str]:
    """Return the classes, functions and types of a module; a property is an attribute."""
    for node in ast.walk(tree):
        match node:
            case ast.ClassDef() | ast.FunctionDef() | ast.AsyncFunctionDef():
                if not any("property" in ast.unparse(one) for one in node.decorator_list):
                    yield node.name
            case ast.Name(id=name, ctx=ast.Store()) if name[0].isupper() and not name.isupper():
                yield name  # a type: variables begin with a small letter, constants have no other


def is_participle_alone(name: str) -> bool:
    segments = segments_of(name)
    return len(segments) == 1 and is_participle(segments[0]) and name not in PARTICIPLE_NAMES


def participle_faults(paths: Sequence[Path]) -> list[str]:
    """Return the names that say neither what an object holds nor what a function does.

    Modules of tests are not checked: their functions are read beside their only use.
    """
    return [
        f"{path} {name}: a past participle alone is never a name"
        for path in paths
        if path != GENERATED and not path.stem.startswith(TESTS)
        for name in (path.stem, *names_of(ast.parse(path.read_text())))
        if is_participle_alone(name)
    ]


def faults(glossary: Glossary, found: set[str], paths: Sequence[Path]) -> list[str]:
    present, known = domain_classes(paths), glossary.classes | glossary.without_entry
    return [
        *(f"{name}: the glossary avoids this word" for name in sorted(found)),
        *(f"{GLOSSARY}: more than one row for the term {term}" for term in glossary.repeated),
        *(f"{GLOSSARY}: no entry for the class {name}" for name in sorted(present - known)),
        *(
            f"{GLOSSARY}: names a class that does not exist: {name}"
            for name in sorted(glossary.classes - all_classes(paths))
        ),
        *(
            f"{GLOSSARY}: listed without an entry, but not needed: {name}"
            for name in sorted(glossary.without_entry - (present - glossary.classes))
        ),
    ]


def blocks(page: str) -> Iterator[str]:
    """Return a page's paragraphs, list items, headings and cells: a sentence ends with each."""
    paragraph = ""
    for line in [*NO_PROSE.sub("", page).splitlines(), ""]:
        text = line.strip().lstrip("> ")
        starts_anew = not text or text.startswith(("#", "|")) or ITEM.match(line)
        if starts_anew:
            yield paragraph
            paragraph = ""
        if text.startswith("|"):
            yield from CELL_END.split(text)
        elif text.startswith("#"):
            yield text
        else:
            paragraph = f"{paragraph} {ITEM.sub('', text, count=1) if starts_anew else text}"


def long_sentences(page: str) -> Iterator[str]:
    """Return the sentences of a page with more words than allowed, inline code as `code`."""
    for block in blocks(page):
        text = LIST_OF_NAMES.sub("code", TAG.sub(" ", ONE_WORD.sub("code", block)))
        for sentence in SENTENCE_END.split(text):
            words = [word for word in sentence.split() if any(map(str.isalnum, word))]
            if len(words) > SENTENCE_WORDS_MAX:
                yield " ".join(words)


def prose(source: str) -> str:
    """Return each docstring and each group of comments as one part, with empty lines between."""
    return "\n\n".join([*map(_without_examples, _docstrings(source)), *_comments(source)])


def _docstrings(source: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first, *rest = (ast.get_docstring(node, clean=False) or "").split("\n")
            margin = node.body[0].col_offset if rest else 0  # that of the quotation marks
            yield "\n".join([first, *(line[margin:] for line in rest)])


def _without_examples(docstring: str) -> str:
    """Leave out blocks that are indented after an empty line or `::`, and let fields start anew."""
    lines: list[str] = []
    margin, may_start, is_example = 0, False, False
    for line in docstring.splitlines():
        text = line.strip()
        indent = len(line) - len(line.lstrip())
        if not text:
            lines.append("")
            may_start = True
            continue
        is_example = indent > margin and (is_example or may_start)
        may_start = text.endswith("::")
        if is_example:
            continue
        if FIELD.match(text) or ITEM.match(text) or ROW.search(text):
            margin = indent + ITEM_INDENT
            lines.append("")
        elif indent == 0:
            margin = 0
        lines += ROW.sub("\n\n", FIELD.sub("field", text, count=1)).splitlines()
    return "\n".join(lines)


def _comments(source: str) -> Iterator[str]:
    """Return the comments; one on a line of its own continues the one above it."""
    group: list[str] = []
    end = (0, 0)
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type != tokenize.COMMENT:
            continue
        row, column = token.start
        is_own_line = not token.line[:column].strip()
        if not (is_own_line and end == (row - 1, column)):
            yield "\n".join(group)
            group = []
        group.append(token.string.lstrip("#! "))
        end = (row, column)
    yield "\n".join(group)


def wordy(files: Sequence[Path]) -> list[str]:
    return [
        f"{path}: more than {SENTENCE_WORDS_MAX} words in a sentence: {sentence}"
        for path in files
        for sentence in long_sentences(
            prose(path.read_text()) if path.suffix == ".py" else path.read_text()
        )
    ]


def tracked_files(pattern: str) -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", pattern], capture_output=True, text=True, check=True
    ).stdout
    return [
        path
        for path in map(Path, listed.splitlines())
        if "versions" not in path.parts and path.exists()
    ]


def main() -> int:
    paths, glossary = tracked_files("*.py"), read_glossary(GLOSSARY.read_text())
    found = {
        entry
        for entry in avoided_names(paths, glossary.avoided)
        if entry.rpartition(" ")[2] not in glossary.public
    }
    pages = tracked_files("*.md")
    problems = [
        *faults(glossary, found, paths),
        *participle_faults(paths),
        *wordy([*pages, *(path for path in paths if path != GENERATED)]),
        *([] if paths and pages else ["no file to check"]),
    ]
    print(*problems, sep="\n", end="\n" if problems else "")
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
