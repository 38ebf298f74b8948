"""The measures of conventional completion on the same lists: does the list show the query that the person typed?"""

from pathlib import Path

import numpy as np

from wayword.engines import tables
from wayword.engines.tables import fetch_numbered, tables_in
from wayword.evaluation.conventional import conventional_metrics, positions_of, remaining
from wayword.evaluation.estimates import at_cutoffs
from wayword.paper import figures, results
from wayword.paper.blending import blend
from wayword.paper.experiments.comparisons import lists_of
from wayword.paper.figures import Series
from wayword.paper.results import NAMES, STYLES
from wayword.paper.stages import CandidateSet, Task
from wayword.report.exhibits import Section, Table
from wayword.store.artefact import read_object
from wayword.store.stage import Report
from wayword.utility import CUTOFFS, DEEPEST

FILE = "guardrails.json"
DIAL = tuple(round(0.1 * step, 1) for step in range(11))
"""From the utility-aware list (0) to most popular completion (1)."""
METRICS = {
    "Utility@1": ("utility", 1),
    "Utility@5": ("utility", 5),
    "MRR@10": ("mrr", 10),
    "Success@1": ("success", 1),
    "Success@5": ("success", 5),
    "Success@10": ("success", 10),
    "Keystrokes saved": ("saved", 10),
}
SEARCHES = """SELECT i.context, s.query, s.text, c.prefix FROM numbered_searches AS s
    JOIN instances AS i ON i.search = s.search JOIN contexts AS c ON c.context = i.context
    WHERE s.split = 'test' AND s.search IN (SELECT search FROM numbered_clicks) ORDER BY s.search"""
"""Every test search with a click."""


def measure(task: Task) -> Report:
    """Fill `out` with `guardrails.json`: the metrics of each policy, and of the lists between two of them."""
    lists, tests = lists_of("core", task.at), CandidateSet.load(task.at["tests"])
    blended = {str(weight): blend(lists["unbiased"], lists["popular"], weight, DEEPEST) for weight in DIAL}
    outcome = results.measure(task.out, task.at, {**lists, **blended}, tests)
    task.progress.advance(1, 2)
    means = {key: float(v.sum() / outcome.own.sum()) for key, v in at_cutoffs(outcome).items()}
    with tables_in(task.out) as engine:
        fetch_numbered(engine, task.at)
        rows = engine.arrow(SEARCHES)
    context = np.searchsorted(tests.contexts, rows["context"].to_numpy())
    query, to_type = rows["query"].to_numpy(), remaining(rows["text"].to_pylist(), rows["prefix"].to_pylist())
    metrics = {}
    for name, listed in {**lists, **blended}.items():
        found = conventional_metrics(positions_of(listed, context, query), to_type)
        found |= {("utility", k): means[name, k] for k in CUTOFFS}
        metrics[name] = {title: found[key] for title, key in METRICS.items()}
    tables.write_json(task.out / FILE, {"policies": list(lists), "dial": list(blended), "metrics": metrics})
    return {"searches": len(query)}


def section(folder: Path) -> Section:
    """The metrics as tables, and Utility@5 against MRR."""
    read = read_object(folder / FILE)
    metrics, dial = read["metrics"], read["dial"]
    policies = sorted(read["policies"], key=lambda name: metrics[name]["MRR@10"])
    rows = [[NAMES[name], *metrics[name].values()] for name in policies]
    between = [[weight, *metrics[weight].values()] for weight in dial]
    mrr, utility = ({name: of[key] for name, of in metrics.items()} for key in ("MRR@10", "Utility@5"))
    series = [Series("Dial, from 0 to 1", [mrr[w] for w in dial], [utility[w] for w in dial], style=7)]
    described = []
    for name in (name for name in policies if name != "ceiling"):
        look = {"strong": name == "unbiased", "style": STYLES[name], "joined": False}
        series.append(Series(NAMES[name], [mrr[name]], [utility[name]], **look))
        described.append(f"{NAMES[name]}: MRR {mrr[name]:.3f}, Utility@5 {utility[name]:.3f}")
    figure = figures.chart(
        "guardrails_curve",
        series,
        x_title="MRR@10 of the query that the person typed",
        y_title="Utility@5 (logged query = 1)",
        description="; ".join(described),
    )
    strong = frozenset({policies.index("unbiased")})
    by_policy = Table("guardrails", ("Policy", *METRICS), rows, strong)
    by_dial = Table("guardrails_dial", ("Dial", *METRICS), between)
    return Section("guardrails", (by_policy, by_dial, figure))
