"""A small shop whose law is known: eighteen queries, twelve documents, one look per search; and a run on its log."""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from reference import Click, Search
from wayword.config import COMPARED, Config
from wayword.engines import Engine, tables
from wayword.pipeline import run
from wayword.simulation.simulate import write_world
from wayword.simulation.world import Intents, World
from wayword.store.workspace import Workspace

NOUNS = ("label", "ladder", "lamp", "lantern", "laptop", "lock")
QUERIES = sorted(f"{noun}{kind}" for noun in NOUNS for kind in ("", " small", " steel"))
DOCUMENTS = [f"d{i:02d}" for i in range(12)]
PARTS = ("home", "office", "workshop")
DEPTH = 8
CLICKS = 4000
CONFIG = Config.parse(
    {
        "retriever": {"model": "popular", "candidates": 15},
        "ranker": {"rounds": 15, "depth": 3},
        "features": {"dimensions": 4},
        "evaluation": {"bootstrap": 200, "compare": COMPARED},
    }
)
TABLES = {
    "rankings": ("queries", "documents", "rankings", "numbered_searches", "numbered_clicks"),
    "propensity": ("propensity",),
    "contexts": ("instances", "contexts"),
}


@dataclass(frozen=True)
class Shop:
    """The world, where its files are, and the workspace of a run on them."""

    world: World
    data: Path
    workspace: Workspace

    @property
    def folders(self) -> dict[str, Path]:
        """Stage → folder."""
        return {stage: self.workspace.folder(stage) for stage in self.workspace.manifest["stages"]}

    def fill(self, engine: Engine) -> None:
        """The tables of the workspace."""
        for stage, names in TABLES.items():
            tables.fetch(engine, self.workspace.folder(stage), *names)

    def searches(self, split: str) -> list[Search]:
        """The instances of a split as the reference has them: a search once per context that it shows."""
        folder = self.workspace.folder("rankings")
        clicks: dict[int, list[Click]] = {}
        for row in tables.read(folder, "numbered_clicks").to_pylist():
            clicks.setdefault(row["search"], []).append(Click(row["document"], row["rank"], row["weight"]))
        query = {row["search"]: row["query"] for row in tables.read(folder, "numbered_searches").to_pylist()}
        return [
            Search(query[row["search"]], tuple(clicks.get(row["search"], ())), row["context"], split)
            for row in tables.read(self.workspace.folder("contexts"), "instances").to_pylist()
            if row["split"] == split
        ]

    def rankings(self) -> dict[int, dict[int, int]]:
        """Query → document → rank."""
        found: dict[int, dict[int, int]] = {}
        for row in tables.read(self.workspace.folder("rankings"), "rankings").to_pylist():
            found.setdefault(row["query"], {})[row["document"]] = row["rank"]
        return found


def make_world(seed: int = 0) -> World:
    """Each query returns eight documents in an order of its own; two intents per query want one to three each."""
    rng = np.random.default_rng(seed)
    shown = [rng.permutation(len(DOCUMENTS))[:DEPTH] for _ in QUERIES]
    wanted = [rng.permutation(len(DOCUMENTS))[: rng.integers(1, 4)] for _ in range(2 * len(QUERIES))]
    return World(
        documents=pa.table({"document": DOCUMENTS, "title": DOCUMENTS}),
        queries=pa.array(QUERIES, pa.string()),
        rankings=pa.table(
            {
                "query": [query for query in QUERIES for _ in range(DEPTH)],
                "document": [DOCUMENTS[a] for order in shown for a in order],
                "rank": pa.array([*range(1, DEPTH + 1)] * len(QUERIES), pa.int32()),
            }
        ),
        intents=Intents(
            query=np.repeat(np.arange(len(QUERIES)), 2),
            probability=rng.dirichlet(np.ones(2 * len(QUERIES))),
            owner=np.repeat(np.arange(len(wanted)), [len(w) for w in wanted]),
            document=np.concatenate(wanted),
        ),
        depth=DEPTH,
        rankings_of="all",
    )


def with_parts(world: World) -> World:
    """The world where each intent belongs to one of three parts of the shop, the same for most intents of a query."""
    rng = np.random.default_rng(5)
    by_query = np.repeat(rng.choice(PARTS, len(QUERIES)), 2)
    moved = rng.random(len(by_query)) < 0.3
    return replace(
        world, context_values=pa.array(np.where(moved, rng.choice(PARTS, len(by_query)), by_query))
    )


def open_shop(folder: Path, world: World | None = None, part: float | None = None) -> Shop:
    """Simulate and run."""
    world = world or make_world()
    data = write_world(world, clicks=CLICKS, out=folder / "data", seed=3, part=part)
    workspace = run(
        data / "clicks.parquet",
        data / "rankings.parquet",
        truth=data / "truth.parquet",
        out=folder / "workspace",
        config=CONFIG,
    )
    return Shop(world, data, workspace)
