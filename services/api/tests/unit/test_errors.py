"""All errors are in one catalogue."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import orjson

import swap_api
from swap_api.http.error_page import anchor_of, error_page
from swap_api.http.errors import Errors
from swap_api.model.refusals import ApiRefusal, NotFound
from swap_contracts.public.error_help import HELP
from swap_contracts.public.errors import ERRORS, ErrorCode
from swap_contracts.public.models import ApiErrorModel
from swap_runtime.errors import Unavailable

SOURCE = Path(swap_api.__file__).parent


def test_every_code_that_the_source_names_is_in_the_catalogue() -> None:
    named = set(_named_codes())

    assert named
    assert named <= {code.name for code in ERRORS}


def test_no_code_is_written_as_text() -> None:
    texts = {
        node.value
        for path in SOURCE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }

    # The OpenAPI document shows one code as an example.
    assert texts & {code.value for code in ErrorCode} <= {"VALIDATION_ERROR"}


def test_the_page_has_cause_and_action_of_every_code() -> None:
    page = error_page().body.decode()

    assert set(HELP) == set(ErrorCode)
    for code in ErrorCode:
        section = page.partition(f'<section id="{anchor_of(code)}">')[2].partition("</section>")[0]
        headings = [part.partition("</dt>")[0] for part in section.split("<dt>")[1:]]
        assert headings == ["Cause", "What to do", "Example"], code
        assert "`" not in section


class TestErrors:
    def test_every_code_has_an_answer_in_the_envelope(self) -> None:
        for code in ErrorCode:
            answer = Errors("/docs").answer(ApiRefusal(code, "No."), "id-1")
            content = orjson.loads(answer.body)
            error = ApiErrorModel.model_validate(content["error"])

            assert content["data"] is None
            assert answer.status_code == ERRORS[code].http_status
            assert error.code == code
            assert error.metadata["request_id"] == "id-1"
            assert error.metadata["doc_url"].startswith("/docs#")

    def test_hides_internal_errors(self) -> None:
        secret = "postgresql://api:hunter2@db/swap"

        for error in (RuntimeError(secret), Unavailable(secret), KeyError(secret)):
            answer = Errors().answer(error, "id-1")

            assert b"hunter2" not in answer.body
            assert answer.status_code in (500, 503)

    def test_objects_of_other_members_are_answered_like_unknown_ones(self) -> None:
        errors = Errors()

        assert errors.answer(NotFound(), "id").body == errors.answer(NotFound(), "id").body

    def test_lists_the_whole_catalogue(self) -> None:
        listed = orjson.loads(Errors().catalogue())

        assert {item["code"] for item in listed} == set(ErrorCode)
        assert not any(item["money_at_risk"] for item in listed)


def _named_codes() -> Iterator[str]:
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if (
                isinstance(node, ast.Attribute)
                and isinstance(node.value, ast.Name)
                and node.value.id == "ErrorCode"
                and node.attr.isupper()
            ):
                yield node.attr
