"""The paper's own numbers, and whether ours are in the same order."""

import json
from pathlib import Path
from typing import Any

from wayword.config import FeaturesConfig
from wayword.engines import tables
from wayword.paper.features.ranker_features import PAIR_FEATURES
from wayword.reproduction.experiments.statistics import FILE
from wayword.reproduction.report.exhibits import Cell, Column, Interval, Section, Table, Text
from wayword.reproduction.telling import Results, named, told_apart, verdict
from wayword.utility import CUTOFFS

NAME = "paper"
LABELS = "labels"
"""The table of what each label of an ablation tells apart."""
PAPER: dict[str, tuple[float | None, ...]] = {
    "logged": (1.000, None, None),
    "random": (0.7867, 0.7867, 0.7867),
    "retriever": (1.000, 0.9128, 0.8692),
    "unbiased": (1.297, 1.232, 1.185),
    "oracle": (2.587, None, None),
    "biased": (1.200, 1.176, 1.146),
    "prescient": (1.240, 1.222, 1.178),
    "prescient@5": (1.233, 1.179, 1.131),
    "prescient@1": (1.131, 1.104, 1.076),
    "misspecified@0.5": (1.244, 1.221, 1.174),
    "misspecified@2": (1.192, 1.158, 1.128),
}
"""Tables 2, 3 and 4 of the paper, on LF-AmazonTitles-1.3M: Utility@1, @5, @10."""
STORE: dict[str, float] = {
    "logged": 1.0,
    "unbiased": 1.979,
    "retriever": 1.535,
    "oracle": 3.890,
    "random": 1.290,
}
"""Table 5, on the data of an online store: Utility@1."""
ORDERS: dict[str, tuple[tuple[str, str], ...]] = {
    "core": (
        ("oracle", "unbiased"),
        ("unbiased", "logged"),
        ("unbiased", "retriever"),
        ("retriever", "random"),
    ),
    "label-ablations": (
        ("unbiased", "biased"),
        ("unbiased", "prescient"),
        ("unbiased", "prescient@5"),
        ("unbiased", "prescient@1"),
        ("prescient", "prescient@5"),
        ("prescient@5", "prescient@1"),
        ("prescient", "biased"),
    ),
    "propensity-ablations": (
        ("unbiased", "misspecified@0.5"),
        ("unbiased", "misspecified@2"),
        ("misspecified@0.5", "misspecified@2"),
    ),
}
"""Every order that the paper states in words, better first, by experiment."""


def section(folders: dict[str, Path], statistics: Path, world: str) -> Section:
    """From the results of the experiments that were run, and the statistics of the data."""
    found = {name: Results.load(folder) for name, folder in folders.items()}
    read = json.loads((statistics / FILE).read_text(encoding="utf-8"))
    return Section(
        NAME,
        "The paper's numbers and ours",
        (
            _orders(found),
            *(Text(item, "item") for item in _agreement(found)),
            _beside(found),
            *map(Text, _why(found["core"], read, world)),
            *map(Text, _prescience(found["label-ablations"], folders["label-ablations"])),
            Text("Where the setup differs from the paper's", "heading"),
            *(Text(item, "item") for item in SETUP),
        ),
    )


def _orders(found: dict[str, Results]) -> Table:
    columns = (
        Column("The paper found"),
        *(Column(f"Difference @{k}", sign=True) for k in CUTOFFS),
        Column("Verdict"),
    )
    rows: list[tuple[Cell, ...]] = []
    for name, results in found.items():
        for better, worse in ORDERS[name]:
            gaps = {k: results.differences.get((better, worse, k)) for k in CUTOFFS}
            told = "; ".join(f"{kind}{_at(ks, gaps)}" for kind, ks in _verdicts(gaps).items())
            rows.append((f"{named(better)} > {named(worse)}", *gaps.values(), told))
    return Table(
        "paper_orders",
        "Is the paper's order there? Paired differences with 95% intervals",
        columns,
        tuple(rows),
        "A verdict is given by the interval: above 0 is as in the paper, below 0 the other way round, and one that "
        "holds 0 does not tell the two apart. The intervals resample the test searches; they hold neither the chance "
        "of another training log (`--seeds` shows that) nor a correction for so many comparisons, so one "
        "that just misses "
        "0 says little. Misspecified (0.5) > Misspecified (2) is the paper's finding that fatter tails hurt less.",
    )


def _beside(found: dict[str, Results]) -> Table:
    columns = (Column("Policy"), *(Column(f"{who} @{k}") for k in CUTOFFS for who in ("Paper", "Ours")))
    rows: list[tuple[Cell, ...]] = []
    for policy, papers in PAPER.items():
        results = next((r for r in found.values() if (policy, 1) in r.estimates), None)
        if results is None:
            continue
        cells: list[Cell] = [named(policy)]
        for k, value in zip(CUTOFFS, papers, strict=True):
            ours = results.estimates.get((policy, k))
            cells += [value, ours.value if ours else None]
        rows.append(tuple(cells))
    return Table(
        "paper_beside",
        "Utility in the paper and here",
        columns,
        tuple(rows),
        "The paper: LF-AmazonTitles-1.3M, 3,842,425 clicks. The data differ, so the values cannot agree; whether "
        "their order does is in the table above.",
    )


def _verdicts(gaps: dict[int, Interval | None]) -> dict[str, list[int]]:
    """The verdicts on one order and the cutoffs that they are given at."""
    told: dict[str, list[int]] = {}
    for k, gap in gaps.items():
        if gap is not None:
            told.setdefault(verdict(gap), []).append(k)
    return told


def _at(ks: list[int], gaps: dict[int, Interval | None]) -> str:
    """Where a verdict is given, unless it is everywhere."""
    everywhere = [k for k, gap in gaps.items() if gap is not None]
    return "" if ks == everywhere else f" at {' and '.join(map(str, ks))}"


def _agreement(found: dict[str, Results]) -> list[str]:
    """The verdicts in words."""
    told: dict[str, list[str]] = {}
    for name, results in found.items():
        for better, worse in ORDERS[name]:
            gaps = {k: results.differences.get((better, worse, k)) for k in CUTOFFS}
            for kind, ks in _verdicts(gaps).items():
                told.setdefault(kind, []).append(f"{named(better)} > {named(worse)}{_at(ks, gaps)}")
    words = {
        "as in the paper": "As in the paper",
        "not told apart": "Not told apart on this test set",
        "the other way round": "The other way round",
    }
    return [f"**{words[kind]}:** {', '.join(told[kind])}." for kind in words if kind in told]


def _prescience(found: Results, folder: Path) -> list[str]:
    """Why a label that knows less can be the better one, where it is."""
    if told_apart(found.differences["prescient@5", "prescient@1", 1]) >= 0:
        return []
    above = {row["policy"]: row["positive"] for row in tables.read(folder, LABELS).to_pylist()}
    return [
        "**Prescient labels are in the opposite order.** The paper names two effects that compete: with a larger k the "
        "label says more about which queries lead to a wanted document at all, with a smaller one more about where it "
        f"stands there; in its data the first wins. Here {above['prescient']:.0%} of the candidates return the clicked "
        f"document, and only {above['prescient@1']:.0%} show it first: the second wins. Where Prescient@1 labels even "
        "beat Unbiased ones, a possible reason, not tested here, is that XGBoost's pairwise objective does not weigh a "
        "pair by its difference in utility, so that a label which only knows the first rank spends all of its pairs on "
        "what matters most."
    ]


SETUP = (
    "The retriever learns from the alternatives of a click among all queries whose results were collected; the paper "
    "takes those of the retriever's part of the log.",
    f"Text vectors are those of the light encoder ({FeaturesConfig().dimensions} numbers), and {len(PAIR_FEATURES)} "
    "features of prefix and query are beside them; the paper has the vectors of bert-base-uncased. The "
    "experiment on encoders has a transformer.",
    "One group per distinct context, with the mean utility over its searches as label; the paper does not say how its "
    "groups are made. With one group per click most of its ablations could not differ.",
    "How many clicks there are, how often the retriever's log is passed through and how many samples it learns from is "
    "said at the end; the paper has 3,842,425 clicks, 15 passes and 25,981,965 samples.",
)
ENGINES = {
    "debian": "BM25 over package names and titles, which often puts what people want far down or leaves it out",
    "packages": "BM25 over package names and titles",
}
"""What ranks documents in each world; the others use PECOS, as the paper does."""
PAPERS_SAMPLES_PER_CONTEXT = 1_541_700 / 147_411
"""Of the ranker's training set (the paper's Table 1)."""
PAPERS_PAIRS = 1_541_700


def _why(core: Results, statistics: dict[str, Any], world: str) -> list[str]:
    """What differs between the two sets of data, in numbers."""
    splits = {row["split"]: row for row in statistics["splits"]}
    samples, contexts = splits["ranker"]["samples"], splits["ranker"]["contexts"]
    density = samples / max(contexts, 1)
    random, alone, unbiased = (core.estimates[name, 1].value for name in ("random", "retriever", "unbiased"))
    engine = ENGINES.get(world, "PECOS trained on the queries themselves, as in the paper")
    single = statistics["single"]
    return [
        f"**Why values differ: other data.** Documents are ranked here by {engine}; in the paper by PECOS trained on "
        f"the very titles that are its queries. A random candidate is worth {random:.3f} here and 0.787 there.",
        f"**Searches per context.** The ranker learned from {samples:,} searches in {contexts:,} contexts "
        f"({density:.1f} each), the paper's from {PAPERS_PAIRS:,} ({PAPERS_SAMPLES_PER_CONTEXT:.1f} each). "
        f"{single:.0%} of our contexts have one search. There all labels come from one click, and a pairwise ranker, "
        "which sees their order and not their size, learns the same from Unbiased, Biased and Misspecified labels: the "
        "more such contexts, the less these ablations can differ.",
        f"**The step from PECOS to Unbiased** is {alone:.3f} to {unbiased:.3f} here and 1.000 to 1.297 in the paper, "
        f"whose ranker had {PAPERS_PAIRS / max(samples, 1):.0f} times as many searches to learn from and "
        "bert-base-uncased's vectors. The paper does not show most popular completion; at 1 it is a strong baseline.",
    ]
