"""A closed loop: lists by popularity, and popularity by what was intended or by what was issued."""

import numpy as np
from made_lists import TEXTS, Drawing, made_searches, made_universe
from numpy.typing import NDArray

from wayword.completion.acceptance import Acceptance
from wayword.completion.acceptance_learning import learn

UNIVERSE = made_universe()
SEARCHES = made_searches(len(TEXTS))
EASY = Acceptance(
    np.array([-3.0, 0.8, 1.5, 1.0, 1.0, -0.8]), 0.8 * np.arange(1, 11, dtype=np.float64) ** -0.5
)
"""People who often take what they did not intend."""
PUSHED = int(np.argsort(-SEARCHES)[12])
LISTED = 5


def popular_lists(people: Drawing, searches: NDArray[np.float64]) -> NDArray[np.int64]:
    """The most searched queries that continue each text, then others; the pushed one is always first."""
    best = np.argsort(-searches, kind="stable")
    lists = []
    for low, high in people.span.tolist():
        inside = best[(best >= low) & (best < high)]
        outside = best[(best < low) | (best >= high)]
        order = [PUSHED, *(q for q in [*inside, *outside] if q != PUSHED)]
        lists.append(order[:LISTED])
    return np.array(lists)


def shares_over_rounds(posterior: bool) -> list[float]:
    people = Drawing(UNIVERSE, SEARCHES, EASY)
    issued_before, searches = np.zeros(len(TEXTS)), SEARCHES
    shares = []
    for seed in range(3):
        drawn = people.draw(25_000, seed, LISTED, popular_lists(people, searches))
        issued = np.bincount(drawn.query, minlength=len(TEXTS)).astype(float)
        if posterior:
            searches = searches_of = learn(drawn, UNIVERSE, issued, drawn.search_id).searches
        else:
            issued_before = issued_before + issued
            searches = searches_of = issued_before
        shares.append(float(searches_of[PUSHED] / searches_of.sum()))
    return shares


def test_a_pushed_query_keeps_its_share_if_taken_suggestions_count_for_what_was_intended() -> None:
    true = SEARCHES[PUSHED] / SEARCHES.sum()
    by_intent, by_issue = shares_over_rounds(True), shares_over_rounds(False)
    assert min(by_issue) > 5 * true, (true, by_issue)
    assert max(by_intent) < 2 * true, (true, by_intent)
    assert min(by_intent) > 0.5 * true
