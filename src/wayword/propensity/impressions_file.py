"""Impressions from a file."""

from contextlib import closing
from pathlib import Path

from wayword.engines.duck import DuckDB
from wayword.logs import impressions
from wayword.propensity.strata import Impressions, Period
from wayword.store.input_file import InputFile


def read(path: Path, *, period: Period = "week", first_rank: int = 1) -> tuple[Impressions, dict[str, int]]:
    """Read and check a file; also return what was read and left out."""
    with closing(DuckDB()) as engine:
        counts = impressions.read(engine, InputFile(path), first_rank=first_rank)
        return Impressions.of(engine, period), counts
