"""A run on the log of the small shop with queries that must not be shown: of one user, personal, and blocked."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from shop import DOCUMENTS, make_world
from wayword.config import Config
from wayword.pipeline import run
from wayword.simulation.simulate import write_world
from wayword.store.workspace import Workspace

SECRET, PERSONAL, BLOCKED = "zebra lantern", "ann@example.org", "lamp darn"
WITHHELD = (SECRET, PERSONAL, BLOCKED)
EACH = 400
"""Searches of each withheld query: a tenth of them is tested with."""
TITLES = {**dict.fromkeys(DOCUMENTS, "<script>alert(1)</script> & lamp"), "d01": "مصباح مكتب"}


def make_log(folder: Path) -> tuple[Path, Path, Path]:
    """Write clicks with users, rankings and titles."""
    data = write_world(make_world(), clicks=5000, out=folder / "data", seed=3)
    clicks, rankings = (pq.read_table(data / f"{name}.parquet") for name in ("clicks", "rankings"))
    rows = [
        {**row, "search_id": str(row["search_id"]), "user": f"u{n % 60}"}
        for n, row in enumerate(clicks.to_pylist())
    ]
    for query in WITHHELD:
        rows += [
            {
                "search_id": f"{query} {n}",
                "query": query,
                "document": DOCUMENTS[n % 2],
                "rank": 1 + n % 2,
                "user": "u1" if query == SECRET else f"u{n % 60}",
            }
            for n in range(EACH)
        ]
    more = [{"query": query, "document": DOCUMENTS[n], "rank": n + 1} for query in WITHHELD for n in range(5)]
    names = ("search_id", "query", "document", "rank", "user")
    pq.write_table(
        pa.table({name: [row.get(name) for row in rows] for name in names}), folder / "clicks.parquet"
    )
    pq.write_table(pa.Table.from_pylist([*rankings.to_pylist(), *more]), folder / "rankings.parquet")
    titles = pa.table(
        {"document": DOCUMENTS, "title": [TITLES.get(name, f"Title {name}") for name in DOCUMENTS]}
    )
    pq.write_table(titles, folder / "documents.parquet")
    return folder / "clicks.parquet", folder / "rankings.parquet", folder / "documents.parquet"


def open_private_shop(folder: Path) -> Workspace:
    """Make the log and run on it."""
    clicks, rankings, documents = make_log(folder)
    block = folder / "block.txt"
    block.write_text("darn\n")
    config = Config.parse(
        {
            "index": {"min_users": 3, "block": str(block)},
            "evaluation": {"bootstrap": 50, "sessions": 200},
            "completion": {"keystroke_value": 0.5},
        }
    )
    return run(clicks, rankings, documents=documents, out=folder / "workspace", config=config)
