"""The comparison scores methods on searches held out and recommends one."""

import json
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from made_impressions import LAWS, RANKS
from rich.console import Console

from wayword.errors import MissingExtra
from wayword.propensity.comparison import (
    EM,
    LAW,
    LIKELIHOOD,
    MONOTONE,
    Comparison,
    Score,
    _recommended,
    choices,
    compare,
)
from wayword.report.propensity import print_comparison
from wayword.report.propensity_figure import draw_curves
from wayword.simulation.result_pages import World, draw


@pytest.fixture(scope="module")
def found() -> Comparison:
    pages = draw(np.random.default_rng(0), LAWS["step"], searches=20_000, world=World(queries=300, periods=1))
    return compare(pages.impressions())


def test_all_methods_are_fitted_and_scored(found: Comparison) -> None:
    assert list(found.estimates) == list(choices("week"))
    assert set(found.scores) == {*found.estimates, LAW}
    best = [name for name, score in found.scores.items() if score.behind == 0]
    assert len(best) == 1
    assert all(score.gain <= found.scores[best[0]].gain for score in found.scores.values())
    assert json.loads(json.dumps(found.as_object()))["recommended"] == found.recommended


def test_the_likelihood_is_recommended_where_only_rank_and_relevance_matter(found: Comparison) -> None:
    assert found.recommended in (LIKELIHOOD, MONOTONE)
    assert any("held-out clicks" in reason for reason in found.reasons)
    assert any("needs no model of relevance" in reason for reason in found.reasons)


def test_a_law_and_a_regression_that_are_wrong_predict_worse(found: Comparison) -> None:
    """The curve has a step, which no power law has; relevance is of pairs, which em's regression is not."""
    for name in (LAW, EM):
        assert found.scores[name].behind > 3 * found.scores[name].error


def test_what_predicts_significantly_better_is_recommended_also_the_law(found: Comparison) -> None:
    """It is recommended with what to set; nothing is said to be worse than another and recommended nevertheless."""
    for best in (LAW, EM):
        scores = {name: Score(0.1, 0.0 if name == best else 0.02, 0.001) for name in found.scores}
        scores[best] = Score(0.12, 0.0, 0.0)
        recommended, reasons = _recommended(found.estimates, scores, found.dependence)
        assert recommended == best
        assert reasons[0].endswith("likelihood does significantly worse.")
        alpha = found.estimates[LIKELIHOOD].law.alpha
        told = f'Set [propensity] source = "power" and alpha = {alpha:.2f}'
        assert any(told in reason for reason in reasons) == (best == LAW)


def test_the_figure_names_every_method(found: Comparison, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    for name in ("curves.svg", "again.svg"):
        draw_curves(found.estimates, tmp_path / name, strong=found.recommended)
    text = (tmp_path / "curves.svg").read_text()
    assert all(f">{name}</text>" in text for name in found.estimates)
    assert text == (tmp_path / "again.svg").read_text()


def test_without_the_extra_a_figure_says_how_to_get_it(
    found: Comparison, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtra, match=r"pip install '.\[report\]'"):
        draw_curves(found.estimates, tmp_path / "curves.svg", strong=LIKELIHOOD)


def test_the_score_is_the_log_likelihood_of_held_out_clicks(found: Comparison) -> None:
    """A click at the step tells more than one between ranks of similar p; the score cannot exceed the entropy of ten
    ranks."""
    assert 0 < found.scores[LIKELIHOOD].gain < np.log(len(RANKS))


def test_a_log_whose_halves_say_too_little_is_compared_without_scores() -> None:
    """A few clicks on each rank: enough together, not in each half."""
    world = World(queries=40, documents=5, shown=5, periods=1, base=-3.0, search_noise=1.5)
    pages = draw(np.random.default_rng(0), LAWS["alpha 1"], searches=300, world=world)
    found = compare(pages.impressions())
    assert (found.scores, found.recommended) == ({}, LIKELIHOOD)
    assert "too few ranks to compare the methods" in found.reasons[0]
    console = Console(width=100, record=True)
    print_comparison(found, console)
    assert "likelihood ←" in console.export_text()


def test_settings_in_brackets_are_printed(found: Comparison) -> None:
    console = Console(width=200, record=True)
    print_comparison(replace(found, reasons=['Set [propensity] source = "power".']), console)
    assert '- Set [propensity] source = "power".' in console.export_text()
