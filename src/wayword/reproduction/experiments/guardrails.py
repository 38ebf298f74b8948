"""What conventional completion is judged by, on the same lists: does the list show the query that the person typed?"""

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
from wayword.progress import Progress
from wayword.reproduction import measures
from wayword.reproduction.figures import Series, points
from wayword.reproduction.material import Material, load_lists
from wayword.reproduction.report.exhibits import Column, Figure, Section, Table, Text
from wayword.reproduction.shared import of_labels
from wayword.reproduction.telling import STYLES, named
from wayword.store.stage import Folders, Report
from wayword.utility import DEEPEST

NAME = "guardrails"
AFTER = ("rankings", "contexts", "propensity", "tests", "baselines", of_labels("unbiased"))
FILE = "guardrails.json"
DIAL = tuple(round(0.1 * step, 1) for step in range(11))
"""From the utility-aware list (0) to most popular completion (1)."""


def write(out: Path, at: Folders, progress: Progress) -> Report:
    """Fill `out` with `guardrails.json`: the metrics of each policy, and of the lists between two of them."""
    lists = {**load_lists(at["baselines"]), **load_lists(at[of_labels("unbiased")])}
    tests = Material.load(at["tests"])
    blended = {str(weight): blend(lists["unbiased"], lists["popular"], weight, DEEPEST) for weight in DIAL}
    outcome = measures.measure(out, at, {**lists, **blended}, tests)
    progress.advance(1, 2)
    means = {key: float(v.sum() / outcome.own.sum()) for key, v in at_cutoffs(outcome).items()}
    context, query, to_type = _searches(out, at, tests)
    found = {}
    for name, listed in {**lists, **blended}.items():
        position = positions_of(listed, context, query)
        found[name] = {
            "utility": means[name, 1],
            "utility_at_5": means[name, 5],
            "mrr": float(np.mean(reciprocal_rank(position, DEEPEST))),
            **{f"success_at_{k}": float(np.mean(success(position, k))) for k in (1, 5, 10)},
            "saved": share_saved(position, to_type, DEEPEST),
        }
    tables.write_json(out / FILE, {"policies": list(lists), "dial": list(blended), "found": found})
    return {"searches": len(query)}


def _searches(
    out: Path, at: Folders, tests: Material
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


METRICS = {
    "utility": "Utility@1",
    "utility_at_5": "Utility@5",
    "mrr": "MRR@10",
    "success_at_1": "Success@1",
    "success_at_5": "Success@5",
    "success_at_10": "Success@10",
    "saved": "Keystrokes saved",
}


def section(folder: Path) -> Section:
    """What the metrics show."""
    told = json.loads((folder / FILE).read_text(encoding="utf-8"))
    found, dial = told["found"], told["dial"]
    policies = sorted(told["policies"], key=lambda name: found[name]["mrr"])
    columns = (Column("Policy"), *(Column(title) for title in METRICS.values()))
    rows = tuple((named(p), *(found[p][key] for key in METRICS)) for p in policies)
    between = tuple((f"{float(w):.1f}", *(found[w][key] for key in METRICS)) for w in dial)
    return Section(
        NAME,
        "Guardrails: what conventional completion is judged by",
        (
            Text(
                "MRR and Success@k ask how high the list shows the very query that the person went on to type. "
                "Keystrokes saved is the share of the characters still to be typed that picking it saves, a pick "
                "counting as one. A policy that leads people to better queries may lose on these; this says how much."
            ),
            Table(
                "guardrails",
                "Conventional metrics of the same lists",
                columns,
                rows,
                strong=frozenset(i for i, p in enumerate(policies) if p == "unbiased"),
            ),
            _figure(found, policies, dial),
            Table(
                "guardrails_dial",
                "Between utility (0) and popularity (1)",
                (Column("Dial"), *columns[1:]),
                between,
                "Both lists merged by reciprocal rank: (1 − dial) / position in Unbiased + dial / position in Most "
                "popular.",
            ),
        ),
    )


def _figure(found: dict[str, dict[str, float]], policies: list[str], dial: list[str]) -> Figure:
    shown = [p for p in policies if p != "ceiling"]
    series = [
        Series(
            named(p), [found[p]["mrr"]], [found[p]["utility_at_5"]], strong=p == "unbiased", style=STYLES[p]
        )
        for p in shown
    ]
    curve = Series("dial", [found[w]["mrr"] for w in dial], [found[w]["utility_at_5"] for w in dial])
    description = "; ".join(
        f"{named(p)}: MRR {found[p]['mrr']:.3f}, Utility@5 {found[p]['utility_at_5']:.3f}" for p in shown
    )
    svg = points(
        "guardrails_curve",
        series,
        x_title="MRR@10 of the query that the person typed",
        y_title="Utility@5 (logged query = 1)",
        curve=curve,
        description=description,
    )
    return Figure("guardrails_curve", "Utility against MRR", _conclusion(found, dial), svg, description)


def _conclusion(found: dict[str, dict[str, float]], dial: list[str]) -> str:
    one, other = found["unbiased"], found["popular"]
    middle = found[dial[len(dial) // 2]]
    return (
        f"Unbiased has {one['utility_at_5']:.3f} of Utility@5 and an MRR of {one['mrr']:.3f}, most popular completion "
        f"{other['utility_at_5']:.3f} and {other['mrr']:.3f}; half way on the dial it is "
        f"{middle['utility_at_5']:.3f} and {middle['mrr']:.3f}."
    )
