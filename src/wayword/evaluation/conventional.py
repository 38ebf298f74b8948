"""Conventional metrics of query autocompletion, to show what a gain in utility costs.

They depend on the position of the logged query of each test search in the list for its context:

    MRR@k      = mean of 1/(position + 1), 0 where the query is not among the first k   (positions count from 0)
    Success@k  = share of searches whose query is among the first k
    Saved@k    = Σ saved keystrokes / Σ remaining ones

A user whose query is among the first k selects it with one keystroke instead of typing the remaining characters.
None of these metrics considers the results of the query, as utility does.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from wayword.completion.candidates import Candidates
from wayword.text import grapheme_count

CUTOFFS = (1, 5, 10)
ABSENT = -1
"""Position of a query that is not in the list."""

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


def positions_of(lists: Candidates, context: NDArray[np.integer], query: NDArray[np.integer]) -> Integers:
    """The 0-based position of each search's logged query in the list of its context, or −1.

    `context[s]` is a row of the table of contexts that the lists were made for, `query[s]` the number of the logged
    query; a negative number is a query outside the universe, which is in no list.

    >>> lists = Candidates(np.array([0, 0, 2]), np.array([7, 4, 4]), np.array([2.0, 1.0, 1.0]))
    >>> positions_of(lists, np.array([0, 0, 1, 2]), np.array([4, 5, 4, 4])).tolist()
    [1, -1, -1, 0]
    """
    width = 1 + max(int(lists.query.max(initial=0)), int(query.max(initial=0)))
    listed = lists.context.astype(np.int64) * width + lists.query
    order = np.argsort(listed, kind="stable")
    wanted = context.astype(np.int64) * width + query
    place = np.searchsorted(listed, wanted, sorter=order)
    inside = np.flatnonzero((place < len(listed)) & (query >= 0))
    row = order[place[inside]]
    equal = listed[row] == wanted[inside]
    positions = np.full(len(wanted), ABSENT, np.int64)
    positions[inside[equal]] = lists.position()[row[equal]]
    return positions


def success(position: Integers, k: int) -> NDArray[np.bool_]:
    """Whether each search's query is among the first k.

    >>> success(np.array([0, 4, -1]), k=1).tolist()
    [True, False, False]
    """
    return (position >= 0) & (position < k)


def reciprocal_rank(position: Integers, k: int) -> Floats:
    """1 / (position + 1) of each search's query among the first k, else 0.

    >>> reciprocal_rank(np.array([0, 3, 4, -1]), k=4).tolist()
    [1.0, 0.25, 0.0, 0.0]
    """
    return np.where(success(position, k), 1 / (np.maximum(position, 0) + 1), 0.0)


def remaining(queries: Sequence[str], prefixes: Sequence[str]) -> Integers:
    """Number of characters (graphemes) of each query after its prefix; both normalised.

    It is 0 where a recorded prefix is longer than the issued query.

    >>> remaining(["tv stand", "tv", "👩‍🚀 moon"], ["tv s", "tv st", "👩‍🚀"]).tolist()
    [4, 0, 5]
    """
    return np.maximum(_lengths(queries) - _lengths(prefixes), 0)


def _lengths(texts: Sequence[str]) -> Integers:
    known = {text: grapheme_count(text) for text in set(texts)}
    return np.fromiter(map(known.__getitem__, texts), np.int64, len(texts))


def saved(position: Integers, left: Integers, k: int) -> Integers:
    """Keystrokes saved in each search: all `left` but the selection, if its query is among the first k.

    >>> saved(np.array([0, 9, -1, 0]), np.array([5, 5, 5, 0]), k=5).tolist()
    [4, 0, 0, 0]
    """
    return np.where(success(position, k), np.maximum(left - 1, 0), 0)


def share_saved(position: Integers, left: Integers, k: int) -> float:
    """Σ saved / Σ left over all searches; 0 if Σ left is 0.

    >>> share_saved(np.array([0, -1]), np.array([5, 3]), k=1)
    0.5
    """
    total = int(left.sum())
    return int(saved(position, left, k).sum()) / total if total else 0.0


def conventional_metrics(position: Integers, left: Integers) -> dict[tuple[str, int], float]:
    """All metrics over at least one search: `(metric, k)` → value.

    >>> conventional_metrics(np.array([1, -1]), np.array([5, 3]))["mrr", 10]
    0.25
    """
    return {
        (metric, k): value
        for k in CUTOFFS
        for metric, value in (
            ("mrr", float(reciprocal_rank(position, k).mean())),
            ("success", float(success(position, k).mean())),
            ("saved", share_saved(position, left, k)),
        )
    }
