from __future__ import annotations

from datetime import timedelta
from uuid import uuid4

from swap_notifier.domain.windows import FAILING, FIRST, SLOW, Windows

QUICK = timedelta(milliseconds=5)


class TestWindows:
    def test_grow_with_quick_answers_up_to_the_bound(self) -> None:
        windows, endpoint = Windows(total_max=100, endpoint_max=8), uuid4()

        for _ in range(20):
            windows.begin(endpoint)
            windows.end(endpoint, is_success=True, took=QUICK)

        assert windows.allowances() == {endpoint: 8}

    def test_leave_a_dead_endpoint_one_socket(self) -> None:
        windows, endpoint = Windows(total_max=100, endpoint_max=8), uuid4()

        for _ in range(5):
            windows.begin(endpoint)
            windows.end(endpoint, is_success=False, took=timedelta(seconds=15))

        assert windows.allowances() == {endpoint: FAILING}

    def test_leave_a_slow_endpoint_the_first_few(self) -> None:
        windows, endpoint = Windows(total_max=100, endpoint_max=32), uuid4()
        for _ in range(10):
            windows.begin(endpoint)
            windows.end(endpoint, is_success=True, took=QUICK)

        for _ in range(5):
            windows.begin(endpoint)
            windows.end(endpoint, is_success=True, took=SLOW * 2)
            windows.begin(endpoint)

        assert windows.allowances() == {endpoint: 0}  # five are in progress
        assert windows.first == FIRST

    def test_leave_a_slow_endpoint_one_socket_where_many_are_busy(self) -> None:
        windows, slow, others = Windows(total_max=100, endpoint_max=32), uuid4(), uuid4()
        for _ in range(60):
            windows.begin(others)

        for _ in range(5):
            windows.begin(slow)
            windows.end(slow, is_success=True, took=SLOW * 2)

        assert windows.allowances()[slow] == FAILING

    def test_allow_no_attempts_while_an_endpoint_is_being_disabled(self) -> None:
        windows, endpoint = Windows(total_max=5, endpoint_max=8), uuid4()
        windows.begin(endpoint)

        windows.close(endpoint)
        windows.end(endpoint, is_success=False, took=QUICK)
        closed = windows.allowances()
        windows.reopen(endpoint)

        assert closed == {endpoint: 0}
        assert windows.allowances()[endpoint] > 0

    def test_report_when_half_of_the_capacity_is_free(self) -> None:
        windows, endpoint = Windows(total_max=100, endpoint_max=4), uuid4()
        for _ in range(4):
            windows.begin(endpoint)

        has_capacity = [windows.end(endpoint, is_success=True, took=QUICK) for _ in range(4)]

        assert has_capacity == [False, True, True, True]

    def test_report_no_change_of_an_endpoint_with_capacity(self) -> None:
        windows, endpoint = Windows(total_max=100, endpoint_max=4), uuid4()
        windows.begin(endpoint)

        assert not windows.end(endpoint, is_success=True, took=QUICK)

    def test_report_an_endpoint_at_its_capacity_while_more_became_free(self) -> None:
        windows, endpoint = Windows(total_max=100, endpoint_max=4), uuid4()
        for _ in range(4):
            windows.begin(endpoint)
        for _ in range(2):
            windows.end(endpoint, is_success=True, took=QUICK)
        assert windows.allowances() == {endpoint: 2}  # and while these are claimed…
        windows.end(endpoint, is_success=True, took=QUICK)
        for _ in range(2):
            windows.begin(endpoint)

        assert windows.end(endpoint, is_success=True, took=QUICK)

    def test_report_an_endpoint_that_got_no_capacity(self) -> None:
        windows, endpoint = Windows(total_max=100, endpoint_max=4), uuid4()
        for _ in range(3):
            windows.begin(endpoint)
        windows.end(endpoint, is_success=False, took=QUICK)  # two slots are free, and then claimed

        assert windows.allowances() == {endpoint: 0}
        assert windows.end(endpoint, is_success=True, took=QUICK)

    def test_report_each_limit_that_was_reached(self) -> None:
        windows, busy, other = Windows(total_max=3, endpoint_max=4), uuid4(), uuid4()
        windows.begin(busy)
        windows.begin(other)
        windows.begin(other)

        assert windows.end(busy, is_success=True, took=QUICK)

    def test_count_what_is_under_way_against_both_bounds(self) -> None:
        windows, endpoint = Windows(total_max=5, endpoint_max=8), uuid4()

        for _ in range(3):
            windows.begin(endpoint)

        assert windows.free == 2
        assert windows.allowances() == {endpoint: FIRST - 3}
