"""What may be shown, and the counts of what may not."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from wayword.index.block_list import BlockList
from wayword.index.showable import Showable, least_searches

COUNTS = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5), st.booleans(), st.booleans()), max_size=30)


@given(COUNTS, st.integers(0, 5), st.integers(0, 5))
def test_every_reason_is_counted_once(
    rows: list[tuple[int, int, bool, bool]], searches: int, results: int
) -> None:
    texts = [f"q{n} bad" if bad else f"q{n}" for n, (_, _, bad, _) in enumerate(rows)]
    raw = [f"<b>{text}</b>" if markup else text for text, (*_, markup) in zip(texts, rows, strict=True)]
    found = Showable.of(
        texts,
        raw,
        np.array([row[0] for row in rows], np.int64),
        np.array([row[1] for row in rows], np.int64),
        min_searches=searches,
        min_results=results,
        block=BlockList.parse("bad"),
    )
    expected = [
        not (bad or markup or 0 < found_documents < results or 0 < times < searches)
        for times, found_documents, bad, markup in rows
    ]
    assert found.mask.tolist() == expected
    assert sum(found.withheld.values()) == expected.count(False)


def test_queries_searched_once_are_shown_where_most_are() -> None:
    assert least_searches(np.array([1, 1, 1, 2]), 0) == 1
    assert least_searches(np.array([900, 50, 1, 1]), 0) == 2
    assert least_searches(np.array([900, 50, 1, 1]), 7) == 7
    assert least_searches(np.zeros(0, np.int64), 0) == 1
