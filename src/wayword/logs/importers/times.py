"""Times as people write them: which of the known forms a column has, and SQL that reads it."""

from dataclasses import dataclass

from wayword.engines.duck import DuckDB

SAMPLED = 2000
_CLOCKS = ("%H:%M:%S", "%H:%M", "%H:%M:%S.%f", "%I:%M:%S %p", "%I:%M %p")
DAY_FIRST, MONTH_FIRST = "day/month/year", "month/day/year"
_FORMS = {
    DAY_FIRST: ("%d/%m/%Y", "%d/%m/%y"),
    MONTH_FIRST: ("%m/%d/%Y", "%m/%d/%y"),
    "day.month.year": ("%d.%m.%Y", "%d.%m.%y"),
    "day-month-year": ("%d-%m-%Y", "%d-%b-%Y"),
    "year/month/day": ("%Y/%m/%d",),
    "yearmonthday": ("%Y%m%d",),
    "month by name": ("%b %d, %Y", "%d %b %Y", "%B %d, %Y", "%d %B %Y"),
}
_LOG = ("%d/%b/%Y:%H:%M:%S %z", "%d/%b/%Y:%H:%M:%S", "%a, %d %b %Y %H:%M:%S GMT", "%a %b %d %H:%M:%S %Y")
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
    candidates = [Form(_iso("value"), "ISO 8601"), *_numbers(engine)]
    candidates += [Form(_read("value", forms), name) for name, forms in _FORMS.items()]
    candidates.append(Form(_parsed("value", _LOG), "the time of a server's log"))
    counts = engine.arrow(
        "SELECT "
        + ", ".join(f"count({form.sql}) AS n{place}" for place, form in enumerate(candidates))
        + " FROM sampled_times"
    ).to_pylist()[0]
    best = max(range(len(candidates)), key=lambda place: (counts[f"n{place}"], -place))
    name = candidates[best].name
    if name in (DAY_FIRST, MONTH_FIRST):
        name = _day_or_month(engine, relation, column)
        return Form(_read(column, _FORMS[name]), name)
    return Form(candidates[best].sql.replace("value", column), name)


def _day_or_month(engine: DuckDB, relation: str, column: str) -> str:
    largest = engine.arrow(
        f"""SELECT max(TRY_CAST(split_part({column}, '/', 1) AS INTEGER)) AS first,
                   max(TRY_CAST(split_part({column}, '/', 2) AS INTEGER)) AS second FROM ({relation})"""
    ).to_pylist()[0]
    return MONTH_FIRST if (largest["second"] or 0) > 12 >= (largest["first"] or 0) else DAY_FIRST


def _numbers(engine: DuckDB) -> list[Form]:
    """Numbers since 1970; their size tells the unit. Eight digits may be a date."""
    largest = engine.arrow("SELECT max(abs(TRY_CAST(value AS DOUBLE))) AS most FROM sampled_times")["most"][
        0
    ].as_py()
    if largest is None or largest < 1e8 or 19_000_101 <= largest <= 21_001_231:
        return []
    unit = next(((name, scale) for top, name, scale in _UNITS if largest < top), None)
    return [Form(since_1970("value", unit[1]), f"{unit[0]} since 1970")] if unit else []


def since_1970(column: str, scale: float) -> str:
    """SQL for a number since 1970, `scale` microseconds each, as a time."""
    return f"TRY(make_timestamptz(CAST(TRY_CAST({column} AS DOUBLE) * {scale} AS BIGINT)))"


def _iso(column: str) -> str:
    moment = f"TRY_CAST({column} AS TIMESTAMPTZ)"
    return f"nullif(nullif({moment}, 'infinity'::TIMESTAMPTZ), '-infinity'::TIMESTAMPTZ)"


def _read(column: str, dates: tuple[str, ...]) -> str:
    return _parsed(
        column, tuple(f"{date}{clock}" for date in dates for clock in ("", *(f" {c}" for c in _CLOCKS)))
    )


def _parsed(column: str, forms: tuple[str, ...]) -> str:
    known = "[" + ", ".join(f"'{form}'" for form in forms) + "]"
    return f"CAST(try_strptime({column}, {known}) AS TIMESTAMPTZ)"
