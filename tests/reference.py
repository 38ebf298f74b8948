"""The slow, obvious version of the maths, in plain Python: what the SQL and the arrays are checked against.

Nothing here imports Wayword. A query or a document is a number, `Rankings` says at which rank a query returns a
document, and `Propensity` how likely each rank is looked at.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf, log2

Rankings = Mapping[int, Mapping[int, int]]
Propensity = Callable[[int], float]


@dataclass(frozen=True)
class Click:
    """A document clicked (or judged, then without a rank) in a search; `rank` is the logged one."""

    document: int
    rank: int | None
    weight: float = 1.0


@dataclass(frozen=True)
class Search:
    """One query issued once in one context, with zero or more clicks."""

    query: int
    clicks: tuple[Click, ...] = ()
    context: int = 0
    split: str = "test"


def power_law(alpha: float, scale: float = 1.0) -> Propensity:
    """p[rank] = scale / rank^alpha."""
    return lambda rank: scale / rank**alpha


def prescient(within: float) -> Callable[[Click, int], float]:
    """1[rank ≤ within] for each click, times its weight."""
    return lambda click, rank: click.weight if rank <= within else 0.0


PRESCIENT = {"prescient": prescient(inf), "prescient@5": prescient(5), "prescient@1": prescient(1)}
MISSPECIFIED = {"misspecified@0.5": 0.5, "misspecified@2": 2.0}
VARIANTS = ("unbiased", "biased", *PRESCIENT, *MISSPECIFIED, "dcg", "mrr")


def utility(
    search: Search,
    query: int,
    rankings: Rankings,
    p: Propensity,
    *,
    variant: str = "unbiased",
    max_ratio: float = inf,
    max_weight: float = inf,
) -> float:
    """û(s, q), or one of the paper's ablations of it, or a full-information measure."""
    returned = rankings.get(query, {})
    if variant == "dcg":
        return dcg(search, returned)
    if variant == "mrr":
        return reciprocal_rank(search, returned)
    total = 0.0
    for click in search.clicks:
        if click.document not in returned:
            continue
        rank = returned[click.document]
        if variant in PRESCIENT:
            total += PRESCIENT[variant](click, rank)
        elif variant in MISSPECIFIED:
            assert click.rank is not None
            wrong = power_law(MISSPECIFIED[variant])
            total += click.weight * wrong(rank) / wrong(click.rank)
        elif variant == "biased":
            total += click.weight * p(rank) / p(1)
        else:
            assert click.rank is not None
            ratio = p(rank) / p(1) * min(p(1) / p(click.rank), max_weight)
            total += click.weight * min(ratio, max_ratio)
    return total


def dcg(search: Search, returned: Mapping[int, int]) -> float:
    """Σ over the ranks k of the result list of (2^grade − 1) / log2(1 + k); what is not judged has grade 0."""
    grades = {click.document: click.weight for click in search.clicks}
    by_rank = sorted(returned, key=lambda document: returned[document])
    return sum((2 ** grades.get(a, 0.0) - 1) / log2(1 + returned[a]) for a in by_rank)


def reciprocal_rank(search: Search, returned: Mapping[int, int]) -> float:
    """1 / the rank of the first relevant document; 0 if none is returned."""
    relevant = {click.document for click in search.clicks if click.weight > 0}
    for document in sorted(returned, key=lambda document: returned[document]):
        if document in relevant:
            return 1 / returned[document]
    return 0.0


def neighbours(search: Search, rankings: Rankings) -> set[int]:
    """The queries that return a clicked document: those two steps away in the bipartite graph, and its own."""
    clicked = {click.document for click in search.clicks}
    return {query for query, returned in rankings.items() if clicked & set(returned)}


def alternatives(search: Search, rankings: Rankings, p: Propensity) -> set[int]:
    """The neighbours whose utility is positive and at least that of the logged query."""
    own = utility(search, search.query, rankings, p)
    found = {query: utility(search, query, rankings, p) for query in neighbours(search, rankings)}
    return {query for query, value in found.items() if value > 0 and value >= own}


def mean_utility(searches: Sequence[Search], query: int, of: Callable[[Search, int], float]) -> float:
    """The mean over searches, those without a click counting 0."""
    return sum(of(search, query) for search in searches) / len(searches)


def demand(searches: Sequence[Search], p: Propensity, *, max_weight: float = inf) -> dict[int, float]:
    """d[a] = mean over searches of Σ_clicks w·1[a] · min(p[1]/p[r̄], max_weight) / p[1]."""
    total: dict[int, float] = {}
    for search in searches:
        for click in search.clicks:
            assert click.rank is not None
            weight = click.weight * min(p(1) / p(click.rank), max_weight) / p(1)
            total[click.document] = total.get(click.document, 0.0) + weight
    return {document: value / len(searches) for document, value in total.items()}


def exposure(query: int, rankings: Rankings, p: Propensity) -> dict[int, float]:
    """e[a] = p[rank_q(a)]."""
    return {document: p(rank) for document, rank in rankings.get(query, {}).items()}


def inner(one: Mapping[int, float], other: Mapping[int, float]) -> float:
    """⟨one, other⟩ of two sparse vectors."""
    return sum(value * other.get(key, 0.0) for key, value in one.items())


def best_queries(wanted: Mapping[int, float], rankings: Rankings, p: Propensity, k: int) -> list[int]:
    """The k queries of highest ⟨wanted, exposure⟩ over all queries, ties by number, none of 0."""
    value = {query: inner(wanted, exposure(query, rankings, p)) for query in rankings}
    return sorted((q for q in value if value[q] > 0), key=lambda q: (-value[q], q))[:k]


def utility_of_list(
    listed: Iterable[int], wanted: Mapping[int, float], rankings: Rankings, p: Propensity
) -> float:
    """Σ_a wanted[a] · the most that a listed query exposes a."""
    shown = [exposure(query, rankings, p) for query in listed]
    return sum(value * max((e.get(a, 0.0) for e in shown), default=0.0) for a, value in wanted.items())


def greedy_list(
    order: Sequence[int],
    wanted: Mapping[int, float],
    rankings: Rankings,
    p: Propensity,
    k: int,
    groups: Sequence[int] | None = None,
) -> list[tuple[int, float]]:
    """At most k queries, each the one that adds most to those before it (first in `order` where equal), and its gain;
    of a group only the first."""
    chosen: list[tuple[int, float]] = []
    left = list(order)
    while left and len(chosen) < k:
        listed = [query for query, _ in chosen]
        before = utility_of_list(listed, wanted, rankings, p)
        gain = {q: round(utility_of_list([*listed, q], wanted, rankings, p) - before, 6) for q in left}
        best = max(left, key=lambda q: gain[q])
        chosen.append((best, gain[best]))
        left = [q for q in left if q != best and (groups is None or groups[q] != groups[best])]
    return chosen


def utility_at(
    k: int, searches: Iterable[Search], lists: Mapping[int, Sequence[int]], of: Callable[[Search, int], float]
) -> float:
    """Utility@k = Σ_s Σ_{j≤k} v_j û(s, q_j) / Σ_s û(s, q̄_s) over searches with a click; `lists` is by context."""
    harmonic = sum(1 / i for i in range(1, k + 1))
    gained, own = 0.0, 0.0
    for search in searches:
        if search.clicks:
            own += of(search, search.query)
            for j, query in enumerate(lists.get(search.context, ())[:k], start=1):
                gained += (1 / j) / harmonic * of(search, query)
    return gained / own


def list_utility_at(
    k: int, searches: Iterable[Search], lists: Mapping[int, Sequence[int]], of: Callable[[Search, int], float]
) -> float:
    """Σ_s Σ_clicks the most that a query of the first k gets from that click, over Σ_s û(s, q̄_s)."""
    gained = own = 0.0
    for search in searches:
        own += of(search, search.query)
        for click in search.clicks:
            alone = replace(search, clicks=(click,))
            gained += max((of(alone, query) for query in lists.get(search.context, ())[:k]), default=0.0)
    return gained / own


@dataclass(frozen=True)
class Intent:
    """In a world of one look per search: a query, how likely it is issued, and what is relevant to the person."""

    query: int
    probability: float
    relevant: frozenset[int]


def true_utility(
    relevant: Iterable[int], query: int, logged: int, rankings: Rankings, p: Propensity
) -> float:
    """Σ p[rank_q(a)] over the relevant a that the logged query returns: what a log of it can tell of u(x, q)."""
    seen = [a for a in relevant if a in rankings[logged]]
    return sum(p(rankings[query][a]) for a in seen if a in rankings[query])


def second_moment(
    relevant: Iterable[int], query: int, logged: int, rankings: Rankings, p: Propensity
) -> float:
    """Σ p_q²/p_q̄ over the documents that both return: E[û²] when a search has one look (equation 14)."""
    shared = [a for a in relevant if a in rankings[logged] and a in rankings[query]]
    return sum(p(rankings[query][a]) ** 2 / p(rankings[logged][a]) for a in shared)


def ceiling(
    prefix: str,
    intents: Iterable[Intent],
    cuts: Callable[[int], Sequence[str]],
    rankings: Rankings,
    p: Propensity,
    k: int,
) -> list[int]:
    """The best k queries by Σ P(intent) · π(prefix | q̄) · true utility, over every query of the rankings."""
    value = dict.fromkeys(rankings, 0.0)
    for intent in intents:
        admissible = cuts(intent.query)
        shown = admissible.count(prefix) / len(admissible) if admissible else 0.0
        for query in rankings:
            u = true_utility(intent.relevant, query, intent.query, rankings, p)
            value[query] += intent.probability * shown * u
    return sorted((q for q in value if value[q] > 0), key=lambda q: (-value[q], q))[:k]
