"""The types that the columns of input tables may have. CSV files have text only; Parquet and JSON may have others."""

from collections.abc import Mapping
from dataclasses import dataclass

from wayword.engines import Engine
from wayword.errors import LogError


@dataclass(frozen=True)
class Kind:
    """A kind of value, and the engine's types that can hold it; a column without any value has the type NULL."""

    name: str
    types: frozenset[str]


_INTEGERS = {
    f"{sign}{size}" for sign in ("", "U") for size in ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT")
}
_NUMBERS = frozenset({*_INTEGERS, "FLOAT", "DOUBLE", "DECIMAL", "VARCHAR", "NULL"})
_TEXTS = _NUMBERS | {"UUID", "ENUM"}
_TIMES = _TEXTS | {"DATE", "TIMESTAMP"}
NUMBER = Kind("numbers", _NUMBERS)
"""Numbers, also as text."""
TEXT = Kind("text", _TEXTS)
"""Text, and identifiers that are numbers."""
TIME = Kind("times", _TIMES)
VALUE = Kind("text, numbers or other single values", _TIMES | {"BOOLEAN", "TIME"})
PLAIN_TEXT = Kind("text", frozenset({"VARCHAR"}))
REAL = Kind("real numbers", frozenset({"FLOAT", "DOUBLE"}))


def check(engine: Engine, table: str, expected: Mapping[str, Kind], *, source: str) -> None:
    """Raise one `LogError` that names every given column whose values are of another type than expected.

    Columns that are absent, or not mentioned, are not looked at.
    """
    found = engine.columns(table)
    wrong = [
        f"- the column {name} has values of the type {found[name][:100]}; expected {kind.name}"
        for name, kind in expected.items()
        if name in found and _base(found[name]) not in kind.types
    ]
    if wrong:
        raise LogError(f"{source} cannot be used:\n" + "\n".join(wrong))


def _base(type_name: str) -> str:
    """The name of a type without its parameters; lists keep their brackets.

    >>> _base("DECIMAL(18,3)"), _base("VARCHAR[]"), _base('"NULL"'), _base("TIMESTAMP WITH TIME ZONE")
    ('DECIMAL', 'VARCHAR[]', 'NULL', 'TIMESTAMP')
    """
    if type_name.endswith("]"):
        return type_name
    name = type_name.split("(", 1)[0].strip('"')
    return "TIMESTAMP" if name.startswith("TIMESTAMP") else name
