"""Times of rows as numbers that can be compared with the clock."""

from wayword.engines import Engine

SECOND = 1_000_000
"""Microseconds."""


def microseconds(engine: Engine, table: str) -> str:
    """SQL for the `time_text` of a row in microseconds since 1970: an ISO timestamp, or a number since then.

    The size of numbers tells their unit: seconds are below 10^11 until the year 5138, milliseconds below 10^14.
    """
    number, instant = "TRY_CAST(time_text AS DOUBLE)", engine.instant("time_text")
    found = engine.arrow(
        f"""SELECT count({number}) AS numbers, count({instant}) AS instants,
                   coalesce(median(abs({number})), 0) AS middle FROM {table}"""
    ).to_pylist()[0]
    if found["instants"] >= found["numbers"]:
        return f"CAST({instant} AS BIGINT)"
    unit = next(
        (each for top, each in ((1e11, 1e6), (1e14, 1e3), (1e17, 1.0)) if found["middle"] < top), 1e-3
    )
    return f"TRY_CAST(floor({number} * {unit}) AS BIGINT)"
