"""Records: the rows of CSV, JSON Lines and Parquet files as one relation of texts, and where the broken ones are.

A relation is SQL that streams the files. Every column is text; a JSON list or object is JSON text.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from wayword.engines.duck import DuckDB
from wayword.errors import LogError
from wayword.logs.importers import dialect, json_lines
from wayword.logs.importers.dialect import Dialect
from wayword.logs.importers.literals import quote, text
from wayword.logs.importers.sources import CSV, JSON, PARQUET, Source

EXAMPLES = 5
BROKEN = "broken"
NULLS = r"['', '\N', 'NULL']"
MOST_REJECTED = 1_000_000
LAST = 5
"""Lines at the end of a file that may be totals or remarks."""
_LINES = """read_csv({paths}, columns = {{'line': 'VARCHAR'}}, delim = '\x01', quote = '', escape = '', header = false,
    auto_detect = false, nullstr = '', ignore_errors = true, max_line_size = {longest}, buffer_size = {buffer})"""


Fields = Mapping[str, str | None]
"""Names of fields by alias; None where there is no such field."""


@dataclass(frozen=True)
class Place:
    """A record that cannot be used: its file, its line (of Parquet, its row), and what is in it."""

    path: Path
    line: int | None
    text: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line or '?'}: {self.text}"


@dataclass
class Part:
    """Files of one form, which are read together: `paths` has the expression of each field."""

    kind: str
    sources: list[Source]
    names: Mapping[str, str]
    dialect: Dialect | None = None


@dataclass
class Records:
    """The records of some sources."""

    engine: DuckDB
    parts: list[Part]
    sample: list[dict[str, Any]] = field(default_factory=list)
    replaced: dict[str, str] = field(default_factory=dict)
    """SQL that takes the place of an alias of a relation, of the texts of all of them."""
    ends: list[Place] = field(default_factory=list)
    """The first lines of the ends of files that are no records, such as totals; known with the rejected lines."""

    @property
    def names(self) -> list[str]:
        """The fields of all files."""
        return list(dict.fromkeys(name for part in self.parts for name in part.names))

    def relation(self, fields: Fields, *, counting: bool = False, placed: bool = False) -> str:
        """SQL for some fields (their names by alias, None where there is none), the number of the `part`, and `broken`.

        With `counting`, lines that are no record are remembered for `broken`. With `placed`, `place` tells the record.
        """
        readers = {CSV: self._csv, JSON: self._json, PARQUET: self._parquet}
        relations = []
        for number, part in enumerate(self.parts):
            picked = {
                alias: name for alias, name in fields.items() if name is not None and name in part.names
            }
            paths = [str(source.plain) for source in part.sources]
            for read in [[path] for path in paths] if placed else [paths]:  # places are counted file by file
                relations.append(readers[part.kind](part, number, read, fields, picked, counting, placed))
        united = "\nUNION ALL ".join(relations)
        replaced = ", ".join(
            f"{sql} AS {quote(alias)}" for alias, sql in self.replaced.items() if alias in fields
        )
        return f"SELECT * REPLACE ({replaced}) FROM ({united}) AS records" if replaced else united

    def _csv(
        self,
        part: Part,
        number: int,
        paths: Sequence[str],
        fields: Fields,
        picked: Mapping[str, str],
        counting: bool,
        placed: bool,
    ) -> str:
        columns = _selected(fields, {a: quote(part.names[n]) for a, n in picked.items()})
        place = ", filename AS file, row_number() OVER () AS place" if placed else ""
        reader = self._csv_reader(part, number, paths, counting=counting, serial=placed)
        return (
            f"(SELECT {number}::UTINYINT AS part, NULL::VARCHAR AS {BROKEN}, {columns}{place} FROM {reader})"
        )

    def _csv_reader(
        self, part: Part, number: int, paths: Sequence[str], *, counting: bool, serial: bool
    ) -> str:
        form = part.dialect
        if form is None:
            raise ValueError("a CSV part without a dialect")
        types = "{" + ", ".join(f"{text(name)}: 'VARCHAR'" for name in form.names) + "}"
        mark = form.mark if form.quoted else ""
        rejects = (
            f"store_rejects = true, rejects_table = 'rejected_{number}', rejects_scan = 'scans_{number}', "
            f"rejects_limit = {MOST_REJECTED}"
            if counting
            else "ignore_errors = true"
        )
        return f"""read_csv({_list(paths)}, columns = {types}, delim = {text(form.separator)}, quote = {text(mark)},
            escape = {text(mark)}, header = {str(form.headed).lower()}, skip = {form.skipped - form.headed},
            auto_detect = false, nullstr = {NULLS}, allow_quoted_nulls = false, parallel = {str(not serial).lower()},
            null_padding = {str(not form.quoted).lower()}, {rejects})"""

    def _json(
        self,
        part: Part,
        number: int,
        paths: Sequence[str],
        fields: Fields,
        picked: Mapping[str, str],
        counting: bool,
        placed: bool,
    ) -> str:
        del counting
        quoted = ", ".join(text(part.names[name]) for name in picked.values())
        values = {alias: f"nullif(found[{place}], '')" for place, alias in enumerate(picked, start=1)}
        columns = _selected(fields, values)
        place = ", filename AS file, line AS place" if placed else ""
        lines = lines_of(paths)
        broken = f"CASE WHEN found IS NULL OR NOT starts_with(ltrim(line), '{{') THEN line END AS {BROKEN}"
        return f"""(SELECT {number}::UTINYINT AS part, {broken}, {columns}{place}
            FROM (SELECT line, {"filename, " if placed else ""}
                         TRY(json_extract_string(line, [{quoted}]::VARCHAR[])) AS found FROM {lines}
                  WHERE line IS NOT NULL AND trim(line) <> ''))"""

    def _parquet(
        self,
        part: Part,
        number: int,
        paths: Sequence[str],
        fields: Fields,
        picked: Mapping[str, str],
        counting: bool,
        placed: bool,
    ) -> str:
        del counting
        columns = _selected(fields, {alias: part.names[name] for alias, name in picked.items()})
        place = ", filename AS file, file_row_number + 1 AS place" if placed else ""
        return f"""(SELECT {number}::UTINYINT AS part, NULL::VARCHAR AS {BROKEN}, {columns}{place}
            FROM read_parquet({_list(paths)}, binary_as_string = true, hive_partitioning = false))"""

    def nested(self, *columns: str) -> str:
        """SQL for whether one of some columns of a relation holds a JSON list or object where a text belongs."""
        parts = ", ".join(str(number) for number, part in enumerate(self.parts) if part.kind != CSV)
        if not parts:
            return "false"
        found = " OR ".join(
            f"(({c} LIKE '{{%' OR {c} LIKE '[%') AND coalesce(TRY(json_type({c})) IN ('OBJECT', 'ARRAY'), false))"
            for c in columns
        )
        return f"(part IN ({parts}) AND ({found}))"

    def rejected(self, rows: Mapping[int, int]) -> tuple[int, list[Place]]:
        """The lines that were no record of their CSV file, and the first of them; after a `counting` relation was read.

        `rows` are the rows read of each part. A quote that is opened and never closed hides the lines after it, up to
        the next quote, without a word; they are found by counting, and are lines that are no record, too.
        """
        total, places = 0, list[Place]()
        for number, part in enumerate(self.parts):
            if part.kind != CSV:
                continue
            found = self.engine.arrow(
                f"""SELECT s.file_path, r.line, any_value(r.csv_line) AS text, any_value(r.error_message) AS problem,
                           bool_and(r.error_type = 'MISSING COLUMNS') AS short,
                           bool_or(r.error_type = 'UNQUOTED VALUE') AS quote
                    FROM rejected_{number} AS r JOIN scans_{number} AS s
                      ON s.scan_id = r.scan_id AND s.file_id = r.file_id
                    GROUP BY s.file_path, r.line ORDER BY s.file_path, r.line"""
            ).to_pylist()
            lines = sum(max(1, source.lines) for source in part.sources)
            headers = len(part.sources) * (part.dialect.skipped if part.dialect else 0)
            hidden = lines - headers - rows.get(number, 0) - len(found)
            total += len(found) + (max(0, hidden) if any(row["quote"] for row in found) else 0)
            shown = {str(source.plain): source.path for source in part.sources}
            ends = [row for row in found if _at_end(row, found, part.sources)]
            self.ends += [Place(shown[r["file_path"]], r["line"], f"{_brief(r['text'])!r}") for r in ends]
            total, found = total - len(ends), [row for row in found if row not in ends]
            places += [
                Place(shown[row["file_path"]], row["line"], f"{_brief(row['text'])!r} ({row['problem']})")
                for row in found[:EXAMPLES]
            ]
        return total, places

    def places(self, sql: str) -> list[Place]:
        """Where the first records are that `sql` selects (columns part, file, place, text) from a placed relation."""
        found = self.engine.arrow(f"SELECT * FROM ({sql}) LIMIT {EXAMPLES}").to_pylist()
        return [self._place(row) for row in found]

    def _place(self, row: dict[str, Any]) -> Place:
        part = self.parts[row["part"]]
        source = next(each for each in part.sources if str(each.plain) == row["file"])
        if part.kind == PARQUET:
            return Place(source.path, row["place"], _brief(row["text"]))
        if part.kind == JSON:
            return Place(source.path, json_lines.line_of(source.plain, row["place"]), _brief(row["text"]))
        number = self.parts.index(part)
        before = self.engine.arrow(
            f"""SELECT r.line FROM rejected_{number} AS r JOIN scans_{number} AS s
                  ON s.scan_id = r.scan_id AND s.file_id = r.file_id
                WHERE s.file_path = :path GROUP BY r.line ORDER BY r.line LIMIT 100000""",
            path=row["file"],
        )["line"].to_pylist()
        line = row["place"] + (part.dialect.skipped if part.dialect else 0)
        for rejected in before:
            line += rejected <= line
        return Place(source.path, line, _brief(row["text"]))


def _at_end(row: Mapping[str, Any], rejected: Sequence[Mapping[str, Any]], sources: Sequence[Source]) -> bool:
    """Whether a rejected line is one of the last of its file, and all after it are rejected: totals, or a remark."""
    lines = next(source.lines for source in sources if str(source.plain) == row["file_path"])
    return (
        row["line"] > max(lines - LAST, 2 * LAST)
        and lines - row["line"]
        <= sum(other["line"] > row["line"] for other in rejected if other["file_path"] == row["file_path"])
        and all(other["short"] for other in rejected if other["line"] >= row["line"])
    )


def lines_of(paths: Sequence[str]) -> str:
    """SQL for the column `line` of text files."""
    return _LINES.format(paths=_list(paths), longest=json_lines.LONGEST, buffer=4 * json_lines.LONGEST)


def of(engine: DuckDB, sources: Sequence[Source], *, quoted: bool = True) -> Records:
    """The records of sources; those of one form are read together."""
    parts: dict[Any, Part] = {}
    sample: list[dict[str, Any]] = []
    for source in sources:
        form: Dialect | None = None
        if source.kind == CSV:
            form = dialect.find(source.plain, shown=source.path, quoted=quoted)
            names = dict(zip(form.names, form.names, strict=True))
        elif source.kind == PARQUET:
            names = _names_in_parquet(engine, source)
        else:
            json_lines.make_lines(engine, source)
            found = list(islice(json_lines.objects(source.plain), json_lines.SAMPLED))
            names = json_lines.paths(found)
            sample += found
        key = (source.kind, form, tuple(names.items()))
        parts.setdefault(key, Part(source.kind, [], names, form)).sources.append(source)
    return Records(engine, list(parts.values()), sample)


def _names_in_parquet(engine: DuckDB, source: Source) -> dict[str, str]:
    """The columns of a Parquet file, each with SQL for it as text."""
    try:
        types = engine.columns(
            f"(SELECT * FROM read_parquet({_list([str(source.plain)])}, binary_as_string = true))"
        )
    except Exception as problem:
        raise LogError(
            f"Cannot read {source.path}: {str(problem).replace(str(source.plain), source.path.name)[:300]} Expected a "
            "complete Parquet file. Export it again."
        ) from problem
    return {name: _as_text(quote(name), kind.upper()) for name, kind in types.items()}


def _as_text(column: str, kind: str) -> str:
    """SQL for a column of a Parquet file as text; whole floats lose the ".0" that integers with nulls get."""
    if kind.endswith("]") or kind.startswith(("STRUCT", "MAP", "JSON")):
        return f"CAST(to_json({column}) AS VARCHAR)"
    text = f"nullif(CAST({column} AS VARCHAR), '')"
    if kind not in ("FLOAT", "DOUBLE"):
        return text
    whole = f"{column} = floor({column}) AND abs({column}) < {2**53}"
    number = f"CAST(CAST({column} AS BIGINT) AS VARCHAR)"
    return f"CASE WHEN isnan({column}) THEN NULL WHEN {whole} THEN {number} ELSE {text} END"


def _selected(fields: Fields, values: Mapping[str, str]) -> str:
    return ", ".join(f"{values.get(alias, 'NULL::VARCHAR')} AS {quote(alias)}" for alias in fields)


def _brief(text: str | None) -> str:
    return (text or "").rstrip()[:200]


def _list(values: Sequence[str]) -> str:
    return "[" + ", ".join(map(text, values)) + "]"
