"""Features of a (query, document) pair, from which its relevance is predicted. Adding a feature is adding an entry.

No feature of a pair may depend on the clicks on this pair, because those clicks are its label (see `signals`).
"""

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from wayword.demand.signals import (
    Column,
    GroupClicks,
    Signals,
    by_all_queries,
    by_group,
    by_similar_documents,
    by_similar_documents_of_similar_queries,
    by_similar_queries,
)
from wayword.demand.text_match import NameMatch, TitleMatch, name_match, title_match

GROUPS = ("word", "phrase", "prefix", "suffix", "result", "clicked")


@dataclass(frozen=True)
class Feature:
    """A column of the feature matrix: its name, the function that computes it for all pairs, and whether the predicted
    relevance may only increase with it (a monotone constraint of the trees)."""

    name: str
    function: Callable[[Signals], Column]
    monotone: bool = False


@dataclass(frozen=True)
class Part:
    """One field of a result that several features share; it is computed once for all of them."""

    source: Callable[[Signals], object]
    field: str

    def __call__(self, signals: Signals) -> Column:
        column: Column = getattr(signals.shared(self.source), self.field)
        return column


def _parts(
    name: str, source: Callable[[Signals], object], fields: Iterable[str], monotone: Sequence[str] = ()
) -> list[Feature]:
    """A feature `name_field` for each field of the result of `source`."""
    return [Feature(f"{name}_{part}", Part(source, part), part in monotone) for part in fields]


def _log_propensity(signals: Signals) -> Column:
    return np.log(np.maximum(signals.observations.current_propensity, 1e-300))


def _other_clicked_documents(signals: Signals) -> Column:
    """Number of other documents clicked for the query."""
    return signals.data.clicked_documents[signals.observations.query] - (signals.data.clicks > 0)


def _returning_queries(signals: Signals) -> Column:
    """Number of queries that return the document."""
    returned = (signals.observations.current_propensity > 0).astype(np.float64)
    return signals.observations.sum_by_document(returned)[signals.observations.document]


def _returned_documents(signals: Signals) -> Column:
    """Number of documents that the query returns."""
    return signals.data.returned_documents[signals.observations.query]


_NEIGHBOUR_FIELDS = ("clicks", "expected_clicks", "rate")

FEATURES: list[Feature] = [
    Feature("log_propensity", _log_propensity),
    Feature("document_rate", lambda signals: signals.document_rate, monotone=True),
    Feature("document_clicks", lambda signals: signals.document_clicks),
    Feature("other_clicked_documents", _other_clicked_documents),
    Feature("returning_queries", _returning_queries),
    Feature("returned_documents", _returned_documents),
    Feature("word_count", lambda signals: signals.similarity.word_count[signals.observations.query]),
    *(
        feature
        for kind in GROUPS
        for feature in _parts(
            f"{kind}_group",
            partial(by_group, kind=kind),
            GroupClicks._fields,
            monotone=("best_rate", "rate", "clicks"),
        )
    ),
    *_parts(
        "page_neighbours",
        lambda signals: by_similar_queries(signals, signals.similarity.page_neighbours),
        (*_NEIGHBOUR_FIELDS, "closest"),
        monotone=("rate",),
    ),
    *_parts(
        "word_neighbours",
        lambda signals: by_similar_queries(signals, signals.similarity.word_neighbours),
        (*_NEIGHBOUR_FIELDS, "closest"),
        monotone=("rate",),
    ),
    *_parts(
        "similar_documents",
        by_similar_documents,
        (*_NEIGHBOUR_FIELDS, "closest"),
        monotone=("rate", "clicks"),
    ),
    *_parts(
        "similar_documents_of_page_neighbours",
        lambda signals: by_similar_documents_of_similar_queries(signals, signals.similarity.page_neighbours),
        _NEIGHBOUR_FIELDS,
        monotone=("rate",),
    ),
    *_parts(
        "similar_documents_of_word_neighbours",
        lambda signals: by_similar_documents_of_similar_queries(signals, signals.similarity.word_neighbours),
        _NEIGHBOUR_FIELDS,
        monotone=("rate",),
    ),
    *_parts(
        "page_cosine",
        lambda signals: by_all_queries(signals, signals.similarity.page_vectors),
        _NEIGHBOUR_FIELDS,
        monotone=("rate",),
    ),
    *_parts(
        "word_cosine",
        lambda signals: by_all_queries(signals, signals.similarity.word_vectors),
        _NEIGHBOUR_FIELDS,
        monotone=("rate",),
    ),
    *_parts(
        "title",
        lambda signals: title_match(
            signals.similarity.text_match, signals.observations, signals.data.first_document
        ),
        TitleMatch._fields,
    ),
    *_parts(
        "name",
        lambda signals: name_match(
            signals.similarity.text_match, signals.observations, signals.data.first_document
        ),
        NameMatch._fields,
    ),
    Feature("word_interactions", lambda signals: signals.data.interactions),
]


def feature_matrix(
    signals: Signals, *, dtype: type[np.floating] = np.float32, threads: int = 1
) -> NDArray[np.floating]:
    """pairs × features, in the order of `FEATURES`; the columns are contiguous in memory.

    float16 takes half the memory and is precise enough for trees. Values beyond its range become its largest value.
    """
    matrix, largest = np.empty((len(FEATURES), len(signals.observations)), dtype), np.finfo(dtype).max
    tasks = [
        list(numbered)
        for _, numbered in groupby(
            enumerate(FEATURES), key=lambda at: getattr(at[1].function, "source", at[1].function)
        )
    ]

    def fill(task: list[tuple[int, Feature]]) -> None:
        own = replace(signals, memo={})  # so that shared results are released after the task
        for row, feature in task:
            matrix[row] = np.clip(feature.function(own), -largest, largest)

    if threads == 1:
        for task in tasks:
            fill(task)
    else:
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(fill, tasks))
    return matrix.T


def monotone_constraints() -> str:
    """The constraints in the form that XGBoost takes: 1 for a monotone feature, 0 for any other."""
    return "(" + ",".join(str(int(feature.monotone)) for feature in FEATURES) + ")"
