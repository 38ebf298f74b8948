"""The measures of conventional completion on the same lists: does the list show the query that the person typed?"""

import json
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from wayword.completion.blending import blend
from wayword.engines import tables
from wayword.engines.tables import tables_in
from wayword.evaluation.conventional import (
    positions_of,
    reciprocal_rank,
    remaining,
    share_saved,
    success,
)
from wayword.evaluation.estimates import at_cutoffs
from wayword.paper import figures
from wayword.paper import results as measured
from wayword.paper.figures import Series
from wayword.paper.presets import Preset
from wayword.paper.report.exhibits import Column, Section, Table
from wayword.paper.results import NAMES, STYLES
from wayword.paper.stages import CandidateSet, load_lists, of_labels
from wayword.progress import Progress
from wayword.store.stage import Folders, Report
from wayword.utility import DEEPEST

FILE = "guardrails.json"
DIAL = tuple(round(0.1 * step, 1) for step in range(11))
"""From the utility-aware list (0) to most popular completion (1)."""
METRICS = {
    "utility": "Utility@1",
    "utility_at_5": "Utility@5",
    "mrr": "MRR@10",
    "success_at_1": "Success@1",
    "success_at_5": "Success@5",
    "success_at_10": "Success@10",
    "saved": "Keystrokes saved",
}


def measure(out: Path, at: Folders, _: Preset, progress: Progress) -> Report:
    """Fill `out` with `guardrails.json`: the metrics of each policy, and of the lists between two of them."""
    lists = {**load_lists(at["baselines"]), **load_lists(at[of_labels("unbiased")])}
    tests = CandidateSet.load(at["tests"])
    blended = {str(weight): blend(lists["unbiased"], lists["popular"], weight, DEEPEST) for weight in DIAL}
    outcome = measured.measure(out, at, {**lists, **blended}, tests)
    progress.advance(1, 2)
    means = {key: float(v.sum() / outcome.own.sum()) for key, v in at_cutoffs(outcome).items()}
    context, query, to_type = _searches(out, at, tests)
    metrics = {}
    for name, listed in {**lists, **blended}.items():
        position = positions_of(listed, context, query)
        metrics[name] = {
            "utility": means[name, 1],
            "utility_at_5": means[name, 5],
            "mrr": float(np.mean(reciprocal_rank(position, DEEPEST))),
            **{f"success_at_{k}": float(np.mean(success(position, k))) for k in (1, 5, 10)},
            "saved": share_saved(position, to_type, DEEPEST),
        }
    tables.write_json(out / FILE, {"policies": list(lists), "dial": list(blended), "metrics": metrics})
    return {"searches": len(query)}


def _searches(
    out: Path, at: Folders, tests: CandidateSet
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Of every test search with a click: the place of its context, its query, and how much is still to be typed."""
    with tables_in(out) as engine:
        tables.fetch(engine, at["rankings"], "numbered_searches", "numbered_clicks")
        tables.fetch(engine, at["contexts"], "instances", "contexts")
        rows = engine.arrow(
            """SELECT i.context, s.query, s.text, c.prefix FROM numbered_searches AS s
               JOIN instances AS i ON i.search = s.search JOIN contexts AS c ON c.context = i.context
               WHERE s.split = 'test' AND s.search IN (SELECT search FROM numbered_clicks) ORDER BY s.search"""
        )
    place = np.searchsorted(tests.contexts, rows["context"].to_numpy())
    to_type = remaining(rows["text"].to_pylist(), rows["prefix"].to_pylist())
    return place, rows["query"].to_numpy().astype(np.int64), to_type


def section(folder: Path) -> Section:
    """The metrics as tables, and Utility@5 against MRR."""
    read = json.loads((folder / FILE).read_text(encoding="utf-8"))
    metrics, dial = read["metrics"], read["dial"]
    policies = sorted(read["policies"], key=lambda name: metrics[name]["mrr"])
    columns = [Column(title) for title in METRICS.values()]
    rows = [[NAMES[name], *(metrics[name][key] for key in METRICS)] for name in policies]
    between = [[f"{float(weight):.1f}", *(metrics[weight][key] for key in METRICS)] for weight in dial]
    mrr, utility = ([metrics[weight][key] for weight in dial] for key in ("mrr", "utility_at_5"))
    shown = [name for name in policies if name != "ceiling"]
    points = {name: ([metrics[name]["mrr"]], [metrics[name]["utility_at_5"]]) for name in shown}
    looks = {name: {"strong": name == "unbiased", "style": STYLES[name], "joined": False} for name in shown}
    series = [Series(NAMES[name], *points[name], **looks[name]) for name in shown]
    described = [f"{NAMES[n]}: MRR {x:.3f}, Utility@5 {y:.3f}" for n, ((x,), (y,)) in points.items()]
    figure = figures.chart(
        "guardrails_curve",
        [Series("Dial, from 0 to 1", mrr, utility, style=7), *series],
        x_title="MRR@10 of the query that the person typed",
        y_title="Utility@5 (logged query = 1)",
        description="; ".join(described),
    )
    strong = frozenset({policies.index("unbiased")})
    exhibits = (
        Table("guardrails", [Column("Policy"), *columns], rows, strong),
        Table("guardrails_dial", [Column("Dial"), *columns], between),
        figure,
    )
    return Section("guardrails", exhibits)
