"""The paper's ablations (its sections 7.3.3 and 7.3.4): the same features and the same log, other labels.

Label ablations take away what the label knows; propensity ablations train with a wrong propensity and are evaluated
with the right one.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from wayword.config import Config
from wayword.engines import tables
from wayword.engines.tables import tables_in
from wayword.paper import ranker_stage as ranker
from wayword.reproduction import measures
from wayword.reproduction.experiments.paper import LABELS, ORDERS
from wayword.reproduction.material import LISTS, Material, load_list
from wayword.reproduction.report.exhibits import Column, Section, Table, Text
from wayword.reproduction.shared import of_labels
from wayword.reproduction.telling import (
    Results,
    by_position,
    named,
    over_positions,
    pairs,
    ranged,
    told_apart,
    utilities,
)
from wayword.store.stage import Folders, Report
from wayword.utility import Measure


@dataclass(frozen=True)
class Ablation:
    """A table of the paper: rankers that differ in their labels alone."""

    name: str
    title: str
    variants: tuple[str, ...]
    ordered: tuple[tuple[str, str], ...]
    """The pairs that the paper found in this order, better first."""
    meaning: str

    @property
    def after(self) -> tuple[str, ...]:
        """The stages it needs."""
        rankers = tuple(of_labels(variant) for variant in self.variants)
        return ("rankings", "contexts", "propensity", "examples", "tests", *rankers)

    def write(self, out: Path, at: Folders, config: Config) -> Report:
        """Fill `out` with the tables of `measures.save`."""
        labels = _labels_of(out, at, config, self.variants)
        lists = {v: load_list(at[of_labels(v)] / LISTS / f"{v}.parquet") for v in self.variants}
        pq.write_table(
            _described(labels, Material.load(at["examples"]).candidates.context), out / f"{LABELS}.parquet"
        )
        return measures.compare(out, at, config.evaluation, lists)

    def section(self, folder: Path) -> Section:
        """What the tables show."""
        found = Results.load(folder)
        shown = found.best_last(self.variants)
        file = self.name.replace("-", "_")
        return Section(
            self.name,
            self.title,
            (
                Text(self.meaning),
                ranged(f"{file}_utility", "Utility@1 by label", _best(found, shown), found, shown),
                utilities(file, "Utility by label (95% intervals)", found, shown),
                by_position(
                    f"{file}_positions",
                    "Mean utility at each position",
                    over_positions(found, shown),
                    found,
                    shown,
                    bands=False,
                ),
                _positive(f"{file}_labels", folder),
                pairs(
                    f"{file}_differences",
                    "Paired differences, in the paper's order",
                    found,
                    self.ordered,
                    note="Positive: as the paper found. An interval that holds 0 does not tell the two apart.",
                ),
            ),
        )


def _labels_of(
    out: Path, at: Folders, config: Config, variants: Sequence[str]
) -> dict[str, NDArray[np.float64]]:
    """The labels that the rankers learned from."""
    examples = Material.load(at["examples"])
    with tables_in(out) as engine:
        ranker.fill(engine, at, config.ranker.share)
        return {
            v: ranker.labelled(engine, examples.candidates, examples.contexts, Measure(v))[0]
            for v in variants
        }


def _described(labels: dict[str, NDArray[np.float64]], context: NDArray[np.int32]) -> pa.Table:
    """What each kind of label says of the candidates, and how often it says another order than Unbiased."""
    return pa.table(
        {
            "policy": list(labels),
            "positive": [float(np.mean(found > 0)) for found in labels.values()],
            "told": [share_told_apart(found, context) for found in labels.values()],
            "other": [other_order(found, labels["unbiased"], context) for found in labels.values()],
        }
    )


def share_told_apart(labels: NDArray[np.float64], context: NDArray[np.int32]) -> float:
    """The share of the pairs of candidates of one context that have different labels.

    >>> share_told_apart(np.array([1.0, 0, 0, 5]), np.array([0, 0, 0, 1]))
    0.6666666666666666
    """
    return other_order(labels, np.zeros(len(labels)), context)


def other_order(one: NDArray[np.float64], other: NDArray[np.float64], context: NDArray[np.int32]) -> float:
    """The share of the pairs of candidates of one context that two labels do not order alike, ties counting as an
    order of their own. Labels that differ by rounding alone are ties.

    >>> other_order(np.array([2.0, 1, 1]), np.array([3.0, 1, 2]), np.array([0, 0, 0]))
    0.3333333333333333
    """
    differ = total = 0
    rounded = [np.round(labels, 9) for labels in (one, other)]
    for apart in range(1, int(np.bincount(context).max(initial=1))):
        together = context[apart:] == context[:-apart]
        signs = [np.sign(labels[apart:] - labels[:-apart])[together] for labels in rounded]
        differ += int(np.sum(signs[0] != signs[1]))
        total += int(together.sum())
    return differ / total if total else 0.0


def _positive(name: str, folder: Path) -> Table:
    rows = tables.read(folder, LABELS).to_pylist()
    return Table(
        name,
        "What the labels tell apart",
        (
            Column("Label"),
            Column("Candidates above 0", digits=4),
            Column("Pairs told apart", digits=4),
            Column("Pairs in another order than Unbiased", digits=4),
        ),
        tuple((named(r["policy"]), r["positive"], r["told"], r["other"]) for r in rows),
        "Shares of the ranker's training candidates, and of the pairs of candidates of one context. A "
        "pairwise ranker sees "
        "no size, only these orders (a tie counts as an order): where almost no pair is in another order, two labels "
        "train almost the same ranker.",
    )


def _best(found: Results, shown: Sequence[str]) -> str:
    best, worst = shown[-1], shown[0]
    gap = found.differences[best, worst, 1]
    told = "" if told_apart(gap) > 0 else ", which these searches cannot tell apart"
    return (
        f"{named(best)} labels give the best first completion ({found.estimates[best, 1].value:.3f}), "
        f"{named(worst)} the worst ({found.estimates[worst, 1].value:.3f}){told}."
    )


LABEL_ABLATIONS = Ablation(
    "label-ablations",
    "What the label must know",
    ("unbiased", "biased", "prescient", "prescient@5", "prescient@1"),
    ORDERS["label-ablations"],
    "All rankers see the same candidates, features and searches; only the label differs. *Unbiased* is "
    "p[rank_q(a)] / p[logged rank], *Biased* is p[rank_q(a)] without the correction, *Prescient@k* is 1 where the "
    "query shows the clicked document among its first k results. A label is the mean over the searches of a context: "
    "with one group per click a pairwise ranker could not tell Unbiased from Biased, as it sees only the order.",
)
PROPENSITY_ABLATIONS = Ablation(
    "propensity-ablations",
    "What a wrong propensity costs",
    ("unbiased", "misspecified@0.5", "misspecified@2"),
    ORDERS["propensity-ablations"],
    "People look at rank k with a probability proportional to 1/k. *Misspecified (α)* learns from labels that assume "
    "k^-α instead, on the same log; the evaluation uses the right propensity.",
)
