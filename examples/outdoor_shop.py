"""A made-up outdoor shop for the examples: its products, and people whose searches follow a known law.

The shop's search engine is asked for real; people want one to three products of the kind that they search, look at one
rank k with probability proportional to 1/k, and click there if it is what they want (`wayword.simulation`).
"""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa

from wayword.simulation.simulate import write_world
from wayword.simulation.world import Intents, World

DEPTH = 20
LINES = ("Cairn", "Dune", "Fjord", "Moss", "Ridge", "Tern")
COLOURS = ("green", "grey", "orange")
KINDS = {
    "tent": (("two person", "three person"), ("shelter", "camping tent")),
    "backpack": (("30 l", "60 l"), ("rucksack", "hiking pack")),
    "sleeping bag": (("down", "synthetic"), ("winter bag",)),
    "sleeping mat": (("inflatable", "foam"), ("mattress", "camping bed")),
    "head torch": (("rechargeable", "battery"), ("headlamp", "lamp")),
    "stove": (("gas", "alcohol"), ("cooker", "camping kitchen")),
    "rain jacket": (("light", "three layer"), ("raincoat", "waterproof")),
    "fleece": (("hooded", "zipped"), ("pullover",)),
    "hiking boots": (("leather", "membrane"), ("shoes", "walking boots")),
    "trekking poles": (("folding", "carbon"), ("walking sticks",)),
    "water bottle": (("steel", "filter"), ("flask", "drinking bottle")),
    "map case": (("waterproof", "folding"), ("map holder",)),
}
Search = Callable[[str, int], list[str]]
"""The shop's engine: (query, depth) → article numbers, the best first."""


def products() -> pa.Table:
    """Article number, title, text and price; each kind in two variants and three lines."""
    rng = np.random.default_rng(1)
    rows: list[tuple[str, str, str, float]] = []
    for kind, (variants, names) in KINDS.items():
        for variant in variants:
            for line in rng.choice(LINES, 3, replace=False):
                colour = rng.choice(COLOURS)
                title = f"{line} {kind}, {variant}, {colour}"
                text = f"Also called {rng.choice(names)}." if rng.random() < 0.4 else "For every weather."
                rows.append((f"A{1000 + 7 * len(rows)}", title, text, float(rng.integers(15, 400)) - 0.05))
    columns = ("sku", "title", "text", "price")
    return pa.table(dict(zip(columns, map(list, zip(*rows, strict=True)), strict=True)))


def wanted(titles: list[str]) -> dict[str, list[int]]:
    """What people mean by each query: the products of its kind, in the variant or colour that it names."""
    found: dict[str, list[int]] = {}
    for kind, (variants, names) in KINDS.items():
        own = [place for place, title in enumerate(titles) if kind in title]
        for name in (kind, *names):
            found[name] = own
            for word in (*variants, *COLOURS):
                if fitting := [place for place in own if word in titles[place]]:
                    found[f"{word} {name}"] = fitting
    return found


def people(search: Search, out: Path, *, clicks: int, seed: int = 2, days: int | None = None) -> Path:
    """Write what people searched and clicked (`clicks.parquet`); with `days`, wishes change from day to day."""
    rng = np.random.default_rng(seed)
    table = products()
    meant = wanted(table["title"].to_pylist())
    numbers = {sku: place for place, sku in enumerate(table["sku"].to_pylist())}
    queries = [str(text) for text in rng.permutation(sorted(meant))]
    pages = {text: search(text, DEPTH) for text in queries}
    popular = rng.gamma(0.5, size=len(numbers)) + 0.01
    documents: list[int] = []
    owners: list[int] = []
    for owner in range(3 * len(queries)):
        own = np.array(meant[queries[owner // 3]])
        share = popular[own] / popular[own].sum()
        some = rng.choice(own, min(len(own), int(rng.integers(1, 4))), replace=False, p=share)
        documents += some.tolist()
        owners += [owner] * len(some)
    often = np.repeat(1 / np.arange(2, len(queries) + 2), 3) * rng.gamma(1.0, size=3 * len(queries))
    world = World(
        documents=table.select(["sku", "title"]).rename_columns(["document", "title"]),
        queries=pa.array(queries, pa.string()),
        rankings=pa.table(
            {
                "query": [text for text in queries for _ in pages[text]],
                "document": [sku for text in queries for sku in pages[text]],
                "rank": pa.array([r for text in queries for r in range(1, len(pages[text]) + 1)], pa.int32()),
            }
        ),
        intents=Intents(
            query=np.repeat(np.arange(len(queries)), 3),
            probability=often / often.sum(),
            owner=np.array(owners),
            document=np.array(documents),
        ),
        depth=DEPTH,
        rankings_of="logged",
    )
    if days is None:
        return write_world(world, clicks=clicks, out=out, seed=seed)
    return write_world(world, clicks=clicks, out=out, seed=seed, drift=0.2, days=days)
