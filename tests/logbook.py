"""Small logs in the numbers of the reference: put into an engine as the stages would, and drawn by Hypothesis."""

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

from reference import Click, Propensity, Rankings, Search
from wayword.completion.candidates import Candidates
from wayword.engines import Engine

DEEPEST_RANK = 12
DOCUMENTS, QUERIES, CONTEXTS = 4, 4, 2


def load(engine: Engine, searches: Sequence[Search], rankings: Rankings, p: Propensity) -> None:
    """The tables `numbered_searches`, `numbered_clicks`, `instances`, `rankings` and `propensity`."""
    places = range(len(searches))
    clicks = [(place, click) for place in places for click in searches[place].clicks]
    rows = [(query, a, rank) for query, found in rankings.items() for a, rank in found.items()]
    ranks = sorted({1, *(rank for _, _, rank in rows), *(c.rank for _, c in clicks if c.rank is not None)})
    for name, columns in {
        "numbered_searches": {
            "search": pa.array(places, pa.int64()),
            "query": pa.array([s.query for s in searches], pa.int32()),
            "split": pa.array([s.split for s in searches], pa.string()),
            "recency": pa.array([1.0] * len(searches)),
        },
        "numbered_clicks": {
            "search": pa.array([place for place, _ in clicks], pa.int64()),
            "document": pa.array([c.document for _, c in clicks], pa.int32()),
            "rank": pa.array([c.rank for _, c in clicks], pa.int32()),
            "weight": pa.array([c.weight for _, c in clicks], pa.float64()),
        },
        "instances": {
            "search": pa.array(places, pa.int64()),
            "split": pa.array([s.split for s in searches], pa.string()),
            "pass": pa.array([0] * len(searches), pa.int32()),
            "context": pa.array([s.context for s in searches], pa.int32()),
        },
        "rankings": {
            name: pa.array(values, pa.int32())
            for name, values in zip(
                ("query", "document", "rank"), zip(*rows, strict=True) if rows else ((), (), ()), strict=True
            )
        },
        "propensity": {
            "rank": pa.array(ranks, pa.int32()),
            "p": pa.array([p(rank) for rank in ranks], pa.float64()),
        },
    }.items():
        engine.load(name, pa.table(columns))


def all_pairs(engine: Engine, searches: Sequence[Search], queries: Sequence[int]) -> None:
    """The table `pairs` of every search (and its context) with every query."""
    rows = [(place, s.context, query) for place, s in enumerate(searches) for query in queries]
    engine.load(
        "pairs",
        pa.table(
            {
                "search": pa.array([row[0] for row in rows], pa.int64()),
                "context": pa.array([row[1] for row in rows], pa.int32()),
                "query": pa.array([row[2] for row in rows], pa.int32()),
            }
        ),
    )


ranks = st.integers(1, DEEPEST_RANK)
weights = st.sampled_from([0.0, 0.5, 1.0, 1.0, 3.0])
alphas = st.sampled_from([0.0, 0.5, 1.0, 2.0])
bounds = st.sampled_from([1.0, 1.5, 2.0, 5.0, float("inf")])


@st.composite
def result_lists(draw: st.DrawFn) -> dict[int, dict[int, int]]:
    """Every query with the documents that it returns, each at a rank of its own; some return none."""
    return {query: draw(one_list()) for query in range(QUERIES)}


@st.composite
def one_list(draw: st.DrawFn) -> dict[int, int]:
    documents = draw(st.lists(st.integers(0, DOCUMENTS - 1), unique=True))
    at = draw(st.lists(ranks, min_size=len(documents), max_size=len(documents), unique=True))
    return dict(zip(documents, at, strict=True))


@st.composite
def searches(draw: st.DrawFn, split: str = "test") -> Search:
    """A search with up to three clicks, whose ranks need not be those of the rankings (they have drifted)."""
    documents = draw(st.lists(st.integers(0, DOCUMENTS - 1), unique=True, max_size=3))
    clicks = tuple(Click(document, draw(ranks), draw(weights)) for document in documents)
    return Search(draw(st.integers(0, QUERIES - 1)), clicks, draw(st.integers(0, CONTEXTS - 1)), split)


def as_candidates(lists: Mapping[int, Sequence[int]]) -> Candidates:
    """Lists of queries by context, the first best."""
    rows = [(context, query) for context in sorted(lists) for query in lists[context]]
    context, query = np.array(rows, np.int32).reshape(-1, 2).T
    return Candidates(context, query, -np.arange(len(rows), dtype=np.float32))
