"""Validation on held-out clicks: against the reference's Utility@k, click by click."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

import logbook
import reference
from reference import Rankings, Search
from wayword.completion.candidates import Candidates
from wayword.completion.validation import HeldOut, Validator, significantly_larger

ZIPF = reference.power_law(1.0)


@settings(max_examples=80, deadline=None)
@given(
    rankings=logbook.result_lists(),
    searches=st.lists(logbook.searches(), min_size=1, max_size=6),
    lists=st.lists(
        st.lists(st.integers(0, logbook.QUERIES - 1), unique=True),
        min_size=logbook.CONTEXTS,
        max_size=logbook.CONTEXTS,
    ),
)
def test_the_mean_over_the_cutoffs_of_what_each_click_adds(
    rankings: Rankings, searches: list[Search], lists: list[list[int]]
) -> None:
    shown = np.zeros((logbook.QUERIES, logbook.DOCUMENTS))
    for q, page in rankings.items():
        for a, rank in page.items():
            shown[q, a] = ZIPF(rank)
    rows = [(s, c) for s in searches for c in s.clicks]
    ips_weight = [c.weight / ZIPF(c.rank) for _, c in rows if c.rank is not None]
    held = HeldOut(
        np.array([s.context for s, _ in rows], np.int64),
        np.array([c.document for _, c in rows], np.int64),
        np.array(ips_weight, np.float64),
    )
    listed = [(x, q) for x, of_context in enumerate(lists) for q in of_context]
    candidates = Candidates(
        np.array([x for x, _ in listed], np.int32),
        np.array([q for _, q in listed], np.int32),
        np.zeros(len(listed), np.float32),
    )
    if not shown.any():
        return
    utilities = Validator(csr_array(shown), held).utilities(candidates, logbook.CONTEXTS)
    for at, (s, c) in enumerate(rows):
        alone = Search(s.query, (c,), s.context)
        values = [reference.utility(alone, q, rankings, ZIPF) for q in lists[s.context]]
        expected = np.mean(
            [
                sum(v / j for j, v in enumerate(values[:k], start=1)) / sum(1 / i for i in range(1, k + 1))
                for k in (1, 5, 10)
            ]
        )
        assert utilities[at] == pytest.approx(expected)


def test_more_by_two_standard_errors_is_sure() -> None:
    rng = np.random.default_rng(0)
    base, noise = rng.normal(0, 10, 400), rng.normal(0, 1, 400)
    noise -= noise.mean()
    noise /= noise.std(ddof=1)
    error = 1 / 400**0.5
    assert significantly_larger(base + noise + 2.01 * error, base)
    assert not significantly_larger(base + noise + 1.99 * error, base)
    assert not significantly_larger(base, base)
    assert not significantly_larger(np.array([5.0]), np.array([0.0]))
    assert not significantly_larger(np.zeros(0), np.zeros(0))
