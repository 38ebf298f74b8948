"""The evaluation that the page shows: typing sessions of each policy, and of `wayword` over its keystroke values."""

import math
from pathlib import Path

from wayword.completion.policies import DEFAULT
from wayword.errors import WaywordError
from wayword.evaluation.typing_sessions import FOUND, KEYSTROKES, MODEL
from wayword.index.evaluation_file import CurvePoint, Evaluation, PolicyPoint
from wayword.report.sessions import Row, curve_of, sessions_of
from wayword.report.verdict import verdict_lines, verdict_of
from wayword.store.workspace import Workspace


def evaluation_of(workspace: Workspace | Path | str, *, served: str = DEFAULT) -> Evaluation:
    """The evaluation of a workspace whose index has the policy `served`; empty if there are no estimates.

    An index can be made without an evaluation, so one that cannot be read is no error here.
    """
    workspace = Workspace.of(workspace)
    try:
        rows, verdict = sessions_of(workspace), verdict_lines(verdict_of(workspace))
        curve, report = curve_of(workspace), workspace.report("completion")
    except (WaywordError, OSError):
        return Evaluation()
    return summary(rows, verdict, curve, report.get("keystroke value") if served == DEFAULT else None)


def summary(
    rows: list[Row], verdict: list[str], curve: list[Row], keystroke_value: float | None
) -> Evaluation:
    """The points of people who accept as the model says, without those that could not be estimated.

    >>> rows = [dict(policy="popular", people=MODEL, metric=m, value=v) for m, v in ((FOUND, 0.9), (KEYSTROKES, 0.3))]
    >>> summary(rows, [], [], 0.8).policies
    [PolicyPoint(policy='popular', found=0.9, keystrokes=0.3)]
    """
    value = {(row["policy"], row["metric"]): float(row["value"]) for row in rows if row["people"] == MODEL}
    names = dict.fromkeys(policy for policy, _ in value)
    unknown = float("nan")
    policies = [
        PolicyPoint(name, value.get((name, FOUND), unknown), value.get((name, KEYSTROKES), unknown))
        for name in names
    ]
    line = [CurvePoint(row["keystroke_value"], row[FOUND], row[KEYSTROKES]) for row in curve]
    return Evaluation(
        [point for point in policies if _is_known(point)],
        [point for point in line if _is_known(point)],
        keystroke_value,
        verdict,
    )


def _is_known(point: PolicyPoint | CurvePoint) -> bool:
    return math.isfinite(point.found) and math.isfinite(point.keystrokes)
