"""Report of verdicts: is a policy better for people than another, how sure is that, and for which searches?"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from wayword.errors import WaywordError
from wayword.evaluation import verdict
from wayword.evaluation.session_outcomes import (
    ACCEPTANCE,
    OWN_CLICKS,
    PEOPLE,
    PROPENSITY,
    TYPED,
    Assumption,
    SessionOutcomes,
)
from wayword.evaluation.verdict import compare, in_brief
from wayword.logs.columns import CONTEXT
from wayword.request import ANY
from wayword.store.workspace import Workspace

PREFIX_LENGTH, FREQUENCY = "prefix-length", "frequency"
FREQUENCIES = {
    "never searched before": (0, 0),
    "1 to 9 searches": (1, 9),
    "10 to 99 searches": (10, 99),
    "100 or more searches": (100, np.inf),
}
MOST = 10
"""Number of values of a column that are slices of their own, the most frequent ones; the others are one slice."""
OTHERS, MISSING = "(other values)", "(no value)"


def verdict_of(workspace: Workspace | Path | str, *, mode: str = ANY) -> dict[str, Any]:
    """Whether what is served is better than most popular completion: the fields of `evaluation.verdict.Verdict`, and
    `worth`, what the log can teach (`evaluation.log_worth`)."""
    workspace = Workspace.of(workspace)
    with workspace.reading():
        known = verdict.read(workspace.folder("estimates"))
    if mode not in known:
        raise WaywordError(
            "Most popular completion was not evaluated; add it to `[evaluation] compare` and run again."
        )
    worth = workspace.report("worth") if "worth" in workspace.manifest["stages"] else {}
    return {**known[mode], "worth": worth}


def comparison_of(
    workspace: Workspace | Path | str, policy: str, other: str, *, mode: str = ANY
) -> dict[str, Any]:
    """The verdict on two policies of a workspace."""
    workspace = Workspace.of(workspace)
    outcomes = _outcomes(workspace)
    known = outcomes.policies(mode)
    if known and (unknown := [name for name in (policy, other) if name not in known]):
        raise WaywordError(
            f"Found {', '.join(map(repr, unknown))}; expected policies that were evaluated: {', '.join(known)}."
        )
    config, available = workspace.config.evaluation, workspace.report("estimates")["test searches"]
    return compare(outcomes, policy, other, mode, config, available=available).as_object()


def slices_of(
    workspace: Workspace | Path | str, by: str, policies: tuple[str, str] | None = None, *, mode: str = ANY
) -> list[dict[str, Any]]:
    """A verdict for each slice of the test searches: a row with slice, searches and the fields of `Verdict`.

    `by` is a context column of the log, `frequency` (how often the intended query was searched before) or
    `prefix-length` (lists are shown only at texts of so many characters). Intervals are widened for the number of
    slices; see `evaluation.verdict.compare`.
    """
    workspace = Workspace.of(workspace)
    outcomes = _outcomes(workspace)
    both = policies or _judged(workspace, mode)
    slices = _slices(outcomes, by)
    config = workspace.config.evaluation
    found = []
    for name, (places, assumption) in slices.items():
        judged = compare(
            outcomes,
            *both,
            mode,
            config,
            places=places,
            kinds=(PROPENSITY, PEOPLE, ACCEPTANCE) if by == FREQUENCY else (),
            base=assumption,
            slices=len(slices),
        )
        found.append(
            {"slice": name, "searches": len(places), "brief": in_brief(judged), **judged.as_object()}
        )
    return found


def _judged(workspace: Workspace, mode: str) -> tuple[str, str]:
    known = verdict_of(workspace, mode=mode)
    return known["policy"], known["other"]


def _outcomes(workspace: Workspace) -> SessionOutcomes:
    with workspace.reading():
        return SessionOutcomes.read(workspace.folder("estimates"))


def _slices(outcomes: SessionOutcomes, by: str) -> dict[str, tuple[NDArray[np.int64], Assumption]]:
    """The places of the searches of each slice, and what is assumed there."""
    searches = outcomes.searches
    if by == PREFIX_LENGTH:
        length = searches["length"].to_numpy()
        texts = {one.name: one for one in outcomes.assumptions(TYPED)}
        shortest = {name: int(name.split()[0]) for name in texts}
        return {name: (np.flatnonzero(length > shortest[name]), texts[name]) for name in texts}
    if by == FREQUENCY:
        frequency = searches["frequency"].to_numpy()
        bounds = FREQUENCIES.items()
        masks = {name: (frequency >= low) & (frequency <= high) for name, (low, high) in bounds}
    else:
        masks = _values(searches, by)
    assumption = Assumption() if by == FREQUENCY else Assumption(OWN_CLICKS)
    return {name: (np.flatnonzero(mask), assumption) for name, mask in masks.items() if mask.any()}


def _values(searches: Any, column: str) -> dict[str, NDArray[np.bool_]]:
    """A mask for each of the most frequent values of a context column, for the others, and for no value."""
    known = [name.removeprefix(CONTEXT) for name in searches.column_names if name.startswith(CONTEXT)]
    if column not in known:
        raise WaywordError(
            f"Found --slice {column}; expected {', '.join([*known, PREFIX_LENGTH, FREQUENCY])}."
        )
    values = np.array(
        [MISSING if value is None else str(value) for value in searches[CONTEXT + column].to_pylist()]
    )
    names, counts = np.unique(values, return_counts=True)
    named = names[np.lexsort((names, -counts))][:MOST].tolist()
    masks = {name: values == name for name in named}
    return masks | {OTHERS: ~np.isin(values, named)}


def print_verdict(found: Mapping[str, Any], console: Console) -> None:
    """Print the sentence, then a line for each assumption under which it would be another."""
    sentence, *flips = verdict_lines(found)
    console.print(Text(sentence, style="bold"))
    for line in flips:
        console.print(Padding(Text(line), (0, 0, 0, 2)))


def print_slices(rows: list[dict[str, Any]], by: str, level: float, console: Console) -> None:
    """Print a table of the slices, and what their number means for the intervals."""
    table = Table(title=f"By {by}: {rows[0]['policy']} against {rows[0]['other']}" if rows else None)
    table.add_column("slice")
    for name in ("searches", "found", "keystrokes"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("verdict")
    for row in rows:
        found, keys = row["found"], row["keystrokes"]
        difference = (
            f"{found['value']:+.3f} [dim]{found['low']:+.3f} to {found['high']:+.3f}[/dim]" if found else "–"
        )
        ratio = f"× {keys['ratio']:.2f}" if keys else "–"
        table.add_row(Text(row["slice"]), f"{row['searches']:,}", difference, ratio, row["brief"])
    console.print(table)
    for row in rows:
        if row["better"] in (row["policy"], row["other"]):
            for flip in row["flips"]:
                console.print(Text(f"{row['slice']}: {flip['sentence']}"))
    unchecked = (
        "" if by == FREQUENCY else " Only the verdict on all searches is checked under other assumptions."
    )
    console.print(
        f"{len(rows)} slices: among many, some differ by chance. The intervals are widened so that with a probability "
        f"of {level:.0%} none of them is wrong (Bonferroni).{unchecked}",
        highlight=False,
    )


def verdict_lines(found: Mapping[str, Any]) -> list[str]:
    """The sentence, and a line for each assumption under which it would be another."""
    return [found["sentence"], *(flip["sentence"] for flip in found["flips"])]
