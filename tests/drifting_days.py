"""A small world that drifts, cut into files by day, and a workspace of its first days."""

import shutil
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from wayword.config import Config
from wayword.pipeline import run
from wayword.simulation.simulate import simulate

DAYS, FIRST = 6, 3
CONFIG = Config.parse(
    {"evaluation": {"bootstrap": 100, "sessions": 300, "compare": ["popular"]}, "demand": {"seed": 1}}
)


@dataclass(frozen=True)
class Days:
    """The log of all days, the rankings of all its queries, and the workspace of the first days."""

    clicks: pa.Table
    rankings: pa.Table
    workspace: Path

    def log(self, path: Path, start: int, end: int) -> Path:
        """Write the log from one day to another."""
        pq.write_table(self.between(start, end), path)
        return path

    def between(self, start: int, end: int) -> pa.Table:
        """The log from one day to another."""
        day = pc.cast(pc.utf8_slice_codeunits(self.clicks["time"], 8, 10), pa.int32())
        return self.clicks.filter(pc.and_(pc.greater(day, start), pc.less_equal(day, end)))

    def rankings_of(self, path: Path, queries: pa.Array) -> Path:
        """Write the rankings of some queries."""
        pq.write_table(self.rankings.filter(pc.is_in(self.rankings["query"], value_set=queries)), path)
        return path

    def new_rankings(self, path: Path, start: int, end: int) -> Path:
        """Write the rankings of queries that these days have and none before."""
        now, before = (
            pc.unique(part["query"]) for part in (self.between(start, end), self.between(0, start))
        )
        return self.rankings_of(path, now.filter(pc.invert(pc.is_in(now, value_set=before))))

    def next_day(self, folder: Path, day: int = FIRST) -> tuple[list[Path], list[Path]]:
        """The log of a day, from 0, and the rankings of its new queries."""
        log = self.log(folder / f"day{day}.parquet", day, day + 1)
        return [log], [self.new_rankings(folder / f"new{day}.parquet", day, day + 1)]

    def copy(self, path: Path) -> Path:
        """A workspace equal to the first one."""
        return shutil.copytree(self.workspace, path)


def make(folder: Path) -> Days:
    """Simulate and run."""
    data = simulate("packages", clicks=1800, depth=10, out=folder / "data", drift=0.3, days=DAYS)
    clicks, rankings = (pq.read_table(data / f"{name}.parquet") for name in ("clicks", "rankings"))
    days = Days(clicks, rankings, folder / "workspace")
    log = days.log(folder / "first.parquet", 0, FIRST)
    ranked = days.rankings_of(folder / "ranked.parquet", pc.unique(days.between(0, FIRST)["query"]))
    run(log, ranked, out=days.workspace, config=CONFIG)
    return days
