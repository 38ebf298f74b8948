"""Times as people write them: which of the known forms a column has, and SQL that reads it."""

from dataclasses import dataclass

from wayword.engines.duck import DuckDB

SAMPLED = 2000
_CLOCKS = ("%H:%M:%S", "%H:%M", "%H:%M:%S.%f", "%I:%M:%S %p", "%I:%M %p")
DAY_FIRST, MONTH_FIRST = "day/month/year", "month/day/year"
_FORMS = {
    DAY_FIRST: ("%d/%m/%y", "%d/%m/%Y"),
    MONTH_FIRST: ("%m/%d/%y", "%m/%d/%Y"),
    "day.month.year": ("%d.%m.%y", "%d.%m.%Y"),
    "day-month-year": ("%d-%m-%y", "%d-%m-%Y"),
    "year/month/day": ("%Y/%m/%d",),
    "year-month-day": ("%Y-%m-%d",),
    "yearmonthday": (
        "%Y%m%d",
        "%Y%m%d%H%M%S",
        "%Y%m%d%H%M",
        "%Y%m%dT%H%M%S",
        "%Y%m%dT%H%M%SZ",
        "%Y%m%d-%H%M%S",
    ),
}
BY_NAME = "month by name"
_NAMED = ("%b %d %Y", "%d %b %y", "%d %b %Y", "%Y %b %d")
_FILLING = (
    "uhr|um|le|el|de|del|à|às|at|alle|the|st|nd|rd|th|mo|di|mi|do|fr|sa|so|mon|tue|wed|thu|fri|sat|sun|montag|dienstag|"
    "mittwoch|donnerstag|freitag|samstag|sonntag|monday|tuesday|wednesday|thursday|friday|saturday|sunday"
)
_MONTHS = {
    "Jan": "jan|ene|gen|sty|янв",
    "Feb": "feb|fév|fev|lut|фев",
    "Mar": "mar|mär|mrz|maa|mrt|мар",
    "Apr": "apr|avr|abr|kwi|апр",
    "May": "may|mai|mag|maj|mei|май|мая",
    "Jun": "jun|juin|giu|cze|июн",
    "Jul": "jul|juil|lug|lip|июл",
    "Aug": "aug|aoû|aou|ago|sie|авг",
    "Sep": "sep|set|wrz|сен",
    "Oct": "oct|okt|ott|out|paź|paz|окт",
    "Nov": "nov|lis|ноя",
    "Dec": "dec|dez|déc|dic|gru|дек",
}
"""How names of months begin, in several languages."""
_DAY_ZERO = 25_569
"""1970 in days of a spreadsheet, which counts from the end of 1899."""
_LOG = (
    "%d/%b/%Y:%H:%M:%S %z",
    "%d/%b/%Y:%H:%M:%S",
    "%a, %d %b %Y %H:%M:%S GMT",
    "%a %b %d %H:%M:%S %Y",
    "%a %b %d %Y %H:%M:%S GMT%z",
)
_UNITS = (
    (1e11, "seconds", 1e6),
    (1e14, "milliseconds", 1e3),
    (1e17, "microseconds", 1.0),
    (1e20, "nanoseconds", 1e-3),
)


@dataclass(frozen=True)
class Form:
    """SQL for the time of a text column, and what it was taken for."""

    sql: str
    name: str


def find(engine: DuckDB, relation: str, column: str) -> Form:
    """The form that most of the first values have. Whether day or month comes first, all values decide."""
    engine.step(
        "sampled_times",
        f"SELECT {column} AS value FROM ({relation}) WHERE {column} IS NOT NULL LIMIT {SAMPLED}",
    )
    iso = Form(_iso("value"), "ISO 8601")
    if not engine.arrow(f"SELECT count(*) AS n FROM sampled_times WHERE {iso.sql} IS NULL")["n"][0].as_py():
        return Form(_iso(column), iso.name)
    candidates = [iso, *_numbers(engine)]
    candidates += [Form(_read("value", forms), name) for name, forms in _FORMS.items()]
    candidates.append(
        Form(_parsed(r"regexp_replace(value, ' *\(.*\)$', '')", _LOG), "the time of a server's log")
    )
    wordy = [Form(_read(_plain("value"), forms), name) for name, forms in _FORMS.items()]
    candidates += [*wordy, Form(_by_name("value"), BY_NAME)]
    counts = engine.arrow(
        "SELECT "
        + ", ".join(f"count({form.sql}) AS n{place}" for place, form in enumerate(candidates))
        + " FROM sampled_times"
    ).to_pylist()[0]
    best = max(range(len(candidates)), key=lambda place: (counts[f"n{place}"], -place))
    name = candidates[best].name
    if name in (DAY_FIRST, MONTH_FIRST):
        name = _day_or_month(engine, relation, column)
        text = _plain(column) if candidates[best] in wordy else column
        return Form(_read(text, _FORMS[name]), name)
    return Form(candidates[best].sql.replace("value", column), name)


def _day_or_month(engine: DuckDB, relation: str, column: str) -> str:
    largest = engine.arrow(
        f"""SELECT max(TRY_CAST(split_part({column}, '/', 1) AS INTEGER)) AS first,
                   max(TRY_CAST(split_part({column}, '/', 2) AS INTEGER)) AS second FROM ({relation})"""
    ).to_pylist()[0]
    return MONTH_FIRST if (largest["second"] or 0) > 12 >= (largest["first"] or 0) else DAY_FIRST


def _numbers(engine: DuckDB) -> list[Form]:
    """Numbers since 1970; their size tells the unit. Eight digits may be a date."""
    number = "abs(TRY_CAST(replace(value, ',', '.') AS DOUBLE))"
    largest = engine.arrow(f"SELECT max({number}) AS most FROM sampled_times")["most"][0].as_py()
    if largest is None or _is_calendar(largest):
        return []
    if 20_000 <= largest < 80_000:
        days = f"TRY_CAST(replace(value, ',', '.') AS DOUBLE) - {_DAY_ZERO}"
        moment = f"TRY(make_timestamptz(CAST(({days}) * 86400e6 AS BIGINT)))"
        return [Form(moment, "days of a spreadsheet (since 1900)")]
    if largest < 1e8:
        return []
    unit = next(((name, scale) for top, name, scale in _UNITS if largest < top), None)
    return [Form(since_1970("value", unit[1]), f"{unit[0]} since 1970")] if unit else []


def _is_calendar(number: float) -> bool:
    """Whether digits are a date, such as 20260131 or 20260131235959, rather than a number since 1970.

    >>> _is_calendar(20260131235959), _is_calendar(1772600767000)
    (True, False)
    """
    return any(19_000_101 * scale <= number <= 21_001_232 * scale for scale in (1, 10_000, 1_000_000))


def since_1970(column: str, scale: float) -> str:
    """SQL for a number since 1970, `scale` microseconds each, as a time."""
    return f"TRY(make_timestamptz(CAST(TRY_CAST({column} AS DOUBLE) * {scale} AS BIGINT)))"


def _plain(column: str) -> str:
    """SQL for a time without words and signs beside the numbers: `31.12.2026, 23.59 Uhr`, `2026-12-31 23:59:59,5`."""
    text = f"regexp_replace(trim({column}), '( *(uhr|h|hrs)| *\\(.*\\))$', '', 'i')"
    between = "(?:,? +(?:um|at|à|om|alle|kl\\.?|-|–)? *|, *|T| *- *)"
    text = f"regexp_replace({text}, '(\\d){between}(\\d{{1,2}})[:.h](\\d{{2}})', '\\1 \\2:\\3', 'i')"
    text = f"regexp_replace({text}, '(:\\d{{2}})\\.(\\d{{2}})$', '\\1:\\2')"
    return f"regexp_replace({text}, ',(\\d{{1,6}})$', '.\\1')"


def _by_name(column: str) -> str:
    """SQL for a time whose month has a name in one of several languages: `3. Okt 2026, 10:05 Uhr`."""
    text = f"replace(lower({column}), ' à ', ' ')"
    text = f"regexp_replace({text}, '\\b({_FILLING})\\b|[-/.,]', ' ', 'g')"
    for english, starts in _MONTHS.items():
        text = f"regexp_replace({text}, '(?:^| )({starts})[^ ]*', ' {english} ')"
    return _read(f"trim(regexp_replace({text}, ' +', ' ', 'g'))", _NAMED)


def _iso(column: str) -> str:
    # ICU reads a text without a zone as local time, which is UTC here; with the zone it takes a third of the time.
    zoned = f"CASE WHEN strlen({column}) = 19 THEN TRY_CAST({column} || 'Z' AS TIMESTAMPTZ) END"
    moment = f"coalesce({zoned}, TRY_CAST({column} AS TIMESTAMPTZ))"
    first, last = "'1000-01-01'::TIMESTAMPTZ", "'9999-12-31'::TIMESTAMPTZ"
    return f"CASE WHEN {moment} BETWEEN {first} AND {last} THEN {moment} END"  # 31/12/26 is no year 31


def _read(column: str, dates: tuple[str, ...]) -> str:
    return _parsed(
        column, tuple(f"{date}{clock}" for date in dates for clock in ("", *(f" {c}" for c in _CLOCKS)))
    )


def _parsed(column: str, forms: tuple[str, ...]) -> str:
    known = "[" + ", ".join(f"'{form}'" for form in forms) + "]"
    return f"CAST(try_strptime({column}, {known}) AS TIMESTAMPTZ)"
