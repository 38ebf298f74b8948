"""Measures what keeps lists fit to be shown.

python benchmarks/hygiene.py variants           # recall and precision of the variants of queries, `packages` world
python benchmarks/hygiene.py variants --foreign # with the plurals of another language
"""

import argparse
import time
from collections import Counter

import numpy as np
from made_variants import MadeVariants, make_variants
from numpy.typing import NDArray

from wayword.completion.variants import Variants
from wayword.propensity.exposure import exposure
from wayword.rankings.bm25 import rank_with_bm25
from wayword.simulation.worlds import open_world
from wayword.store.compressed_rows import WeightedRows

EXAMPLES = 40


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("part", choices=["variants"])
    parser.add_argument("--foreign", action="store_true")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--documents", type=int, default=100, help="depth of the result pages")
    arguments = parser.parse_args()
    world = open_world("packages")
    made = make_variants(
        world.queries.to_pylist(), np.random.default_rng(arguments.seed), foreign=arguments.foreign
    )
    pages = pages_of(made.texts, world.documents, arguments.documents)
    started = time.monotonic()
    found = Variants.of(made.texts, made.searches, pages)
    print(f"{len(made.texts):,} queries, {time.monotonic() - started:.1f} s\n")
    print(table(made, found))
    print_examples(made, found)


def pages_of(texts: list[str], documents: object, depth: int) -> WeightedRows:
    """Queries × documents with p = 1/rank, by BM25 without stemming."""
    import pyarrow as pa
    import pyarrow.compute as pc

    assert isinstance(documents, pa.Table)
    ranked = rank_with_bm25(documents, texts, depth=depth)
    number = pc.index_in(ranked["query"], value_set=pa.array(texts))
    document = pc.index_in(ranked["document"], value_set=documents["document"].combine_chunks())
    rankings = pa.table({"query": number, "document": document, "rank": ranked["rank"]})
    law = pa.table({"rank": np.arange(1, depth + 1), "p": 1 / np.arange(1, depth + 1)})
    return WeightedRows.from_matrix(exposure(rankings, law, (len(texts), documents.num_rows)))


def table(made: MadeVariants, found: Variants) -> str:
    """Markdown: of each kind of variant how many are one suggestion with their origin, and not shown themselves."""
    together = found.group == found.group[made.origin]
    hidden = found.shown_as != np.arange(len(made.texts))
    lines = ["| variant | made | one suggestion | not shown itself |", "|---|---|---|---|"]
    for kind, n in sorted(Counter(made.kind).items()):
        if kind:
            of_kind = np.array([one == kind for one in made.kind])
            lines.append(
                f"| {kind} | {n:,} | {together[of_kind].mean():.2%} | {hidden[of_kind].mean():.2%} |"
            )
    false = false_pairs(made, found)
    lines.append(f"\n{len(false):,} queries are shown as one of another origin.")
    return "\n".join(lines)


def false_pairs(made: MadeVariants, found: Variants) -> NDArray[np.int64]:
    """Queries that are shown as one of another origin: errors, or variants that the world itself has."""
    return np.flatnonzero(made.origin != made.origin[found.shown_as])


def print_examples(made: MadeVariants, found: Variants) -> None:
    """Print some of each error."""
    rng = np.random.default_rng(1)
    false = false_pairs(made, found)
    print("\nshown as one of another origin (searches):")
    for query in rng.permutation(false)[:EXAMPLES].tolist():
        shown = int(found.shown_as[query])
        kind = "misspelt" if found.misspelt[query] else ""
        print(
            f"  {made.texts[query]} ({made.searches[query]}) -> {made.texts[shown]} ({made.searches[shown]}) "
            f"{kind} {made.kind[query]}"
        )
    missed = np.flatnonzero(found.group != found.group[made.origin])
    print("\nmissed:")
    for query in rng.permutation(missed)[:EXAMPLES].tolist():
        origin = int(made.origin[query])
        print(
            f"  {made.texts[query]} ({made.searches[query]}), {made.kind[query]} of {made.texts[origin]} "
            f"({made.searches[origin]})"
        )


if __name__ == "__main__":
    main()
