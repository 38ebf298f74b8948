"""Turns files of UBI records into a log for `wayword run`, and compares the arms of an A/B test."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from wayword.config import EvaluationConfig
from wayword.engines.duck import DuckDB
from wayword.errors import LogError, WaywordError
from wayword.logs.ubi import (
    clicks,
    completions,
    contexts,
    impressions,
    lines,
    parser,
    rankings,
    searches,
    typing_sessions,
)
from wayword.logs.ubi.schema import COMPLETION_ACTIONS
from wayword.progress import Progress
from wayword.store import disk

UNREADABLE = 0.01
"""The share of lines that may be malformed."""
_CLICKS, _RANKINGS, _IMPRESSIONS, _COMPLETIONS = (
    f"{name}.parquet" for name in ("clicks", "rankings", "impressions", "completions")
)


@dataclass(frozen=True)
class UbiLog:
    """The written files and a summary: `report` counts what was read and left out, `first_ordinals` has the number at
    which each application begins to count positions, `arms` the comparison (see `ab_test`)."""

    folder: Path
    report: dict[str, int]
    first_ordinals: dict[str, int]
    context: list[str]
    arms: list[dict[str, Any]]
    notes: list[str]

    @property
    def clicks(self) -> Path:
        """Searches and clicks."""
        return self.folder / _CLICKS

    @property
    def rankings(self) -> Path | None:
        """The result lists, if the records have any."""
        return self.folder / _RANKINGS if self.report["result lists"] else None

    @property
    def impressions(self) -> Path | None:
        """The impressions of each search, if the records have them."""
        return self.folder / _IMPRESSIONS if self.report["impressions"] else None

    @property
    def completions(self) -> Path:
        """Lists shown, what was taken from each, and the query that followed."""
        return self.folder / _COMPLETIONS


def read_ubi(
    *inputs: Path | str,
    out: Path | str,
    click_actions: Sequence[str] = clicks.CLICKS,
    first_ordinal: int | None = None,
    application: str | None = None,
    context: Sequence[str] | None = None,
    unreadable: float = UNREADABLE,
    memory: str | None = None,
    reporter: Progress | None = None,
    weights: Mapping[str, float] | None = None,
    names: Mapping[Path, Path] | None = None,
    filtered: Callable[[DuckDB], None] = lambda _: None,
) -> UbiLog:
    """Read UBI 1.3 query records and events, files or folders of NDJSON (.gz or not), and write a log to folder `out`.

    The files are `clicks.parquet` (query, document, rank, search_id, user, time, prefix and a column per scalar in
    `query_attributes`, or those named in `context`; a search without a click is a row without document and rank),
    `rankings.parquet` (query, document, rank: the latest result list of each query; only if the records have any),
    `impressions.parquet` (search_id, query, document, rank, clicked, time: what each search showed; only if the records
    say so) and `completions.parquet` (one row per list of completions that was shown: typing_session,
    position_in_session, user, time, prefix, shown, taken, query, search_id, mode, policy, index, arm and the context
    columns of the search as context_NAME). `first_ordinal`, 0 or 1, is the position of the first result; without it
    each application's is found in the data. Tables that outgrow `memory` ("4GB"; without it, most of the machine's)
    wait on disk. The same files give the same bytes. `weights` are those of actions; they count as clicks, and the log
    has a column `weight`. `names` are the names of files in messages, where they are others. `filtered` may remove
    records from the tables `asked` and `events` (see `parser`) before they become a log.
    """
    from wayword.logs.ubi import ab_test  # late: SciPy is needed for nothing else

    weights = weights or {}
    actions = tuple(dict.fromkeys([*click_actions, *weights]))
    _check(actions, first_ordinal, unreadable, memory)
    files = lines.files_of([Path(given) for given in inputs])
    if not files:
        raise WaywordError("Found no files; expected files or folders of UBI records (NDJSON).")
    engine = DuckDB(memory=memory)
    try:
        sources = parser.read(
            engine, files, application=application, reporter=reporter or Progress(), names=names
        )
        report = parser.check(engine, sources, unreadable=unreadable)
        filtered(engine)
        report |= completions.build(engine) | searches.build(engine)
        _check_found(report, application)
        built = log_of(engine, report, actions, weights, first_ordinal, context)
        folder = Path(out)
        write(engine, folder, built.context, weights)
        compared = ab_test.compare(engine, EvaluationConfig()).to_pylist()
        notes = parser.describe_left_out(engine, sources) + built.notes
    finally:
        engine.close()
    return UbiLog(folder, built.report, built.first_ordinals, built.context, compared, notes)


@dataclass(frozen=True)
class Built:
    """What `log_of` counted and found."""

    report: dict[str, int]
    first_ordinals: dict[str, int]
    context: list[str]
    notes: list[str]


def log_of(
    engine: DuckDB,
    report: dict[str, int],
    actions: Sequence[str],
    weights: Mapping[str, float],
    first_ordinal: int | None,
    context: Sequence[str] | None,
) -> Built:
    """The tables of a log from `searches`, `events` and `completions`."""
    report = report | typing_sessions.build(engine)
    first = clicks.find_first_ordinals(engine, actions, first_ordinal)
    impressions.find_seen(engine)
    report |= clicks.build(engine) | rankings.build(engine) | impressions.build(engine)
    found = contexts.build(engine, context)
    engine.load(
        "action_weights",
        pa.table(
            {
                "action": pa.array(weights.keys(), pa.string()),
                "weight": pa.array(weights.values(), pa.float64()),
            }
        ),
    )
    doubts = [] if first_ordinal is not None else clicks.doubtful(engine).items()
    notes = [_doubt(name, *ordinals) for name, ordinals in doubts]
    return Built(report | found.report, first, found.columns, found.notes + notes)


def _check(actions: Sequence[str], first_ordinal: int | None, unreadable: float, memory: str | None) -> None:
    if not actions or not all(action.strip() for action in actions):
        raise WaywordError(f"Found the clicks {list(actions)}; expected names of actions, such as click.")
    if taken := sorted({clicks.IMPRESSION, *COMPLETION_ACTIONS} & set(actions)):
        raise WaywordError(f"Found {', '.join(taken)} among the clicks; expected what people do to a result.")
    if first_ordinal not in (None, 0, 1):
        raise WaywordError(f"Found first_ordinal = {first_ordinal}; expected 0 or 1.")
    if not 0 <= unreadable <= 1:
        raise WaywordError(f"Found unreadable = {unreadable}; expected a share from 0 to 1.")
    if memory is not None and not re.fullmatch(r"[1-9]\d*[KMGT]i?B", memory):
        raise WaywordError(f"Found memory = {memory!r}; expected so many bytes, such as 4GB.")


def _check_found(report: dict[str, int], application: str | None) -> None:
    if report["searches"]:
        return
    found = f"{report['query records']:,} query records and {report['events']:,} events"
    if application is None:
        raise LogError(
            f"Found {found}, but no search: none has both a query_id and a user_query. Expected UBI records, one JSON "
            "object per line."
        )
    raise LogError(
        f"Found {found} of the application {application!r}, but no search with a query_id and a user_query; "
        f"{report['records of other applications']:,} records are of others. Give another name, or none."
    )


def _doubt(application: str, zeros: int, ones: int) -> str:
    return (
        f"the application {application!r} has only {zeros:,} positions of 0 beside {ones:,} of 1, so it is taken to "
        "count from 1: give --first-ordinal 0 if it counts from 0"
    )


def write(
    engine: DuckDB, folder: Path, columns: Sequence[str], weights: Mapping[str, float], *, lists: bool = True
) -> None:
    """Write the files of a log; without `lists`, `completions.parquet` only if there are any."""
    weight = ", CASE WHEN c.document IS NOT NULL THEN coalesce(a.weight, 1) END AS weight" if weights else ""
    context = "".join(f", x.{engine.quote(name)}" for name in columns)
    with disk.filled(folder) as unfinished:
        engine.write(
            f"""SELECT s.query, c.document, c.rank, s.query_id AS search_id, s.person AS user, s.time, s.prefix
                       {weight}{context}
                FROM searches AS s LEFT JOIN clicks AS c ON c.query_id = s.query_id
                LEFT JOIN contexts AS x ON x.query_id = s.query_id
                LEFT JOIN action_weights AS a ON a.action = c.action
                ORDER BY s.time NULLS LAST, s.place, c.time NULLS LAST, c.place""",
            unfinished / _CLICKS,
        )
        listed = lists or bool(parser.count(engine, "lists"))
        if listed:
            engine.write(typing_sessions.selected(engine, columns), unfinished / _COMPLETIONS)
        optional = {
            _RANKINGS: "SELECT * FROM rankings ORDER BY query, rank, document",
            _IMPRESSIONS: """SELECT s.query_id AS search_id, s.query, i.document, i.rank, i.clicked, s.time
                             FROM impressions AS i JOIN searches AS s ON s.query_id = i.query_id
                             ORDER BY s.time NULLS LAST, s.place, i.rank, i.document""",
        }
        known = [name for name in optional if parser.count(engine, Path(name).stem)]
        for name in known:
            engine.write(optional[name], unfinished / name)
    for name in {*optional, _COMPLETIONS} - {*known, *([_COMPLETIONS] if listed else [])}:
        (folder / name).unlink(missing_ok=True)  # of an earlier log
