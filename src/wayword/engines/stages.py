"""The stages, a file each: `write` reads earlier artefacts and fills one folder. `pipeline` knows their order."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from wayword.engines import Engine, tables
from wayword.engines.duck import DuckDB

# XGBoost's threads spin while they wait for each other, and on shared cores take the time that the others need:
# to sleep instead halved the ranker's stage. OpenMP reads this when its first library is loaded, which is later.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

Report = dict[str, Any]
Folders = Mapping[str, Path]
"""Earlier stages by name, with the folders that hold their artefacts."""


def threads() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def fetch_numbered(engine: Engine, at: Folders) -> None:
    """All that the log says of queries, documents, contexts and propensities, by number."""
    tables.fetch(
        engine, at["rankings"], "queries", "documents", "rankings", "numbered_searches", "numbered_clicks"
    )
    tables.fetch(engine, at["propensity"], "propensity")
    tables.fetch(engine, at["contexts"], "instances", "contexts")


@contextmanager
def tables_in(folder: Path) -> Iterator[Engine]:
    """An engine for one stage, which spills into the folder that the stage writes."""
    engine = DuckDB(spill=folder)
    try:
        yield engine
    finally:
        engine.close()
