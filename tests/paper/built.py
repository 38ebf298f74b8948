"""A world in which the paper's order of policies must hold, because it was built so.

For every noun N there are four queries; people type one that leads nowhere better, and want two documents:

    query          returns                          so the utility of a search that clicked is
    N then plain   easy at 1, hard at 6             1 (the logged one)
    N then first   easy at 1, and nothing else      1 for easy, 0 for hard
    N then best    easy at 2, hard at 1             1/2 for easy, 6 for hard
    N then none    neither                          0

Easy and hard are wanted alike but hard is looked at a sixth as often, so of seven clicks six are on easy. The mean
utility is 1 for `plain`, 6/7 for `first` and (6 · 1/2 + 6)/7 = 1.29 for `best`. So a ranker that is corrected for
position puts `best` first; one that is not puts `plain` first ((6 + 1/6)/7 against (3 + 1)/7), and so does the
retriever, which asks only whether a query was at least as good as the logged one: `plain` always, `best` once in
seven. The oracle takes `best` for the clicks on hard and `plain` for the others: (6 + 6)/7 = 1.71.

There are few contexts with many searches each, as in the paper's log: a pairwise ranker sees only the order of labels,
which says nothing about their size where they come from one click.
"""

import numpy as np
import pyarrow as pa

from wayword.simulation.world import Intents, World

NOUNS = ["bam", "den", "fir", "gol"]
KINDS = ("plain", "first", "best", "none")
DEPTH = 8
EASY, HARD = 2, 6
"""The rank of easy in `best`, and of hard in `plain`."""
FIRST = {
    "unbiased": {"best"},
    "biased": {"plain"},
    "prescient": {"plain", "best"},
    "prescient@5": {"best"},
    "prescient@1": {"plain", "first"},
    "misspecified@0.5": {"plain"},
    "misspecified@2": {"best"},
}
"""The queries with the highest label in a context with many searches; where there are two, they are equal.

Misspecified: `best` has (6 · 2^-½ + 6^½)/7 = 0.96 < 1 for α = ½, and (6/4 + 36)/7 = 5.4 > 1 for α = 2.
"""


def _ranked(noun: str) -> list[tuple[str, str, int]]:
    easy, hard = f"{noun}-easy", f"{noun}-hard"
    rows = [(f"{noun} plain", easy, 1), (f"{noun} plain", hard, HARD), (f"{noun} first", easy, 1)]
    rows += [(f"{noun} best", easy, EASY), (f"{noun} best", hard, 1), (f"{noun} none", f"{noun}-other", 1)]
    return rows


def built_world(_catalogue: pa.Table, **_options: object) -> World:
    """The world; it takes what other worlds take and needs none of it."""
    rows = [row for noun in NOUNS for row in _ranked(noun)]
    queries = [f"{noun} {kind}" for noun in NOUNS for kind in KINDS]
    documents = [f"{noun}-{kind}" for noun in NOUNS for kind in ("easy", "hard", "other")]
    count = len(NOUNS)
    return World(
        documents=pa.table({"document": documents, "title": documents}),
        queries=pa.array(queries, pa.string()),
        rankings=pa.table(
            {
                "query": [q for q, _, _ in rows],
                "document": [d for _, d, _ in rows],
                "rank": pa.array([r for _, _, r in rows], pa.int32()),
            }
        ),
        intents=Intents(
            query=np.arange(count) * len(KINDS),
            probability=np.full(count, 1 / count),
            owner=np.repeat(np.arange(count), 2),
            document=np.column_stack([np.arange(count) * 3, np.arange(count) * 3 + 1]).ravel(),
        ),
        depth=DEPTH,
        rankings_of="all",
        context_values=pa.array([noun[0] for noun in NOUNS], pa.string()),
    )
