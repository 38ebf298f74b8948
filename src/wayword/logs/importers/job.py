"""A job: what an importer is given, and what it answers."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from wayword.engines.duck import DuckDB
from wayword.errors import LogError
from wayword.logs.importers.records import Place, Records
from wayword.logs.importers.sources import Source
from wayword.progress import Progress

UNREADABLE = 0.01
"""The share of lines that may be broken."""
CLICKS, RANKINGS, IMPRESSIONS, COMPLETIONS = FILES = tuple(
    f"{name}.parquet" for name in ("clicks", "rankings", "impressions", "completions")
)


@dataclass(frozen=True)
class Job:
    """The files, the engine, the folder of the log and the options of an import."""

    engine: DuckDB
    sources: Sequence[Source]
    records: Records
    out: Path
    mapping: Mapping[str, str] = field(default_factory=dict)
    first_rank: int | None = None
    weights: Mapping[str, float] = field(default_factory=dict)
    unreadable: float = UNREADABLE
    confirm: Callable[[str], bool] | None = None
    reporter: Progress = field(default_factory=Progress)
    memory: str | None = None
    """What an engine may fill, such as `1200000KB`."""
    bots: str = "auto"
    """What is done with users who search faster than people; see `bots`."""
    rankings: Path | None = None
    """The rankings of the engine, which tell the ranks of clicks that have none."""

    @property
    def source(self) -> str:
        """The files, in messages."""
        first = str(self.sources[0].path)
        return first if len(self.sources) == 1 else f"{first} and {len(self.sources) - 1:,} more files"


@dataclass(frozen=True)
class Outcome:
    """What was read, kept and dropped, with reasons; `taken_as` says how the files were understood."""

    read: Mapping[str, int]
    kept: Mapping[str, int]
    dropped: Mapping[str, int]
    taken_as: Sequence[str] = ()
    notes: Sequence[str] = ()


@dataclass(frozen=True)
class Format:
    """A format of logs: how it is recognised by the fields of its records, and how it is read."""

    name: str
    description: str
    recognises: Callable[[Collection[str]], bool]
    read: Callable[[Job], Outcome]
    fields: tuple[str, ...] = ()
    """The columns that `--map` may name."""
    quoted: bool = True


def refuse_if_broken(
    job: Job, broken: int, wrong: int, lines: int, places: Sequence[Place], *, expected: str
) -> list[str]:
    """Raise an error if too many records cannot be used (one may always be); else notes with file and line."""
    ends = [f"lines at the end that are no rows are left out: {', '.join(map(str, job.records.ends[:5]))}"]
    ends = ends if job.records.ends else []
    if not broken + wrong:
        return ends
    found = " and ".join(
        f"{number:,} {what}"
        for number, what in ((broken, "broken lines"), (wrong, "records with a value of the wrong type"))
        if number
    )
    examples = "\n".join(f"    {place}" for place in places)
    if broken + wrong > max(1, job.unreadable * lines):
        raise LogError(
            f"{job.source}: found {found} among {lines:,}; expected {expected}, and no more than {job.unreadable:.1%} "
            f"that cannot be used. For example:\n{examples}\nMend the files, or leave these records out with "
            f"--unreadable {_share(broken + wrong, lines)}."
        )
    return [f"{found} left out. For example:\n{examples}", *ends]


def _share(part: int, whole: int) -> str:
    """A share that is enough, with few digits.

    >>> _share(3, 100), _share(100, 100)
    ('0.04', '1')
    """
    share = part / max(1, whole)
    return "1" if share > 0.98 else f"{share + 0.01:.2f}"


def rows_of(engine: DuckDB, sql: str) -> list[dict[str, Any]]:
    """The rows of a small query."""
    return engine.arrow(sql).to_pylist()
