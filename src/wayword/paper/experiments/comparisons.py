"""Experiments that compare lists of completions on the same test searches: the paper's core table (its section 7.3.1),
its ablations of labels and propensities (7.3.3 and 7.3.4), and the size of the ranker's log (7.3.2).

Rankers see the same features. Label ablations remove information from the label; propensity ablations train with a
wrong propensity and are evaluated with the right one.
"""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from wayword.engines import tables
from wayword.engines.tables import tables_in
from wayword.paper import figures
from wayword.paper import ranker_stage as ranker
from wayword.paper import results as measured
from wayword.paper.experiments.paper_numbers import ORDERS
from wayword.paper.figures import Series
from wayword.paper.presets import Preset
from wayword.paper.report.exhibits import Column, Section, Table
from wayword.paper.results import NAMES, Results
from wayword.paper.stages import LISTS, SIZES, TABLES, CandidateSet, load_list, of_labels, of_size
from wayword.progress import Progress
from wayword.store.artefact import report_of
from wayword.store.stage import Folders, Report
from wayword.utility import CUTOFFS, Measure

BASELINES = dict.fromkeys(("random", "popular", "retriever", "ceiling"), "baselines")
VARIANTS = {
    "label-ablations": ("unbiased", "biased", "prescient", "prescient@5", "prescient@1"),
    "propensity-ablations": ("unbiased", "misspecified@0.5", "misspecified@2"),
}
SIZED = {**{size: of_size(size) for size in SIZES}, "100%": of_labels("unbiased")}
STAGES: dict[str, dict[str, str]] = {
    "core": {**BASELINES, "unbiased": of_labels("unbiased")},
    **{name: {variant: of_labels(variant) for variant in of} for name, of in VARIANTS.items()},
    "training-size": {**SIZED, "retriever": "baselines"},
}
"""By experiment: the policies that it compares and the stages that made their lists."""
PAIRS = [
    *(("unbiased", other) for other in ("retriever", "popular", "random")),
    *(("retriever", other) for other in ("random", "popular")),
    *((other, "unbiased") for other in ("oracle", "ceiling")),
]


def after(name: str) -> tuple[str, ...]:
    """The stages that an experiment comes after."""
    return (*TABLES, "examples", "tests", *dict.fromkeys(STAGES[name].values()))


def measure(out: Path, at: Folders, chosen: Preset, _: Progress, *, name: str) -> Report:
    """Fill `out` with the tables of `results.save`, a description of the labels, and the sizes of the logs."""
    files = {
        p: at[stage] / LISTS / f"{'unbiased' if p in SIZED else p}.parquet"
        for p, stage in STAGES[name].items()
    }
    lists = {policy: load_list(file) for policy, file in files.items()}
    if name in VARIANTS:
        pq.write_table(_labels(out, at, chosen, VARIANTS[name]), out / "labels.parquet")
    if name == "training-size":
        reports = [report_of(at[stage]) for stage in SIZED.values()]
        counts = {key: [report[key] for report in reports] for key in ("searches", "contexts")}
        pq.write_table(pa.table({"policy": list(SIZED), **counts}), out / "trained.parquet")
    return measured.compare(out, at, chosen.settings.evaluation, lists)


def _labels(out: Path, at: Folders, chosen: Preset, variants: tuple[str, ...]) -> pa.Table:
    """How many candidates each kind of label calls useful, how many pairs it orders, and how many of these otherwise
    than Unbiased."""
    examples = CandidateSet.load(at["examples"])
    pairs, context = (examples.candidates, examples.contexts), examples.candidates.context
    with tables_in(out) as engine:
        ranker.fill(engine, at, chosen.settings.ranker.share)
        labels = [ranker.labelled(engine, *pairs, Measure(variant))[0] for variant in variants]
    rows = [
        (float(np.mean(of > 0)), other_order(of, 0 * of, context), other_order(of, labels[0], context))
        for of in labels
    ]
    shares = dict(zip(("positive", "told", "other"), zip(*rows, strict=True), strict=True))
    return pa.table({"policy": list(variants), **shares})


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


def core(folder: Path) -> Section:
    """Every policy, from the worst to the best."""
    results = Results.load(folder)
    shown = results.best_last(("logged", "oracle", *STAGES["core"]))
    lines = [name for name in shown if name not in ("logged", "oracle")]
    return Section("core", results.exhibits("core", shown, PAIRS, lines, bands=True), {"results": results})


def ablation(folder: Path, *, name: str) -> Section:
    """The rankers of an ablation, from the worst to the best, and their labels."""
    results, file = Results.load(folder), name.replace("-", "_")
    headers = ("Candidates above 0", "Pairs told apart", "Pairs in another order than Unbiased")
    read = tables.read(folder, "labels").to_pylist()
    rows = [(NAMES[row["policy"]], row["positive"], row["told"], row["other"]) for row in read]
    labels = Table(f"{file}_labels", (Column("Label"), *(Column(text, 4) for text in headers)), rows)
    exhibits = results.exhibits(file, results.best_last(VARIANTS[name]), ORDERS[name])
    return Section(name, (*exhibits, labels), {"file": file})


def training_size(folder: Path) -> Section:
    """Utility against the size of the ranker's log."""
    results, trained = Results.load(folder), tables.read(folder, "trained").to_pydict()
    names, searches = trained["policy"], trained["searches"]
    sizes = {k: [results.estimates[name, k] for name in names] for k in CUTOFFS}
    series = []
    for k, of in sizes.items():
        y, low, high = ([getattr(v, part) for v in of] for part in ("value", "low", "high"))
        series.append(Series(f"Utility@{k}", searches, y, low, high, strong=k == 1))
    figure = figures.chart(
        "training_size",
        series,
        x_title="Searches that the ranker learned from",
        y_title="Utility (logged query = 1)",
        x_log=True,
        reference={"Retriever alone @1": results.estimates["retriever", 1].value},
    )
    headers = ("% of the log", "Searches", "Contexts", *(f"Utility@{k}" for k in CUTOFFS))
    columns = (
        [int(name.removesuffix("%")) for name in names],
        searches,
        trained["contexts"],
        *sizes.values(),
    )
    table = Table("training_size", [Column(text) for text in headers], tuple(zip(*columns, strict=True)))
    gain = results.differences["100%", names[0], 5]
    return Section("training-size", (figure, table), {"gain": gain, "searches": searches})
