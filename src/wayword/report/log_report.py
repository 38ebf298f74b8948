"""The report about a log: what is better for people and how sure that is, where it helps, and what to check.

`read` collects all that the page says from a workspace, `render` makes the page; no query that the index withholds is
named in it.
"""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from jinja2 import Environment
from markupsafe import Markup, escape

from wayword import __version__
from wayword.check.finding import Finding, percent, share
from wayword.check.stage import CHECK, of_report
from wayword.completion.list_policy import ListPolicy
from wayword.completion.policies import DEFAULT
from wayword.engines import tables
from wayword.engines.tables import tables_in
from wayword.errors import WaywordError
from wayword.evaluation.stage import POPULAR
from wayword.evaluation.typing_sessions import FOUND, KEYSTROKES, METRICS, MODEL
from wayword.evaluation.verdict import EQUAL, MIXED, UNKNOWN
from wayword.report import chart
from wayword.report.chart import Chart, Mark
from wayword.report.estimates import estimates_of
from wayword.report.exhibits import Column, Interval, Table, number, shown
from wayword.report.findings import findings
from wayword.report.html_page import environment, html_page
from wayword.report.log_facts import LogFacts
from wayword.report.next_step import next_step
from wayword.report.recommended_settings import Recommended, recommended, settings_file
from wayword.report.sessions import Row, curve_of, letters, sessions_of
from wayword.report.text_examples import Example, helped_and_hurt
from wayword.report.text_gains import TextGains, text_gains
from wayword.report.verdict import verdict_of
from wayword.request import ANY, MODES, PREFIXED
from wayword.serving.completer import Completer, Served
from wayword.store.artefact import read_object, write_atomically
from wayword.store.regular_file import read_regular
from wayword.store.workspace import Workspace

TITLE = "Wayword on your log"
NAMES = {DEFAULT: "Wayword", POPULAR: "most popular completion", "expected": "expected utility"}
DRAWN_RANKS = 20
TOLD_RANKS = (1, 2, 3, 5, 10, 20)
LONGER = (1, 2, 4, 10)
MOST_MERGED = 20
"""Variants that are named."""
LARGEST_SUMMARY = 10_000_000
"""Bytes of the summary of an A/B test."""
SECTIONS = (
    ("verdict", "Is it better, and how sure is that?"),
    ("people", "What people find against what they type"),
    ("helps", "Where it helps most"),
    ("hurts", "Where it hurts"),
    ("experiment", "What people did: the A/B test"),
    ("data", "What to know about the data"),
    ("withheld", "What is not shown, and why"),
    ("ranks", "How likely each rank is looked at"),
    ("longer", "What more log would tell"),
    ("settings", "Recommended settings"),
    ("numbers", "All numbers"),
)
"""Templates, in the order of the page, with their headings."""


@dataclass(frozen=True)
class Propensities:
    """p of each rank with its interval, where it comes from, and what was assumed."""

    rows: list[Row]
    source: str
    notes: list[str]
    extrapolated_after: int | None

    @property
    def sure(self) -> bool:
        """There is no interval: p was given, not estimated."""
        return all(row["low"] == row["high"] for row in self.rows)


@dataclass(frozen=True)
class Arm:
    """A measure of an arm of an A/B test, or a `difference` of two, whose interval is valid however often one looks."""

    name: str
    measure: str
    people: int | None
    found: Interval
    difference: bool

    @classmethod
    def of(cls, row: Row) -> "Arm":
        """Read a row of what `wayword ubi --json` prints.

        >>> row = dict(arm="b − a", measure="share picked", people=None, shown=None, value=0.1, low=0.0, high=0.2)
        >>> Arm.of(row | dict(anytime_low=None, anytime_high=0.3)).found
        Interval(value=0.1, low=nan, high=0.3)
        """
        difference = row["shown"] is None
        names = ("value", *(f"anytime_{end}" if difference else end for end in ("low", "high")))
        found = Interval(*(math.nan if row[name] is None else float(row[name]) for name in names))
        people = None if row["people"] is None else int(row["people"])
        return cls(str(row["arm"] or "–"), str(row["measure"]), people, found, difference)


@dataclass(frozen=True)
class LogReport:
    """All that the page says."""

    facts: LogFacts
    findings: list[Finding]
    verdicts: Mapping[str, Mapping[str, Any]]
    """By mode; empty where nothing could be measured."""
    sessions: list[Row]
    curve: list[Row]
    keystroke_value: float | None
    estimates: Mapping[str, list[Row]]
    gains: TextGains
    helped: list[Example]
    hurt: list[Example]
    withheld: Mapping[str, int]
    merged: list[Row]
    """Variants of other queries that are not withheld: query, shown_as, reason, searches; the most searched first."""
    queries: int
    index: Mapping[str, Any]
    propensities: Propensities
    changes: list[Recommended]
    settings: str
    """The settings of the workspace and the recommended changes, as a file."""
    used: Mapping[str, Mapping[str, Any]]
    arms: list[Arm]
    pinned: int
    """Texts with pinned suggestions."""

    @property
    def verdict(self) -> Mapping[str, Any]:
        """The verdict of what is served."""
        return self.verdicts[ANY]

    @property
    def problems(self) -> list[Finding]:
        """Problems that should be mended before any number is believed."""
        return [one for one in self.findings if one.level == "FAIL"]


def write(workspace: Workspace, out: Path, *, ubi: Path | None = None) -> None:
    """Write the report of a workspace; `ubi` is what `wayword ubi --json` printed, with an A/B test."""
    if out.is_dir():
        raise WaywordError(
            f"{out} is a folder; expected the name of a file for the report, such as {out}/report.html."
        )
    page = render(read(workspace, ubi))
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(out, page)
    except OSError as problem:
        raise WaywordError(f"Cannot write {out}: {problem.strerror}.") from problem


def read(workspace: Workspace, ubi: Path | None = None) -> LogReport:
    """Collect all that the page says."""
    served = Completer.open(workspace).served
    config = workspace.config
    with workspace.reading():
        with TemporaryDirectory() as spill, tables_in(Path(spill)) as engine:
            facts = LogFacts.read(engine, workspace)
        verdicts = {mode: verdict_of(workspace, mode=mode) for mode in MODES}
        gains = text_gains(workspace, served)
        sessions = sessions_of(workspace)
        estimates = {mode: estimates_of(workspace, None, mode=mode) for mode in MODES}
        curve, report = curve_of(workspace), workspace.report("completion")
        variants = tables.read(workspace.folder("completion"), "variants").to_pylist()
        propensities = _propensities(workspace)
        checked = of_report(workspace.report(CHECK)) if CHECK in workspace.manifest["stages"] else []
    helped, hurt = helped_and_hurt(gains, served)
    reasons = {
        name.removeprefix("withheld: "): int(count)
        for name, count in served.index.report.items()
        if name.startswith("withheld: ")
    }
    changes = recommended(
        config,
        facts,
        verdicts[ANY],
        impressions="impressions" in workspace.manifest["stages"],
    )
    return LogReport(
        facts=facts,
        findings=findings(facts, config, checked),
        verdicts=verdicts,
        sessions=sessions,
        curve=curve,
        keystroke_value=report.get("keystroke value"),
        estimates=estimates,
        gains=gains,
        helped=helped,
        hurt=hurt,
        withheld=reasons | _by_hand(served),
        merged=_merged(variants, served),
        queries=len(served.index.texts),
        index={"version": served.index.version, "policy": served.index.about["policy"]},
        propensities=propensities,
        changes=changes,
        settings=settings_file(config, changes),
        used=config.saved(),
        arms=_arms(ubi) if ubi else [],
        pinned=len(served.overrides.pin),
    )


def _merged(variants: list[Row], served: Served) -> list[Row]:
    """The variants of which neither query is hidden; `run` writes the most searched first."""
    policy = served.index.policy
    if not isinstance(policy, ListPolicy):
        return []

    def may_be_named(text: str) -> bool:
        return any(
            policy.queries.shown_as[n] >= 0 and n not in served.hidden for n in served.index.numbers([text])
        )

    return [row for row in variants if may_be_named(row["query"]) and may_be_named(row["shown_as"])]


def _by_hand(served: Any) -> dict[str, int]:
    """Queries that the team hides, without training."""
    count = len(served.hidden)
    return {"denied, deleted or blocked by hand": count} if count else {}


def _propensities(workspace: Workspace) -> Propensities:
    folder, config = workspace.folder("propensity"), workspace.config.propensity
    rows = tables.read(folder, "propensity").sort_by("rank").to_pylist()
    source = getattr(config, "source", "power")
    estimated = folder / "propensity.json"
    told = read_object(estimated) if estimated.exists() else {}
    origin = {
        "power": f"assumed, not measured: it falls as 1 / rank to the power {config.alpha:g}",
        "file": "given in a file",
        "log": f"estimated from the impressions (method {told.get('method', 'likelihood')})",
    }[source]
    return Propensities(rows, origin, list(told.get("notes", [])), told.get("extrapolated_after_rank"))


def _arms(file: Path) -> list[Arm]:
    """The A/B test in what `wayword ubi --json` printed."""
    try:
        return [Arm.of(row) for row in json.loads(read_regular(file, LARGEST_SUMMARY))["arms"]]
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as problem:
        raise WaywordError(
            f"Cannot read an A/B test from {file}: {problem!r}. Expected what `wayword ubi … --json` prints."
        ) from problem


def render(report: LogReport) -> str:
    """Make the page."""
    templates = _environment()
    values = {"report": report, **_values(report)}
    shown_sections = [
        (name, heading) for name, heading in SECTIONS if not (name == "experiment" and not report.arms)
    ]
    body = "\n".join(
        f'<section aria-labelledby="{name}">\n<h2 id="{name}">{heading}</h2>\n'
        f"{templates.get_template(f'log/{name}.html.jinja').render(**values)}\n</section>"
        for name, heading in shown_sections
    )
    lead = templates.get_template("log/lead.html.jinja").render(**values)
    return html_page(
        TITLE,
        lead=Markup(lead),  # noqa: S704 - from templates that escape every value
        body=Markup(body),  # noqa: S704
        contents=shown_sections,
        style="log.css",
    )


def _environment() -> Environment:
    made = environment()
    made.filters |= {"number": number, "shown": shown, "percent": percent, "points": points, "named": named}
    made.filters |= {"code": code, "typing": typing}
    made.globals |= {
        "width": chart.WIDTH,
        "height": chart.HEIGHT,
        "left": chart.LEFT,
        "right": chart.RIGHT,
        "top": chart.TOP,
        "bottom": chart.BOTTOM,
        "radius": chart.RADIUS,
        "share": share,
    }
    return made


def named(policy: str) -> str:
    """A policy as people call it.

    >>> named("popular"), named("random")
    ('most popular completion', 'random')
    """
    return NAMES.get(policy, policy)


def code(text: str) -> Markup:
    """Text whose parts in backticks are code.

    >>> str(code("a < b, see `wayword check`"))
    'a &lt; b, see <code>wayword check</code>'
    """
    parts = text.split("`")
    return Markup("").join(
        Markup("<code>{}</code>").format(part)
        if n % 2 and n < len(parts) - 1
        else escape("`" * (n % 2) + part)
        for n, part in enumerate(parts)
    )


def points(value: float, digits: int = 1) -> str:
    """A difference of shares in percentage points, with its sign.

    >>> points(0.0314), points(-0.002)
    ('+3.1', '−0.2')
    """
    return number(100 * value, digits, sign=True)


def typing(ratio: float) -> str:
    """How much people type, relative to another policy.

    >>> typing(1.031), typing(0.98), typing(1.004)
    ('3 % more', '2 % less', 'as much')
    """
    percents = round(100 * (ratio - 1))
    return f"{abs(percents)} % {'more' if percents > 0 else 'less'}" if percents else "as much"


def _flip(verdict: Mapping[str, Any], flip: Mapping[str, Any]) -> str:
    """The comparison under an assumption that makes it another one, in the words and units of the page."""
    check = next(one for one in verdict["checks"] if one["assumption"] == flip["assumption"])
    found, other = check["found"], named(verdict["other"])
    said = {
        verdict["policy"]: f"better than {other}",
        verdict["other"]: f"worse than {other}",
        EQUAL: "no difference that matters",
        MIXED: "people find more but type more" if found["value"] > 0 else "people find less but type less",
        UNKNOWN: "it cannot be told",
    }[check["better"]]
    return (
        f"For {flip['assumption']}: {said} ({points(found['value'])} percentage points found, "
        f"{typing(check['keystrokes']['ratio'])} typed)."
    )


def _traded(curve: list[Row]) -> bool:
    """With a smaller keystroke value people find more and type more; the largest value comes last."""
    return bool(curve) and all(curve[0][name] > curve[-1][name] for name in (FOUND, KEYSTROKES))


def _values(report: LogReport) -> dict[str, Any]:
    """The values that templates show beside the report itself."""
    value = {(row["policy"], row["metric"]): row for row in report.sessions if row["people"] == MODEL}
    marks = letters(dict.fromkeys(row["policy"] for row in report.sessions))
    return {
        "title": TITLE,
        "version": __version__,
        "wayword": DEFAULT,
        "popular": POPULAR,
        "session": value,
        "marks": marks,
        "picture": _picture(report, value, marks),
        "ranks": _rank_chart(report.propensities),
        "told": [row for row in report.propensities.rows if row["rank"] in TOLD_RANKS],
        "longer": _longer(report.verdict),
        "next_step": next_step(
            report.verdict,
            report.facts,
            report.used["index"],
            report.hurt,
            problems=bool(report.problems),
            changes=bool(report.changes),
        ),
        "flips": [_flip(report.verdict, flip) for flip in report.verdict["flips"]],
        "traded": _traded(report.curve),
        "tables": _tables(report),
        "prefixed": PREFIXED,
        "most_merged": MOST_MERGED,
        "withheld_because": WITHHELD,
        "withheld_setting": WITHHELD_BY,
    }


def _picture(
    report: LogReport, value: Mapping[tuple[str, str], Row], marks: Mapping[str, str]
) -> Chart | None:
    """Found against keystrokes: every policy, and the served one over its keystroke values."""
    drawn = [
        Mark(
            100 * value[name, KEYSTROKES]["value"],
            100 * value[name, FOUND]["value"],
            letter,
            name == report.verdict["policy"],
        )
        for name, letter in marks.items()
        if (name, FOUND) in value and (name, KEYSTROKES) in value
    ]
    drawn = [mark for mark in drawn if math.isfinite(mark.x) and math.isfinite(mark.y)]
    line = sorted((100 * row[KEYSTROKES], 100 * row[FOUND]) for row in report.curve)
    line = [point for point in line if all(map(math.isfinite, point))]
    if not drawn:
        return None
    return Chart(
        "picture",
        "What people find against the characters that they type, for each policy: the table below has the numbers.",
        "characters typed, % of the whole query",
        "found, % of typing on",
        line=line,
        marks=[*(mark for mark in drawn if not mark.strong), *(mark for mark in drawn if mark.strong)],
    )


def _rank_chart(found: Propensities) -> Chart:
    rows = [row for row in found.rows if row["rank"] <= DRAWN_RANKS]
    return Chart(
        "propensity",
        "Probability that a result is looked at, relative to the first rank: the table below has the numbers.",
        "rank of the result",
        "looked at, % of the first",
        line=[(row["rank"], 100 * row["p"]) for row in rows],
        band=[] if found.sure else [(row["rank"], 100 * row["low"], 100 * row["high"]) for row in rows],
        from_zero=True,
    )


def _longer(verdict: Mapping[str, Any]) -> list[tuple[str, float]]:
    """Half the width of the interval of the difference in found, with this log and with longer ones."""
    if not verdict["found"]:
        return []
    half = (verdict["found"]["high"] - verdict["found"]["low"]) / 2
    return [
        ("this log" if times == 1 else f"{times} times the log", half / math.sqrt(times)) for times in LONGER
    ]


def _tables(report: LogReport) -> list[tuple[str, Table]]:
    """All estimates, for those who check: caption and table."""
    made = []
    for mode, rows in report.estimates.items():
        kinds = dict.fromkeys((row["metric"], row["k"]) for row in rows if row["metric"] not in METRICS)
        for metric in dict.fromkeys(metric for metric, _ in kinds):
            cutoffs = [k for name, k in kinds if name == metric]
            of = {(r["policy"], r["k"]): r for r in rows if r["metric"] == metric}
            policies = dict.fromkeys(policy for policy, _ in of)
            cells = [
                (named(policy), *(_interval(of.get((policy, k))) for k in cutoffs)) for policy in policies
            ]
            count = next(iter(of.values()))["n"]
            title = f"{METRIC_NAMES.get(metric, metric)}, mode {mode}, {count:,} test searches"
            made.append(
                (
                    title,
                    Table(f"{metric}-{mode}", ["policy", *(Column(f"first {k}") for k in cutoffs)], cells),
                )
            )
    return made


WITHHELD = {
    "personal data": "they look like personal data: an e-mail address, a phone or card number",
    "few users": "too few users searched for them",
    "few searches": "they were searched too seldom",
    "few results": "they return too few results",
    "markup or code": "they are markup or code",
    "blocked": "they are on the block list",
    "deleted": "they were deleted by hand",
}
WITHHELD_BY = {
    "personal data": "[index] withhold",
    "few users": "[index] min_users",
    "few searches": "[index] min_searches",
    "few results": "[index] min_results",
    "blocked": "[index] block",
    "deleted": "overrides.json",
}
METRIC_NAMES = {
    "utility": "Utility@k: mean worth of the first k suggestions, 1 is what people typed themselves",
    "list_utility": "List utility@k: the best of the first k suggestions counts",
    "mrr": "MRR@k: 1 / position of the query that people searched",
    "success": "Success@k: the query that people searched is among the first k",
}


def _interval(row: Row | None) -> Interval | None:
    return None if row is None else Interval(row["value"], row["low"], row["high"])
