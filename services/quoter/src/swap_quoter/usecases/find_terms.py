"""Finds the route that a question is about, and what it costs and allows now."""

from __future__ import annotations

from swap_contracts.quoting import RouteQuestion
from swap_quoter.domain.refusals import Method
from swap_quoter.domain.routes import Route, Routes, check_method
from swap_quoter.domain.terms import Terms, TermsBook
from swap_runtime.clock import Clock


class FindTerms:
    def __init__(self, routes: Routes, terms: TermsBook, *, clock: Clock) -> None:
        self._routes = routes
        self._terms = terms
        self._clock = clock

    def __call__(self, question: RouteQuestion) -> tuple[Route, Terms]:
        """
        :raises Refusal: when the pair or the method is not served, or has no price.
        """
        route = self._routes.get(
            question.source_network,
            question.source_token,
            question.destination_network,
            question.destination_token,
        )
        method = Method(question.method)
        check_method(route, method)
        terms = self._terms.get(
            route,
            refuel=question.refuel,
            now=self._clock(),
            method=method,
            partner_fee_basis_points=question.partner_fee_basis_points,
        )
        return route, terms
