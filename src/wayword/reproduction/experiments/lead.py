"""What a manager reads: the conclusion of the whole report in a few sentences, from the results that there are."""

from collections.abc import Mapping
from pathlib import Path

from wayword.evaluation import CUTOFFS
from wayword.reproduction.experiments import core
from wayword.reproduction.experiments.paper import ORDERS
from wayword.reproduction.telling import Results, amount, named, verdict


def lead(results: Mapping[str, Path]) -> tuple[str, ...]:
    """Sentences, most important first."""
    found = {name: Results.load(results[name]) for name in ORDERS if name in results}
    told = _core(found[core.NAME]) if core.NAME in found else []
    return (*told, *_orders(found))


def _core(found: Results) -> list[str]:
    best, popular, alone = (found.estimates[name, 1].value for name in ("unbiased", "popular", "retriever"))
    way = found.ways["unbiased", 1].value, found.ways["unbiased", 10].value
    return [
        f"The first completion of the utility-aware ranker shows people a wanted document {best:.2f} times as often as "
        "the query that they typed themselves, counting what that query returns at all; the retriever "
        f"alone {alone:.2f} times, most popular completion "
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
    return [f"Of {len(known)} comparisons that the paper states an order for: {told}.", *_best_label(found)]


def _best_label(found: Mapping[str, Results]) -> list[str]:
    """What must not be overlooked: another label than the paper's does better."""
    labels = found.get("label-ablations")
    better = [
        (other, labels.differences[other, "unbiased", 1])
        for other in ("biased", "prescient", "prescient@5", "prescient@1")
        if labels is not None and labels.differences[other, "unbiased", 1].low > 0
    ]
    return [
        f"Unlike in the paper, a ranker trained on {named(other)} labels does better at 1 than one trained on Unbiased "
        f"labels: {amount(gap, sign=True)}."
        for other, gap in better
    ]
