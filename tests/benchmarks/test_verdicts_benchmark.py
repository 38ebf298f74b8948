"""A wrong propensity never changes a verdict unseen: the benchmark on two small logs."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

from wayword.simulation.simulate import simulate

SETTINGS = {"evaluation": {"compare": ["popular"], "bootstrap": 100, "sessions": 300}}


@pytest.fixture(scope="module")
def verdicts() -> ModuleType:
    file = Path(__file__).parents[2] / "benchmarks" / "verdicts.py"
    spec = importlib.util.spec_from_file_location("verdicts", file)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules["verdicts"] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
def test_a_wrong_propensity_never_changes_a_verdict_unseen(
    seed: int, verdicts: ModuleType, tmp_path: Path
) -> None:
    data = simulate("packages", clicks=1500, depth=10, seed=seed, out=tmp_path / "data")
    for alpha in (0.5, 2.0):
        folder = tmp_path / f"{alpha:g}"
        folder.mkdir()
        for one in verdicts.compare(data, folder, alpha, SETTINGS):
            assert (
                one.announced
                if one.changed
                else not one.announced or one.truth["better"] == one.printed["better"]
            )
            (check,) = (row for row in one.printed["checks"] if row["assumption"] == "α = 1")
            assert check["better"] == one.truth["better"]
            assert check["found"] == pytest.approx(one.truth["found"], abs=1e-9)
            assert check["keystrokes"] == pytest.approx(one.truth["keystrokes"], abs=1e-9)
