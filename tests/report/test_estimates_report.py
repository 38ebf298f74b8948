"""What the estimates make people do."""

from io import StringIO
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from rich.console import Console

from runs import Made
from wayword.engines import tables
from wayword.report.estimates import (
    FEW,
    _advice,
    estimates_of,
    print_all,
)
from wayword.store.workspace import Workspace


def gains(low: float, high: float) -> dict[str, dict[str, float]]:
    return {"popular": {"value": (low + high) / 2, "low": low, "high": high}}


def test_a_log_on_which_popular_is_better_says_so_and_only_then() -> None:
    (said,) = _advice(FEW, gains(-0.2, -0.1))
    assert said.startswith("On this log most popular completion has a higher Utility@1")
    assert _advice(FEW, gains(-0.2, 0.1)) == []
    assert _advice(FEW, gains(0.1, 0.2)) == []


def test_few_test_searches_are_called_a_trial() -> None:
    (said,) = _advice(FEW - 1, gains(0.1, 0.2))
    assert said.startswith("Only 99 test searches")


def test_a_reader_gets_utility_unless_it_asks_for_more(undisturbed: Made) -> None:
    workspace = Workspace.open(undisturbed.path)
    everything = estimates_of(workspace, metric=None)
    for metric in ("utility", "list_utility"):
        assert estimates_of(workspace, metric) == [row for row in everything if row["metric"] == metric] != []
    usual = estimates_of(workspace)
    assert usual == estimates_of(workspace, "utility")
    assert len({(row["policy"], row["k"]) for row in usual}) == len(usual)


def test_estimates_from_before_list_utility_are_still_told(
    undisturbed: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    def told() -> str:
        print_all(Workspace.open(undisturbed.path), Console(file=(out := StringIO()), width=80))
        return out.getvalue()

    assert "List utility@5" in told()
    read = tables.read

    def without(folder: Path, name: str) -> pa.Table:
        found = read(folder, name)
        return found.filter(pc.equal(found["metric"], "utility")) if name == "estimates" else found

    monkeypatch.setattr(tables, "read", without)
    assert "Utility@5" in told()
    assert "List utility" not in told()
