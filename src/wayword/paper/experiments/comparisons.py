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

from wayword.completion.candidates import Candidates
from wayword.engines import tables
from wayword.engines.tables import tables_in
from wayword.paper import figures, results
from wayword.paper import ranker_stage as ranker
from wayword.paper.experiments.paper_numbers import ORDERS
from wayword.paper.figures import Series
from wayword.paper.results import NAMES, Results
from wayword.paper.stages import SIZED, TABLES, CandidateSet, Task, load_list, of_labels
from wayword.report.exhibits import Column, Section, Table
from wayword.store.artefact import report_of
from wayword.store.stage import Folders, Report
from wayword.utility import CUTOFFS, Measure

BASELINES = dict.fromkeys(("random", "popular", "retriever", "ceiling"), "baselines")
VARIANTS = {
    "label-ablations": ("unbiased", "biased", "prescient", "prescient@5", "prescient@1"),
    "propensity-ablations": ("unbiased", "misspecified@0.5", "misspecified@2"),
}
LOGS = {**SIZED, "100%": of_labels("unbiased")}
STAGES: dict[str, dict[str, str]] = {
    "core": {**BASELINES, "unbiased": of_labels("unbiased")},
    **{name: {variant: of_labels(variant) for variant in of} for name, of in VARIANTS.items()},
    "training-size": {**LOGS, "retriever": "baselines"},
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


def lists_of(name: str, at: Folders) -> dict[str, Candidates]:
    """The lists that an experiment compares, by their policies."""
    stages = STAGES[name].items()
    return {policy: load_list(at[of], "unbiased" if policy in LOGS else policy) for policy, of in stages}


def measure(task: Task, *, name: str) -> Report:
    """Fill `out` with the tables of `results.save`, a description of the labels, and the sizes of the logs."""
    if name in VARIANTS:
        pq.write_table(_labels(task, VARIANTS[name]), task.out / "labels.parquet")
    if name == "training-size":
        trained = [{"policy": size, **report_of(task.at[stage])} for size, stage in LOGS.items()]
        pq.write_table(pa.Table.from_pylist(trained), task.out / "trained.parquet")
    tests = CandidateSet.load(task.at["tests"])
    outcome = results.measure(task.out, task.at, lists_of(name, task.at), tests)
    return results.save(task.out, outcome, task.config.evaluation)


def _labels(task: Task, variants: tuple[str, ...]) -> pa.Table:
    """How many candidates each kind of label calls useful, how many pairs it orders, and how many of these otherwise
    than Unbiased."""
    examples = CandidateSet.load(task.at["examples"])
    pairs, context = (examples.candidates, examples.contexts), examples.candidates.context
    with tables_in(task.out) as engine:
        ranker.fill(engine, task.at, task.config.ranker.share)
        labels = {name: ranker.labelled(engine, *pairs, Measure(name))[0] for name in variants}
    rows = []
    for name, of in labels.items():
        orders = {"told": 0 * of, "other": labels["unbiased"]}
        shares = {key: other_order(of, other, context) for key, other in orders.items()}
        rows.append({"policy": name, "positive": float(np.mean(of > 0)), **shares})
    return pa.Table.from_pylist(rows)


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
    found = Results.load(folder)
    shown = found.best_last(("logged", "oracle", *STAGES["core"]))
    lines = [name for name in shown if name not in ("logged", "oracle")]
    return Section("core", found.exhibits("core", shown, PAIRS, lines, bands=True), {"results": found})


def ablation(folder: Path, *, name: str) -> Section:
    """The rankers of an ablation, from the worst to the best, and their labels."""
    found, file = Results.load(folder), name.replace("-", "_")
    headers = ("Candidates above 0", "Pairs told apart", "Pairs in another order than Unbiased")
    read = tables.read(folder, "labels").to_pylist()
    rows = [(NAMES[row["policy"]], row["positive"], row["told"], row["other"]) for row in read]
    labels = Table(f"{file}_labels", ("Label", *(Column(text, 4) for text in headers)), rows)
    exhibits = found.exhibits(file, found.best_last(VARIANTS[name]), ORDERS[name])
    return Section(name, (*exhibits, labels), {"file": file})


def training_size(folder: Path) -> Section:
    """Utility against the size of the ranker's log."""
    found, trained = Results.load(folder), tables.read(folder, "trained").to_pylist()
    searches = [row["searches"] for row in trained]
    sizes = {k: [found.estimates[row["policy"], k] for row in trained] for k in CUTOFFS}
    points = {k: dict(zip(searches, of, strict=True)) for k, of in sizes.items()}
    figure = figures.chart(
        "training_size",
        [Series.of(f"Utility@{k}", of, strong=k == 1) for k, of in points.items()],
        x_title="Searches that the ranker learned from",
        y_title="Utility (logged query = 1)",
        x_log=True,
        reference={"Retriever alone @1": found.estimates["retriever", 1].value},
    )
    headers = ("% of the log", "Searches", "Contexts", *(f"Utility@{k}" for k in CUTOFFS))
    counts = [(int(row["policy"].removesuffix("%")), row["searches"], row["contexts"]) for row in trained]
    rows = [(*of, *utilities) for of, *utilities in zip(counts, *sizes.values(), strict=True)]
    table = Table("training_size", headers, rows)
    gain = found.differences["100%", trained[0]["policy"], 5]
    return Section("training-size", (figure, table), {"gain": gain, "searches": searches})
