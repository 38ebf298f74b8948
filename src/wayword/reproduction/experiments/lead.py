"""What a manager reads: the conclusion of the whole report in a few sentences, from the results that there are."""

from collections.abc import Mapping
from pathlib import Path

from wayword.evaluation import CUTOFFS
from wayword.reproduction.experiments import core
from wayword.reproduction.experiments.paper import ORDERS
from wayword.reproduction.telling import Results, verdict


def lead(results: Mapping[str, Path]) -> tuple[str, ...]:
    """Sentences, most important first."""
    found = {name: Results.load(results[name]) for name in ORDERS if name in results}
    told = _core(found[core.NAME]) if core.NAME in found else []
    return (*told, *_orders(found))


def _core(found: Results) -> list[str]:
    best, popular, alone = (found.estimates[name, 1].value for name in ("unbiased", "popular", "retriever"))
    way = found.ways["unbiased", 1].value, found.ways["unbiased", 10].value
    return [
        f"The first completion of the utility-aware ranker shows people a document they want {best:.2f} times as often "
        f"as the query that they typed themselves; the retriever alone {alone:.2f} times, most popular completion "
        f"{popular:.2f} times.",
        f"That is {way[0]:.0%} of the way from a random candidate to the best that could be known from the typed text, "
        f"and {way[1]:.0%} for a list of ten.",
    ]


def _orders(found: Mapping[str, Results]) -> list[str]:
    verdicts = [
        verdict(results.differences.get((better, worse, k)))
        for name, results in found.items()
        for better, worse in ORDERS[name]
        for k in CUTOFFS
    ]
    known = [v for v in verdicts if v != "not measured"]
    if not known:
        return []
    counts = [(v, known.count(v)) for v in ("as in the paper", "not told apart", "the other way round")]
    told = ", ".join(f"{n} {v}" for v, n in counts if n)
    return [f"Of {len(known)} comparisons of policies that the paper reports an order for: {told}."]
