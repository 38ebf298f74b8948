"""What columns could be, by their values: proposed where their names do not say, and never taken unasked."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from wayword.engines.duck import DuckDB
from wayword.logs.importers import times
from wayword.logs.importers.columns import quoted
from wayword.logs.importers.job import Job, rows_of
from wayword.logs.importers.literals import quote

SAMPLED = 2000


@dataclass(frozen=True)
class Profile:
    """The values of a column in numbers."""

    filled: float
    distinct: float
    whole: float
    small: float
    worded: float
    spaced: float
    moments: float
    length: float


def proposed(job: Job, names: Sequence[str], missing: Sequence[str]) -> str:
    """The command to give if the columns are what their values look like."""
    profiles = _profiles(job, names)
    chosen: dict[str, str] = {}
    scores = {"time": _as_time, "rank": _as_rank, "query": _as_query, "document": _as_document}
    for role, score in scores.items():
        free = {name: score(profile) for name, profile in profiles.items() if name not in chosen.values()}
        best = max(free, key=lambda name: free[name], default=None)
        if best is not None and free[best] > 0:
            chosen[role] = best
    if not set(missing) <= chosen.keys():
        return ""
    options = " ".join(f"--map {role}={quoted(chosen[role])}" for role in (*missing,))
    more = f" --map time={quoted(chosen['time'])}" if "time" in chosen and len(missing) == 3 else ""
    files = " ".join(
        quoted(str(source.path)) if " " in str(source.path) else str(source.path) for source in job.sources
    )
    return f"\nBy their values these could be right: wayword import {files} {options}{more} --out {job.out}"


def _profiles(job: Job, names: Sequence[str]) -> dict[str, Profile]:
    engine: DuckDB = job.engine
    fields = {f"v{place}": name for place, name in enumerate(names)}
    engine.step("sampled_values", f"SELECT * FROM ({job.records.relation(fields)}) LIMIT {SAMPLED}")
    found = {}
    for alias, name in fields.items():
        column = quote(alias)
        form = times.find(engine, "FROM sampled_values", column).sql
        rows = rows_of(engine, f"SELECT {column} AS value, {form} IS NOT NULL AS moment FROM sampled_values")
        texts = [row["value"].strip() for row in rows if row["value"] and row["value"].strip()]
        if not texts:
            continue
        whole = [text.isascii() and text.isdigit() for text in texts]
        found[name] = Profile(
            len(texts) / len(rows),
            len(set(texts)) / len(texts),
            fmean(whole),
            fmean(len(text) < 4 and digits for text, digits in zip(texts, whole, strict=True)),
            fmean(any(letter.isalpha() for letter in text) for text in texts),
            fmean(" " in text for text in texts),
            sum(bool(row["moment"]) and len(row["value"]) > 7 for row in rows) / len(texts),
            fmean(map(len, texts)),
        )
    return found


def _as_time(column: Profile) -> float:
    return column.moments if column.moments > 0.9 else 0


def _as_rank(column: Profile) -> float:
    return column.small if (column.small > 0.9 and 0 < column.distinct < 0.5) or column.small == 1 else 0


def _as_query(column: Profile) -> float:
    if column.worded < 0.7 or column.moments > 0.5 or column.length > 80:
        return 0
    return column.filled * (0.1 + column.spaced) * (1.2 - column.distinct)


def _as_document(column: Profile) -> float:
    if column.moments > 0.5 or column.small > 0.9 or column.spaced > 0.5:
        return 0
    return (1.1 - column.filled) + (0.5 if column.whole < 1 else 0.3)
