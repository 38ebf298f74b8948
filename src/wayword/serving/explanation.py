"""An explanation: why a query is suggested to someone who has typed something, in numbers that add up."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from wayword.completion.candidates import SOURCES
from wayword.completion.expected_utility import ANY, LIVE_DOCUMENTS
from wayword.errors import WaywordError
from wayword.index.index import Index
from wayword.serving.completer import Served, as_typed, check
from wayword.store.compressed_rows import WeightedRows
from wayword.text import normalise

SHOWN = 10
"""So many queries and documents are told."""


class Unknown(WaywordError):
    """The index does not have that query, or may not show it."""


@dataclass(frozen=True)
class Onward:
    """A query that people go on to, and the share of them that does."""

    query: str
    share: float


@dataclass(frozen=True)
class Wanted:
    """A document, and its share of all that is wanted by those who type this."""

    document: str
    title: str | None
    share: float


@dataclass(frozen=True)
class Line:
    """A line of the result page. `utility` is what it adds to that of the page."""

    rank: int
    document: str
    title: str | None
    wanted: float
    exposure: float
    utility: float


@dataclass(frozen=True)
class Explanation:
    """What is wanted by those who type this, and what the query's page does for them.

    Utilities are multiples of that of the queries which the text becomes: 1 is as good as to type on.

    `utility` is that of all results, of which `results` has the first; `place` is where the query stands among the
    first ten that are served, and `score` what the policy gave it, if it is there.
    """

    prefix: str
    query: str
    index: str
    policy: str
    source: str
    place: int | None
    score: float | None
    utility: float
    popularity: int
    becomes: list[Onward]
    wanted: list[Wanted]
    results: list[Line]


def explain(
    served: Served, prefix: str, query: str, *, context: Mapping[str, Any] | None = None, mode: str = ANY
) -> Explanation:
    """Why `query` is suggested, or would be; raises `Unknown` for a query that the index does not have."""
    check(1, mode)
    index, given = served.index, context or {}
    index.check(given)
    wanted = as_typed(query)
    number = _number(served, wanted)
    typed_text = as_typed(prefix)
    asked = index.columns.table([typed_text], given)
    typed = index.retriever.typed(asked)
    demand = _followed(index.retriever.demand(asked, typed))
    listed = served.complete(prefix, SHOWN, context=given, mode=mode)
    place = next((n for n, one in enumerate(listed, start=1) if normalise(one.query) == wanted), None)
    whole = float(index.retriever.own_utility(typed)[0])
    alone = WeightedRows.single(np.array([number], np.int32), np.ones(1, np.float32))
    utility = index.retriever.score(asked, typed, 1, within=alone).score
    return Explanation(
        prefix=typed_text,
        query=index.shown[number],
        index=index.version,
        policy=index.about["policy"],
        source=listed[place - 1].source if place else SOURCES[typed.source[0]],
        place=place,
        score=listed[place - 1].score if place else None,
        utility=float(utility[0]) if len(utility) else 0.0,
        popularity=int(index.popularity[number]),
        becomes=[
            Onward(one.query, one.score)
            for one in index.popular(typed_text, SHOWN, mode, given, served.hidden)
        ],
        wanted=_wanted(index, demand),
        results=_results(index, demand, number, whole),
    )


def _number(served: Served, query: str) -> int:
    found = served.index.numbers([query])
    if not found or found <= served.hidden or not served.index.shown[min(found)]:
        raise Unknown(f"Found query {query[:100]!r}; expected one that this index may show.")
    return min(found)


def _followed(demand: csr_array) -> csr_array:
    """What the score is made of: the most wanted documents, as many as are followed."""
    if demand.nnz > LIVE_DOCUMENTS:
        most = np.sort(np.argsort(-demand.data, kind="stable")[:LIVE_DOCUMENTS])
        return csr_array((demand.data[most], demand.indices[most], [0, len(most)]), shape=demand.shape)
    return demand


def _wanted(index: Index, demand: csr_array) -> list[Wanted]:
    most = np.argsort(-demand.data, kind="stable")[:SHOWN]
    total = max(float(demand.data.sum()), 1e-12)
    rows = zip(demand.indices[most].tolist(), demand.data[most].tolist(), strict=True)
    return [Wanted(*index.pages.document(number), amount / total) for number, amount in rows if amount > 0]


def _results(index: Index, demand: csr_array, query: int, whole: float) -> list[Line]:
    wanted = dict(zip(demand.indices.tolist(), demand.data.tolist(), strict=True))
    total = max(float(demand.data.sum()), 1e-12)
    return [
        Line(
            result.rank,
            *index.pages.document(result.number),
            wanted.get(result.number, 0.0) / total,
            result.exposure,
            wanted.get(result.number, 0.0) * result.exposure / whole,
        )
        for result in index.pages.of_query(query)
    ]
