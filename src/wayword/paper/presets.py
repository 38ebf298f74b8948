"""The settings of a reproduction for each world: the paper's where one machine can afford them."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from msgspec import structs

from wayword.config import Config
from wayword.errors import WaywordError
from wayword.simulation.worlds import XMC

PAPERS_CLICKS = 3_842_425
CLICKS = {"debian": 300_000, "debian-pecos": 300_000, "debian-dense": 300_000, "packages": 60_000}
LARGE = 1_000_000
"""From so many clicks on, a world is reproduced at the paper's own size: 15 passes, and more samples."""
MOST_SAMPLES = 1_000_000
"""Of how many samples the retriever learns then. In `debian-pecos` each has 180 labels: all would take 50 GB."""
HALF: dict[str, Any] = {"share": 0.5, "max_contexts": 0, "patience": 0}
"""The paper halves the ranker's training set, and so do we; all contexts of that half and all trees are used."""
SEEDED = ("prefixes", "retriever", "features", "ranker", "evaluation")


@dataclass(frozen=True)
class Preset:
    """One reproduction: the world, how many clicks are drawn from it, and the effort of each experiment."""

    world: str
    clicks: int
    settings: Config
    document_ranker: str | None = None  # xmc only: which ranker answers over the labels
    labels: int | None = None  # xmc only: how many of the most frequent labels are documents
    titles: int | None = None  # debian only: how many titles; None: as many as the world has
    invisible: float | None = None  # how much of what people want their own query misses; None: the world's
    depth: int | None = None  # how many results a page has; None: 100
    part_right: float | None = 0.7  # how often the column of the context experiment is right; None: no column
    encoded: int = 4000  # how many contexts to learn from, and to test on, when text encoders are compared
    effort: float = 1.0  # scales the number of simulated logs of the theory
    quick: bool = False
    seed: int = 0

    @property
    def name(self) -> str:
        """The name of its folders in a workspace that several reproductions share.

        >>> preset("debian").name, preset("debian", quick=True).name, preset("xmc:a/b", clicks=9).name
        ('debian-300000', 'debian-30000-quick', 'xmc-b-9')
        """
        world = f"xmc-{Path(self.world).name}" if self.world.startswith(XMC) else self.world
        return f"{world}-{self.clicks}{'-quick' * self.quick}"

    def seeded(self, seed: int) -> "Preset":
        """The same with another seed for everything that is drawn."""
        tables = {name: structs.replace(getattr(self.settings, name), seed=seed) for name in SEEDED}
        return replace(self, seed=seed, settings=structs.replace(self.settings, **tables))


def preset(world: str, *, clicks: int | None = None, quick: bool = False) -> Preset:
    """The settings for a world; `quick` spends less on every step, and takes a tenth of the clicks unless their number
    is given."""
    if clicks is not None and clicks < 1:
        raise WaywordError(f"Found clicks = {clicks}; expected at least 1.")
    tables: dict[str, dict[str, Any]] = {"prefixes": {}, "retriever": {"model": "pecos"}, "ranker": HALF}
    effort: dict[str, Any] = {}
    if world != "packages":  # whose queries are often one word
        tables["prefixes"] = {"start": "first-word"}
    drawn = clicks or CLICKS.get(world, PAPERS_CLICKS) // (10 if quick else 1)
    if world.startswith(XMC) or drawn >= LARGE:
        tables["prefixes"] |= {"passes": 15}
        tables["retriever"] |= {"max_instances": 0 if world.startswith(XMC) else MOST_SAMPLES}
    if world.startswith(XMC):
        effort |= {"document_ranker": "pecos", "labels": 50_000, "part_right": None}
    if quick:
        tables["retriever"] |= {"max_instances": 15_000, "candidates": 20}
        tables |= {"ranker": {**HALF, "rounds": 20}, "evaluation": {"bootstrap": 300}}
        effort |= {"encoded": 50, "effort": 0.1, "quick": True}
    return Preset(world, drawn, Config.parse(tables), **effort)
