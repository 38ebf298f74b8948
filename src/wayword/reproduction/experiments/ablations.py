"""The paper's ablations (its sections 7.3.3 and 7.3.4): the same features and the same log, other labels.

Label ablations take away what the label knows; propensity ablations train with a wrong propensity and are evaluated
with the right one.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from wayword import tables
from wayword.artefact import report_of
from wayword.config import Config
from wayword.reproduction import measures
from wayword.reproduction.material import LISTS, load_list
from wayword.reproduction.report.exhibits import Column, Section, Table, Text
from wayword.reproduction.shared import of_labels
from wayword.reproduction.telling import Results, by_position, named, pairs, ranged, utilities, verdict
from wayword.stages import Folders, Report

LABELS = "labels"


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
        return ("rankings", "contexts", "propensity", "tests", *rankers)

    def write(self, out: Path, at: Folders, config: Config) -> Report:
        """Fill `out` with the tables of `measures.save`."""
        lists = {v: load_list(at[of_labels(v)] / LISTS / f"{v}.parquet") for v in self.variants}
        pq.write_table(
            _labels({v: report_of(at[of_labels(v)]) for v in self.variants}), out / f"{LABELS}.parquet"
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
                    _orders(found, self.ordered),
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


def _labels(reports: dict[str, Report]) -> pa.Table:
    """What each kind of label says of the candidates."""
    return pa.table(
        {
            "policy": list(reports),
            "candidates": [report["candidates"] for report in reports.values()],
            "positive": [report["candidates with a utility"] for report in reports.values()],
        }
    )


def _positive(name: str, folder: Path) -> Table:
    rows = tables.read(folder, LABELS).to_pylist()
    return Table(
        name,
        "How many candidates a label speaks for",
        (
            Column("Label"),
            Column("Candidates"),
            Column("with a label above 0"),
            Column("Share", digits=4),
        ),
        tuple(
            (named(r["policy"]), r["candidates"], r["positive"], r["positive"] / r["candidates"])
            for r in rows
        ),
        "Of the ranker's training candidates. A label that many candidates share tells few of them apart; one that few "
        "have tells more about position and less about the rest. Which of the two decides depends on how many queries "
        "return a document.",
    )


def _best(found: Results, shown: Sequence[str]) -> str:
    best, worst = shown[-1], shown[0]
    gap = found.differences[best, worst, 1]
    told = "" if gap.low > 0 else ", which these searches cannot tell apart"
    return (
        f"{named(best)} labels give the best first completion ({found.estimates[best, 1].value:.3f}), "
        f"{named(worst)} the worst ({found.estimates[worst, 1].value:.3f}){told}."
    )


def _orders(found: Results, ordered: Sequence[tuple[str, str]]) -> str:
    verdicts = [verdict(found.differences.get((a, b, 5))) for a, b in ordered]
    counts = {v: verdicts.count(v) for v in ("as in the paper", "not told apart", "the other way round")}
    told = ", ".join(f"{n} {v}" for v, n in counts.items() if n)
    return f"Of the {len(ordered)} orders that the paper found at 5, these are: {told}."


LABEL_ABLATIONS = Ablation(
    "label-ablations",
    "What the label must know",
    ("unbiased", "biased", "prescient", "prescient@5", "prescient@1"),
    (
        ("unbiased", "biased"),
        ("unbiased", "prescient"),
        ("prescient", "prescient@5"),
        ("prescient@5", "prescient@1"),
    ),
    "All rankers see the same candidates, features and searches; only the label differs. *Unbiased* is "
    "p[rank_q(a)] / p[logged rank], *Biased* is p[rank_q(a)] without the correction, *Prescient@k* is 1 where the "
    "query shows the clicked document among its first k results. A label is the mean over the searches of a context: "
    "with one group per click a pairwise ranker could not tell Unbiased from Biased, as it sees only the order.",
)
PROPENSITY_ABLATIONS = Ablation(
    "propensity-ablations",
    "What a wrong propensity costs",
    ("unbiased", "misspecified@0.5", "misspecified@2"),
    (
        ("unbiased", "misspecified@0.5"),
        ("unbiased", "misspecified@2"),
        ("misspecified@0.5", "misspecified@2"),
    ),
    "People look at rank k with a probability proportional to 1/k. *Misspecified (α)* learns from labels that assume "
    "k^-α instead, on the same log; the evaluation uses the right propensity.",
)
