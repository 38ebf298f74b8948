"""Explanations: why a query is suggested for a typed text, as a sum over the results of the query."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from wayword.completion.candidates import SOURCES
from wayword.completion.completion import Completion
from wayword.errors import WaywordError
from wayword.index.index import Index
from wayword.request import ANY, check_request
from wayword.serving.completer import Served, as_typed
from wayword.serving.responses import ScoreMeaning, score_meaning
from wayword.store.compressed_rows import WeightedRows
from wayword.text import normalise

if TYPE_CHECKING:
    import pyarrow as pa

SHOWN = 10
"""Queries and documents that an explanation lists."""


class Unknown(WaywordError):
    """A query that the index does not have, or may not show."""


@dataclass(frozen=True)
class Onward:
    """A query that the typed text becomes, and its probability."""

    query: str
    share: float


@dataclass(frozen=True)
class Wanted:
    """A document, and its share of the demand behind the typed text."""

    document: str
    title: str | None
    share: float


@dataclass(frozen=True)
class Line:
    """A result of the query. `utility` is its part of the utility of the query."""

    rank: int
    document: str
    title: str | None
    wanted: float
    exposure: float
    utility: float


@dataclass(frozen=True)
class Taker:
    """People who intend a query: their share of those who typed the text, how probably they take the suggestion, and
    their part of its value, which is `finds` - `instead_of` + `saves`, all in searches found.

    `finds` is what they find with the suggestion, `instead_of` what they would find by typing on, `saves` the value of
    the keystrokes that they need not type.
    """

    query: str
    share: float
    takes: float
    finds: float
    instead_of: float
    saves: float
    value: float


@dataclass(frozen=True)
class Taken:
    """Who takes the suggestion at its place in the list, or in the first place if it is not listed.

    The numbers are sums over all people who typed the text; `takers` has those with the largest parts, without hidden
    queries, `others` is the value for all others, and `careless` what those find who take whatever they read: these
    three add up to `value`, the score.
    """

    taken: float
    finds: float
    instead_of: float
    saves: float
    value: float
    takers: list[Taker]
    others: float
    careless: float


@dataclass(frozen=True)
class Explanation:
    """The demand behind a typed text, and the utility that the results of the query have for it.

    Utilities are relative to that of the queries which the text becomes: 1 is as useful as to type on. `utility` is
    the sum over all results, of which `results` has the first ten. `place` is the position of the query among the first
    ten served, and `score` its score there, of which `score_is` names the meaning. `people` says who takes it, for the
    policy `wayword`.
    """

    prefix: str
    query: str
    index: str
    policy: str
    source: str
    place: int | None
    score: float | None
    score_is: ScoreMeaning
    utility: float
    popularity: int
    becomes: list[Onward]
    wanted: list[Wanted]
    results: list[Line]
    people: Taken | None


@dataclass(frozen=True)
class Demand:
    """The documents that the score follows, ascending, and how much each is wanted."""

    document: NDArray[np.int64]
    amount: NDArray[np.float64]

    @property
    def total(self) -> float:
        """The sum, never zero."""
        return max(float(self.amount.sum()), 1e-12)


def explain(
    served: Served, prefix: str, query: str, *, context: Mapping[str, Any] | None = None, mode: str = ANY
) -> Explanation:
    """Explain the utility of a query for a typed text; raises `Unknown` for a query that the index does not have."""
    check_request(prefix, 1, mode)
    index, given = served.index, context or {}
    index.check(given)
    wanted = as_typed(query)
    number = _number(served, wanted)
    typed_text = as_typed(prefix)
    asked = index.columns.table([typed_text], given)
    intents = index.retriever.intents(asked)
    demand = Demand(*index.retriever.followed(asked, intents))
    listed = served.complete(prefix, SHOWN, context=given, mode=mode)
    place = next((n for n, one in enumerate(listed, start=1) if normalise(one.query) == wanted), None)
    whole = float(index.retriever.expected_own_utility(intents)[0])
    alone = WeightedRows.single(np.array([number], np.int32), np.ones(1, np.float32))
    utility = index.retriever.score(asked, intents, 1, within=alone).score
    return Explanation(
        prefix=typed_text,
        query=index.shown[number],
        index=index.version,
        policy=index.about["policy"],
        source=listed[place - 1].source if place else SOURCES[intents.source[0]],
        place=place,
        score=listed[place - 1].score if place else None,
        score_is=score_meaning(index.about),
        utility=float(utility[0]) if len(utility) else 0.0,
        popularity=round(float(index.popularity[number])),
        becomes=[
            Onward(one.query, one.score)
            for one in index.continuations(typed_text, SHOWN, mode, given, served.hidden)
        ],
        wanted=_wanted(index, demand),
        results=_results(index, demand, number, whole),
        people=_people(served, asked, listed, number, place),
    )


def _people(
    served: Served, asked: "pa.Table", listed: list[Completion], number: int, place: int | None
) -> Taken | None:
    """Who takes the query; None for a policy that does not model people."""
    from wayword.completion.list_policy import ListPolicy

    policy = served.index.policy
    if not isinstance(policy, ListPolicy):
        return None
    numbers = [served.index.numbers([normalise(one.query)]) for one in listed]
    shown = [min(found) for found in numbers if found] if place else [number]
    at = shown.index(number)
    takers = policy.takers(asked, np.array(shown, np.int32))
    took = takers.probability * takers.takes[:, at]
    finds, instead_of, saves = (
        took * takers.worth * takers.utility[:, at],
        took * takers.worth,
        took * takers.saved,
    )
    value, careless = takers.value(at), float(takers.careless_finds[at])
    may = np.flatnonzero(~np.isin(takers.intended, list(served.hidden)))
    most = may[np.argsort(-np.abs(value[may]), kind="stable")[:SHOWN]]
    return Taken(
        taken=float(took.sum() + takers.careless[at]),
        finds=float(finds.sum() + careless),
        instead_of=float(instead_of.sum()),
        saves=float(saves.sum()),
        value=float(value.sum()) + careless,
        takers=[
            Taker(
                served.index.shown[int(takers.intended[n])],
                float(takers.probability[n]),
                float(takers.takes[n, at]),
                float(finds[n]),
                float(instead_of[n]),
                float(saves[n]),
                float(value[n]),
            )
            for n in most.tolist()
        ],
        others=float(value.sum() - value[most].sum()),
        careless=careless,
    )


def _number(served: Served, query: str) -> int:
    numbers = served.index.numbers([query])
    if not numbers or numbers <= served.hidden or not served.index.shown[min(numbers)]:
        raise Unknown(f"Found query {query[:100]!r}; expected one that this index may show.")
    return min(numbers)


def _wanted(index: Index, demand: Demand) -> list[Wanted]:
    most = np.argsort(-demand.amount, kind="stable")[:SHOWN]
    rows = zip(demand.document[most].tolist(), demand.amount[most].tolist(), strict=True)
    return [Wanted(*index.pages.document(number), amount / demand.total) for number, amount in rows]


def _results(index: Index, demand: Demand, query: int, whole: float) -> list[Line]:
    amount_of = dict(zip(demand.document.tolist(), demand.amount.tolist(), strict=True))
    total = demand.total
    lines = []
    for result in index.pages.of_query(query):
        amount = amount_of.get(result.number, 0.0)
        utility = amount * result.exposure / whole
        name = index.pages.document(result.number)
        lines.append(Line(result.rank, *name, amount / total, result.exposure, utility))
    return lines
