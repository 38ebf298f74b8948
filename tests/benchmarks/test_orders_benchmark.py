"""The tables about the paper's orders: intervals over logs, verdicts, counts, and logs that are not measured twice."""

import importlib.util
import json
import sys
from math import sqrt
from pathlib import Path
from types import ModuleType

import pytest

ORDER = "Unbiased > Biased @1"


@pytest.fixture(scope="module")
def orders() -> ModuleType:
    file = Path(__file__).parents[2] / "benchmarks" / "orders.py"
    spec = importlib.util.spec_from_file_location("orders", file)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules["orders"] = module
    spec.loader.exec_module(module)
    return module


def log(difference: float) -> dict[str, float]:
    return {"density": 10.0, "invisible": 0.5, "random": 0.3, ORDER: difference}


def test_the_interval_is_students(orders: ModuleType) -> None:
    found = orders.over_logs([0.1, 0.2, 0.3, 0.4, 0.5])
    half = 2.776445 * sqrt(0.1 / 4) / sqrt(5)
    assert (found.value, found.low, found.high) == pytest.approx((0.3, 0.3 - half, 0.3 + half))


def test_each_order_has_a_verdict_for_each_level(orders: ModuleType) -> None:
    levels = {
        "a": [log(0.1), log(0.11), log(0.12)],
        "b": [log(-0.1), log(0.1)],
        "c": [log(-0.2), log(-0.21), log(-0.2)],
    }
    lines = orders.table(levels).splitlines()
    cells = {
        row[1].strip(): [cell.strip() for cell in row[2:-1]] for row in (line.split("|") for line in lines)
    }
    assert cells["searches per context"] == ["10.00"] * 3
    assert [cell.split(" ")[0] for cell in cells[ORDER]] == ["holds", "not", "reversed"]
    assert (cells["holds"], cells["not told"], cells["reversed"]) == (
        ["1", "0", "0"],
        ["0", "1", "0"],
        ["0", "0", "1"],
    )


def test_levels_of_a_factor_differ_in_that_factor_alone(orders: ModuleType) -> None:
    start = orders.Level()
    for factor in ("clicks", "titles", "invisible", "depth"):
        for level in orders.FACTORS[factor].values():
            assert orders.replace(level, **{factor: getattr(start, factor)}) == start
    for level in orders.FACTORS["ranker"].values():
        assert orders.replace(level, ranker=start.ranker, invisible=start.invisible) == start


def test_a_log_that_was_measured_is_read(orders: ModuleType, tmp_path: Path) -> None:
    level = orders.Level()
    (tmp_path / f"{level.name}-3.json").write_text(json.dumps(log(0.25)))
    assert orders.measured(level, 3, tmp_path) == log(0.25)
