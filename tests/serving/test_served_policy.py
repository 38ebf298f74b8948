"""What is evaluated is what is served: the index with its overrides and block lists, text by text."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from shop import QUERIES, Shop
from wayword import pipeline
from wayword.config import IndexConfig
from wayword.engines import tables
from wayword.index import block_list
from wayword.index.build import build
from wayword.index.overrides import FILE
from wayword.index.versions import ROOT, current
from wayword.logs.contexts import from_prefixes
from wayword.plan import texts_of
from wayword.progress import SILENT
from wayword.report.estimates import estimates_of
from wayword.report.verdict import verdict_of
from wayword.request import ANY, MODES
from wayword.serving.completer import Completer
from wayword.serving.served_policy import ServedPolicy
from wayword.store.workspace import Workspace
from wayword.text import normalise

TYPED = sorted(
    {text[:end] for text in QUERIES for end in range(1, len(text) + 1)} | {"lx", "zzz", "steel la"}
)
OVERRIDES = {
    "deny": ["lamp steel", "ladder"],
    "delete": ["lock small"],
    "pin": {"la": ["Lock steel", "no such query"], "lan": ["lantern"]},
}


@pytest.fixture
def copied(shop: Shop, tmp_path: Path) -> Workspace:
    return Workspace.open(shutil.copytree(shop.workspace.path, tmp_path / "workspace"))


def served(workspace: Workspace) -> ServedPolicy:
    folder = current(workspace.path / ROOT)
    return ServedPolicy.open(folder, texts_of({"rankings": workspace.folder("rankings")}))


def lists_of(policy: ServedPolicy, mode: str, contexts: pa.Table | None = None) -> list[list[str]]:
    contexts = from_prefixes(TYPED) if contexts is None else contexts
    found = policy.complete(contexts, 10, mode=mode)
    lists: list[list[str]] = [[] for _ in range(contexts.num_rows)]
    for row, query in zip(found.context.tolist(), found.query.tolist(), strict=True):
        lists[row].append(policy.texts[query])
    assert (np.diff(found.context) >= 0).all()
    return lists


def completed(workspace: Workspace, mode: str) -> list[list[str]]:
    completer = Completer.open(workspace.path)
    return [[normalise(one.query) for one in completer.complete(text, 10, mode=mode)] for text in TYPED]


@pytest.mark.parametrize("mode", MODES)
def test_the_lists_that_are_evaluated_are_those_of_the_completer(mode: str, copied: Workspace) -> None:
    root = copied.path / ROOT
    before = lists_of(served(copied), mode)
    assert before == completed(copied, mode)
    (root / FILE).write_text(json.dumps(OVERRIDES))
    (root / block_list.FILE).write_text("laptop\n")
    build(copied, IndexConfig(min_searches=40))  # deletes, and withholds seldom searched queries
    after = lists_of(served(copied), mode)
    listed = completed(copied, mode)
    assert after == [[text for text in texts if text != "no such query"] for texts in listed] != before
    everything = {text for texts in after for text in texts}
    assert everything.isdisjoint({"lamp steel", "ladder", "lock small", "laptop"})
    assert after[TYPED.index("la")][0] == "lock steel"


def test_context_columns_are_asked_as_over_http(copied: Workspace) -> None:
    policy = served(copied)
    contexts = from_prefixes(TYPED).append_column("unknown", pa.array(["x"] * len(TYPED)))
    assert lists_of(policy, ANY, contexts) == lists_of(policy, ANY)


def wayword_rows(workspace: Workspace) -> list[dict[str, Any]]:
    return [row for row in estimates_of(workspace, None) if row["policy"] == "wayword"]


def test_when_something_else_is_served_it_is_evaluated_again(copied: Workspace) -> None:
    assert pipeline.evaluate(copied, SILENT) is copied
    before, ceiling = (
        wayword_rows(copied),
        [r for r in estimates_of(copied, None) if r["policy"] == "ceiling"],
    )
    root = copied.path / ROOT
    (root / block_list.FILE).write_text("/./\n")  # nothing is shown any more
    after = pipeline.evaluate(copied, SILENT)
    assert after.manifest["stages"] != copied.manifest["stages"]
    assert {row["value"] for row in wayword_rows(after) if row["metric"] == "utility"} == {0.0}
    assert [row["value"] for row in wayword_rows(after) if row["metric"] == "keystrokes"] == [1.0]
    assert verdict_of(after)["keystrokes"]["ratio"] > 1
    again = [row for row in estimates_of(after, None) if row["policy"] == "ceiling"]
    assert [row["metric"] for row in again] == [row["metric"] for row in ceiling] != []
    for row, known in zip(again, ceiling, strict=True):  # the estimator has one coefficient for all policies
        assert row["value"] == pytest.approx(known["value"], rel=0.02)
    assert pipeline.evaluate(after, SILENT) is after
    (root / block_list.FILE).unlink()
    restored = pipeline.evaluate(after, SILENT)
    assert wayword_rows(restored) == before
    assert restored.manifest == copied.manifest


def test_an_override_changes_what_is_found(copied: Workspace) -> None:
    most_listed = {text for texts in lists_of(served(copied), ANY) for text in texts[:1]}
    everything = estimates_of(copied, None)
    (copied.path / ROOT / FILE).write_text(json.dumps({"deny": sorted(most_listed)}))
    after = pipeline.evaluate(copied, SILENT)
    typed = [
        row["value"]
        for rows in (everything, wayword_rows(after))
        for row in rows
        if (row["policy"], row["metric"]) == ("wayword", "keystrokes")
    ]
    assert typed[1] > typed[0]
    popular, known = (
        [row for row in rows if (row["policy"], row["metric"]) == ("popular", "keystrokes")]
        for rows in (everything, estimates_of(after, None))
    )
    assert popular == known != []


def test_the_curve_of_keystroke_values_leaves_out_what_is_hidden(copied: Workspace) -> None:
    (copied.path / ROOT / block_list.FILE).write_text("/./\n")
    after = pipeline.evaluate(copied, SILENT)
    curve = tables.read(after.folder("estimates"), "curve")
    assert set(curve["keystrokes"].to_pylist()) == {1.0}
