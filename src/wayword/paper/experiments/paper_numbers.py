"""The paper's own numbers beside ours, whether ours are in the same order, and in how many logs."""

from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path

import numpy as np

from wayword.config import FeaturesConfig
from wayword.engines import tables
from wayword.paper.experiments import statistics
from wayword.paper.features.ranker_features import PAIR_FEATURES
from wayword.paper.results import DIFFERENCES, NAMES, Results, verdict
from wayword.report.exhibits import Cell, Column, Interval, Section, Table
from wayword.store.artefact import read_object
from wayword.utility import CUTOFFS

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
_STATED = {
    "core": "oracle > unbiased, unbiased > logged, unbiased > retriever, retriever > random",
    "label-ablations": "unbiased > biased, unbiased > prescient, unbiased > prescient@5, unbiased > prescient@1, "
    "prescient > prescient@5, prescient@5 > prescient@1, prescient > biased",
    "propensity-ablations": "unbiased > misspecified@0.5, unbiased > misspecified@2, "
    "misspecified@0.5 > misspecified@2",
}
ORDERS: dict[str, list[tuple[str, str]]] = {
    name: [(better, worse) for better, _, worse in (pair.partition(" > ") for pair in stated.split(", "))]
    for name, stated in _STATED.items()
}
"""Every order that the paper states in words, better first, by experiment."""
RANKER = {"samples": 1_541_700, "contexts": 147_411}
"""The size of the paper's ranker's training set (its Table 1)."""


def section(core: Path, labels: Path, propensities: Path, data: Path) -> Section:
    """From the results of the experiments with an order, and the statistics of the data."""
    folders = zip(ORDERS, (core, labels, propensities), strict=True)
    results = {name: Results.load(folder) for name, folder in folders}
    read = read_object(data / statistics.FILE)
    ours = {row["split"]: row for row in read["splits"]}.get("ranker", {"samples": 0, "contexts": 0})
    values = {
        "core": {name: found.value for (name, k), found in results["core"].estimates.items() if k == 1},
        "ours": ours,
        "paper": RANKER,
        "single": read["single"],
        "positive": {row["policy"]: row["positive"] for row in tables.read(labels, "labels").to_pylist()},
        "dimensions": FeaturesConfig().dimensions,
        "pair_features": len(PAIR_FEATURES),
    }
    return Section("paper", (_orders(results), _beside(results)), values)


def gaps(results: Mapping[str, Results]) -> dict[tuple[str, str], dict[int, Interval | None]]:
    """The paired difference at each k of every pair whose order the paper states."""
    pairs = [(pair, of) for name, of in results.items() for pair in ORDERS[name]]
    return {pair: {k: of.differences.get((*pair, k)) for k in CUTOFFS} for pair, of in pairs}


def _stated(pair: tuple[str, str]) -> str:
    return f"{NAMES[pair[0]]} > {NAMES[pair[1]]}"


def _orders(results: Mapping[str, Results]) -> Table:
    """Each order with its differences, and the verdicts with their cutoffs unless they are the same at all of them."""
    rows: list[list[Cell]] = []
    for pair, found in gaps(results).items():
        at: dict[str, list[str]] = {}
        for k, gap in found.items():
            if gap is not None:
                at.setdefault(verdict(gap), []).append(str(k))
        kinds = [kind if len(at) == 1 else f"{kind} at {' and '.join(ks)}" for kind, ks in at.items()]
        rows.append([_stated(pair), *found.values(), "; ".join(kinds)])
    return Table("paper_orders", ("The paper found", *DIFFERENCES, "Verdict"), rows)


def _beside(results: Mapping[str, Results]) -> Table:
    """The paper's utilities and ours; those of the core experiment where several have the same policy."""
    estimates = {key: of for found in reversed([*results.values()]) for key, of in found.estimates.items()}
    rows: list[list[Cell]] = []
    for policy in (policy for policy in PAPER if (policy, 1) in estimates):
        ours = [estimates[policy, k].value if (policy, k) in estimates else None for k in CUTOFFS]
        rows.append([NAMES[policy], *chain(*zip(PAPER[policy], ours, strict=True))])
    header = ("Policy", *(f"{who} @{k}" for k in CUTOFFS for who in ("Paper", "Ours")))
    return Table("paper_beside", header, rows)


def spread_over_seeds(folders: Sequence[Mapping[str, Path]], seeds: Sequence[int]) -> Section:
    """The same experiments on other logs of the same world, from the results of every seed by experiment."""
    results = [{name: Results.load(folder) for name, folder in of_seed.items()} for of_seed in folders]
    experiments = {policy: name for name, of in results[0].items() for policy, _ in of.estimates}
    utilities: list[list[Cell]] = []
    for policy, name in experiments.items():
        found = [[of[name].estimates.get((policy, k)) for of in results] for k in CUTOFFS]
        utilities.append(
            [NAMES[policy], *chain(*(_spread([one.value for one in at if one]) for at in found))]
        )
    each = [gaps(of) for of in results]
    orders: list[list[Cell]] = []
    for pair in each[0]:
        values = [[gap.value for of in each if (gap := of[pair][k])] for k in CUTOFFS]
        above = [(_spread(at)[0], f"{sum(v > 0 for v in at)} of {len(at)}" if at else None) for at in values]
        orders.append([_stated(pair), *chain(*above)])
    spreads = (f"{kind} @{k}" for k in CUTOFFS for kind in ("Mean", "Deviation", "Range"))
    gains = [(Column(f"Mean @{k}", sign=True), Column(f"Seeds above 0 @{k}")) for k in CUTOFFS]
    exhibits = (
        Table("seeds", ("Policy", *spreads), utilities),
        Table("seeds_orders", ("The paper found", *chain(*gains)), orders),
    )
    return Section("seeds", exhibits, {"first": seeds[0], "last": seeds[-1], "count": len(seeds)})


def _spread(values: Sequence[float]) -> tuple[Cell, Cell, Cell]:
    """The mean, the deviation and the range, of those that are known."""
    if not values:
        return None, None, None
    deviation = float(np.std(values, ddof=1)) if len(values) > 1 else None
    return float(np.mean(values)), deviation, f"{min(values):.3f} to {max(values):.3f}"
