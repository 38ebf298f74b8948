"""The formats that can be imported, and which of them files have."""

from collections.abc import Sequence

from wayword.errors import LogError
from wayword.logs.importers import algolia, aol, coveo, ga4, metarank, tables, ubi
from wayword.logs.importers.job import Format

FORMATS: dict[str, Format] = {
    member.name: member
    for member in (
        ubi.FORMAT,
        ga4.FORMAT,
        metarank.FORMAT,
        algolia.FORMAT,
        coveo.FORMAT,
        aol.FORMAT,
        tables.FORMAT,
    )
}
"""By name, in the order in which they are tried: any file can be a table."""


def find(names: Sequence[str]) -> Format:
    """The format of records with these fields."""
    return next((each for each in FORMATS.values() if each.recognises(names)), tables.FORMAT)


def named(name: str) -> Format:
    """A format by its name."""
    if name not in FORMATS:
        raise LogError(f"Found --format {name}; expected one of {', '.join(FORMATS)}.")
    return FORMATS[name]
