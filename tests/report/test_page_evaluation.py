"""The evaluation for the page has the numbers of the tables, and none that could not be estimated."""

import math
import shutil
from pathlib import Path
from typing import Any

import pytest

from runs import Made
from wayword.evaluation.typing_sessions import MODEL
from wayword.index.evaluation_file import CurvePoint, Evaluation, PolicyPoint
from wayword.report.page_evaluation import evaluation_of, summary
from wayword.report.sessions import curve_of, sessions_of
from wayword.report.verdict import verdict_of
from wayword.store.workspace import Workspace


def test_the_points_are_those_of_the_tables(undisturbed: Made) -> None:
    workspace = Workspace.open(undisturbed.path)
    rows = sessions_of(workspace)
    got = evaluation_of(workspace)
    expected = {(r["policy"], r["metric"]): r["value"] for r in rows if r["people"] == MODEL}
    assert len(got.policies) == len({policy for policy, _ in expected})
    for point in got.policies:
        assert (point.found, point.keystrokes) == (
            expected[point.policy, "found"],
            expected[point.policy, "keystrokes"],
        )
    assert [vars_of(point) for point in got.curve] == curve_of(workspace)
    assert got.keystroke_value == workspace.report("completion")["keystroke value"]
    known = verdict_of(workspace)
    assert got.verdict == [known["sentence"], *(flip["sentence"] for flip in known["flips"])]


def vars_of(point: CurvePoint) -> dict[str, float]:
    return {
        "keystroke_value": point.keystroke_value,
        "found": point.found,
        "keystrokes": point.keystrokes,
    }


def test_where_another_policy_is_served_no_keystroke_value_is(undisturbed: Made) -> None:
    assert evaluation_of(undisturbed.path, served="expected").keystroke_value is None


def _rows(policy: str, found: float, keystrokes: float, people: str = MODEL) -> list[dict[str, Any]]:
    values = {"found": found, "keystrokes": keystrokes}
    return [
        {"policy": policy, "people": people, "metric": name, "value": value} for name, value in values.items()
    ]


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_what_could_not_be_estimated_is_no_point(bad: float) -> None:
    rows = [*_rows("popular", 0.9, 0.3), *_rows("random", bad, 0.5), *_rows("popular", 1, 1, "everything")]
    curve = [
        {"keystroke_value": value, "found": found, "keystrokes": 0.5}
        for value, found in ((1.0, 0.9), (2.0, bad))
    ]
    got = summary(rows, [], curve, 1.0)
    assert got == Evaluation([PolicyPoint("popular", 0.9, 0.3)], [CurvePoint(1.0, 0.9, 0.5)], 1.0, [])


def test_a_workspace_without_estimates_has_no_evaluation(undisturbed: Made, tmp_path: Path) -> None:
    workspace = Workspace.open(undisturbed.copy(tmp_path / "workspace"))
    shutil.rmtree(workspace.folder("estimates"))
    assert evaluation_of(workspace) == Evaluation()
    del workspace.manifest["stages"]["estimates"]
    assert evaluation_of(workspace) == Evaluation()
