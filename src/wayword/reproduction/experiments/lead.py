"""What a manager reads: the conclusion of the whole report in a few sentences, from the results that there are."""

import json
from collections.abc import Mapping
from pathlib import Path

from wayword.reproduction.experiments import core, statistics
from wayword.reproduction.experiments.paper import ORDERS
from wayword.reproduction.presets import Preset
from wayword.reproduction.telling import Results, amount, compared, named, told_apart, verdict
from wayword.utility import CUTOFFS

FEW = 1000
"""With fewer test searches than this a report is a trial."""


def lead(results: Mapping[str, Path], chosen: Preset) -> tuple[str, ...]:
    """Sentences, most important first; what should keep people from quoting the rest comes before it."""
    found = {name: Results.load(results[name]) for name in ORDERS if name in results}
    told = _core(found[core.NAME]) if core.NAME in found else []
    return (*_caution(found, chosen), *told, *_orders(found), *_invisible(results))


def _caution(found: Mapping[str, Results], chosen: Preset) -> list[str]:
    searches = min((of.searches for of in found.values()), default=FEW)
    if chosen.quick:
        return [
            f"**A quick trial, not to be quoted:** {chosen.clicks:,} clicks, a small retriever and short "
            "rankers. Without "
            "`--quick` the same command gives the full report."
        ]
    few = f"**Only {searches:,} test searches:** take these numbers as a trial, and ask for more `--clicks`."
    return [few] if searches < FEW else []


def _core(found: Results) -> list[str]:
    best, popular, alone = (found.estimates[name, 1].value for name in ("unbiased", "popular", "retriever"))
    way = {name: found.ways[name, 1].value for name in ("unbiased", "retriever", "popular")}
    against = found.differences["unbiased", "popular", 1]
    return [
        f"The first completion of the utility-aware ranker shows people a wanted document {best:.2f} times as often as "
        f"the query that they typed themselves; the retriever alone {alone:.2f} times, most popular completion "
        f"{popular:.2f} times. It is {compared(against)} most popular completion: {amount(against, sign=True)}.",
        f"Of the way from a random candidate to the best that could be known from the typed text it gets "
        f"{way['unbiased']:.0%}, the retriever alone {way['retriever']:.0%}, most popular completion "
        f"{way['popular']:.0%}.",
    ]


def _invisible(results: Mapping[str, Path]) -> list[str]:
    if statistics.NAME not in results:
        return []
    read = json.loads((results[statistics.NAME] / statistics.FILE).read_text(encoding="utf-8"))
    return [
        f"All of this counts only what people's own queries return: {read['world']['invisible_share']:.0%} "
        "of what they "
        "want is on no page that they see, and no log shows it."
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
        if labels is not None and told_apart(labels.differences[other, "unbiased", 1]) > 0
    ]
    return [
        f"Unlike in the paper, a ranker trained on {named(other)} labels does better at 1 than one trained on Unbiased "
        f"labels: {amount(gap, sign=True)}."
        for other, gap in better
    ]
