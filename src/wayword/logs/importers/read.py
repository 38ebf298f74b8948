"""Imports files of any known format as a log: finds the files and the format, and lets the importer write the log."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from wayword.engines.duck import DuckDB
from wayword.errors import LogError, WaywordError
from wayword.logs.importers import bots as bot_rules
from wayword.logs.importers import companions, formats, records, sources
from wayword.logs.importers.companions import DOCUMENTS, Written
from wayword.logs.importers.job import FILES, RANKINGS, UNREADABLE, Format, Job, Outcome
from wayword.logs.importers.records import Records
from wayword.logs.importers.sources import Source
from wayword.progress import Progress
from wayword.store import disk
from wayword.store import memory as memory_limit

ENGINE_SHARE = 0.6
"""The share of `memory` that DuckDB may fill; it needs more beside its buffers, and so does Python."""


@dataclass(frozen=True)
class ImportedLog:
    """The folder of the log, the format of its sources, whether it was found, the files, and what was done."""

    folder: Path
    format: str
    recognised: bool
    sources: Sequence[Path]
    outcome: Outcome

    @property
    def files(self) -> list[Path]:
        """The tables that were written."""
        return [path for name in (*FILES, DOCUMENTS) if (path := self.folder / name).exists()]

    def as_object(self) -> dict[str, Any]:
        """The summary as plain values."""
        return {
            "format": self.format,
            "sources": [str(path) for path in self.sources],
            "files": [str(path) for path in self.files],
            "read": dict(self.outcome.read),
            "kept": dict(self.outcome.kept),
            "dropped": dict(self.outcome.dropped),
            "taken_as": list(self.outcome.taken_as),
            "notes": list(self.outcome.notes),
        }


def import_log(
    *inputs: Path | str,
    out: Path | str,
    format: str | None = None,
    mapping: Mapping[str, str] | None = None,
    first_rank: int | None = None,
    weights: Mapping[str, float] | None = None,
    memory: str | None = None,
    encoding: str | None = None,
    unreadable: float = UNREADABLE,
    partial: bool = False,
    documents: Path | str | None = None,
    rankings: Path | str | None = None,
    bots: str = bot_rules.AUTO,
    confirm: Callable[[str], bool] | None = None,
    reporter: Progress | None = None,
) -> ImportedLog:
    """Write a log for `run` into the folder `out` from files, folders and patterns of files of one format.

    `mapping` has the file's column for columns of the log, `weights` those of actions. `documents` and `rankings` are
    tables beside the log, written too; their columns are `documents.title` and the like in `mapping`. `confirm` is
    asked whether guessed columns are right. Other than the tables nothing stays: files in work are inside `out` and
    are removed.
    """
    _check(first_rank, weights or {}, memory, unreadable)
    bot_rules.check(bots)
    folder = Path(out)
    own, beside = _split(mapping or {})
    disk.check_name(folder)
    found = sources.find([Path(given) for given in inputs])
    if not found:
        raise WaywordError("Found no files; expected files or folders of a log.")
    _make(folder)
    with TemporaryDirectory(prefix=".unfinished-", dir=folder, ignore_cleanup_errors=True) as working:
        read = [
            sources.read(path, number, Path(working), given=encoding, partial=partial)
            for number, path in enumerate(found)
        ]
        filled = [source for source in read if source is not None]
        if not filled:
            raise LogError(f"{found[0]} is empty: it has 0 bytes. Expected a log.")
        engine = DuckDB(spill=Path(working), memory=_limit(memory))
        try:
            chosen, rows = _format(engine, filled, format)
            _check_options(chosen, own, weights or {})
            if rankings is not None:
                companions.rankings(Path(rankings), Path(working), beside["rankings"], encoding=encoding)
            job = Job(
                engine,
                filled,
                rows,
                folder,
                own,
                first_rank,
                weights or {},
                unreadable,
                confirm,
                reporter or Progress(),
                _limit(memory),
                bots,
                None if rankings is None else Path(working) / RANKINGS,
            )
            outcome = chosen.read(job)
        finally:
            engine.close()
    tables = []
    (folder / DOCUMENTS).unlink(missing_ok=True)  # of an earlier log
    if rankings is not None:
        tables.append(companions.rankings(Path(rankings), folder, beside["rankings"], encoding=encoding))
    if documents is not None:
        tables.append(companions.documents(Path(documents), folder, beside["documents"], encoding=encoding))
    notes = [note for source in filled for note in source.notes]
    if empty := len(found) - len(filled):
        notes.append(f"{empty:,} empty files")
    dropped = {reason: number for reason, number in outcome.dropped.items() if number}
    outcome = _with_tables(
        Outcome(outcome.read, outcome.kept, dropped, outcome.taken_as, [*notes, *outcome.notes]), tables
    )
    return ImportedLog(folder, chosen.name, format is None, found, outcome)


def _split(mapping: Mapping[str, str]) -> tuple[dict[str, str], dict[str, dict[str, str]]]:
    """The columns of the log, and those of the tables beside it.

    >>> _split({"query": "q", "documents.title": "name"})
    ({'query': 'q'}, {'documents': {'title': 'name'}, 'rankings': {}})
    """
    beside: dict[str, dict[str, str]] = {"documents": {}, "rankings": {}}
    own = {}
    for role, column in mapping.items():
        kind, _, name = role.partition(".")
        if kind in beside and name:
            beside[kind][name] = column
        else:
            own[role] = column
    return own, beside


def _with_tables(outcome: Outcome, tables: Sequence[Written]) -> Outcome:
    """The outcome, with what was written beside the log."""
    return Outcome(
        outcome.read,
        {**outcome.kept, **{table.path.stem: table.rows for table in tables}},
        outcome.dropped,
        [*outcome.taken_as, *(table.taken_as for table in tables)],
        [*outcome.notes, *(note for table in tables for note in table.notes)],
    )


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except FileExistsError as problem:
        raise WaywordError(f"Cannot write into {folder}: it is a file; expected a folder.") from problem


def _format(engine: DuckDB, filled: Sequence[Source], given: str | None) -> tuple[Format, Records]:
    """The format and its records; those of a format without quotes are read again without."""
    chosen = formats.named(given) if given else None
    rows = records.of(engine, filled, quoted=chosen.quoted if chosen else True)
    if chosen is None:
        chosen = formats.find(rows.names)
        if not chosen.quoted:
            rows = records.of(engine, filled, quoted=False)
    return chosen, rows


def _check(
    first_rank: int | None, weights: Mapping[str, float], memory: str | None, unreadable: float
) -> None:
    if first_rank not in (None, 0, 1):
        raise WaywordError(f"Found first_rank = {first_rank}; expected 0 or 1.")
    for action, weight in weights.items():
        if not (action.strip() and 0 < weight < math.inf):
            raise WaywordError(
                f"Found the weight {action}={weight}; expected a positive number, such as purchase=5."
            )
    if memory is not None:
        memory_limit.parse(memory)
    if not 0 <= unreadable <= 1:
        raise WaywordError(f"Found unreadable = {unreadable}; expected a share from 0 to 1.")


def _limit(memory: str | None) -> str | None:
    """DuckDB's part of the memory.

    >>> _limit("2GB"), _limit(None)
    ('1200000KB', None)
    """
    if memory is None:
        return None
    return f"{int(memory_limit.parse(memory) * ENGINE_SHARE) // 1000}KB"


def _check_options(chosen: Format, mapping: Mapping[str, str], weights: Mapping[str, float]) -> None:
    if mapping and not chosen.fields:
        raise WaywordError(f"The format {chosen.name} has fixed names; --map is for other formats.")
    unknown = [role for role in mapping if role not in chosen.fields and chosen.name != "tables"]
    if unknown:
        raise WaywordError(
            f"Found --map {unknown[0]}=…; with {chosen.name}, expected one of {', '.join(chosen.fields)}."
        )
    if weights and chosen.name == "aol":
        raise WaywordError("The AOL log has clicks only; --weight has nothing to weigh.")
