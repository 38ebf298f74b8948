"""Measures what keeps lists fit to be shown.

python benchmarks/hygiene.py variants           # recall and precision of the variants of queries, `packages` world
python benchmarks/hygiene.py variants --foreign # with the plurals of another language
python benchmarks/hygiene.py lists              # near-duplicates, misspelt and rare queries in served lists

`lists` simulates people who search with these variants, learns from their clicks, and counts over 10,000 texts by the
generator's pairs: slots whose query is a variant of another one in the same list, misspelt slots whose right form is
known, and slots whose query was searched once.
"""

import argparse
import tempfile
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
from made_variants import MadeVariants, make_variants
from numpy.typing import NDArray

import wayword
from wayword.completion.candidates import Candidates
from wayword.completion.variants import Variants
from wayword.evaluation.stage import load_policies
from wayword.propensity.exposure import exposure
from wayword.rankings.bm25 import rank_with_bm25
from wayword.simulation.simulate import write_world
from wayword.simulation.world import Intents, World
from wayword.simulation.worlds import open_world
from wayword.store.compressed_rows import CompressedRows, WeightedRows

EXAMPLES = 40
CLICKS, TEXTS = 60_000, 10_000


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("part", choices=["variants", "lists"])
    parser.add_argument("--foreign", action="store_true")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--documents", type=int, default=100, help="depth of the result pages")
    arguments = parser.parse_args()
    world = open_world("packages")
    made = make_variants(
        world.queries.to_pylist(), np.random.default_rng(arguments.seed), foreign=arguments.foreign
    )
    if arguments.part == "lists":
        print_lists(world, made, arguments.documents, arguments.seed)
        return
    pages = pages_of(made.texts, world.documents, arguments.documents)
    started = time.monotonic()
    found = Variants.of(made.texts, made.searches, pages)
    print(f"{len(made.texts):,} queries, {time.monotonic() - started:.1f} s\n")
    print(table(made, found))
    print_examples(made, found)


def print_lists(world: World, made: MadeVariants, depth: int, seed: int) -> None:
    """Learn from a log with variants, and count them in the lists of two policies."""
    with tempfile.TemporaryDirectory() as folder:
        data, out = Path(folder) / "data", Path(folder) / "workspace"
        write_world(varied_world(world, made, depth), clicks=CLICKS, out=data, seed=seed)
        workspace = wayword.run(data / "clicks.parquet", data / "rankings.parquet", out=out)
        stages = {stage: workspace.folder(stage) for stage in workspace.manifest["stages"]}
        policies = load_policies(stages, workspace.config, threads=2)
        searched = dict(zip(policies["wayword"].retriever.texts, policies["wayword"].searches, strict=True))  # type: ignore[attr-defined]
        texts = list(searched)
    place = {text: number for number, text in enumerate(made.texts)}
    origin = np.array([made.origin[place[text]] for text in texts])
    misspelt = np.array([made.kind[place[text]] == "misspelt" for text in texts])
    right = np.isin(origin, np.array([place[text] for text in texts]))
    rng = np.random.default_rng(seed)
    typed = [text[: rng.integers(1, len(text) + 1)].strip() for text in rng.choice(texts, TEXTS)]
    print("| policy | slots | near-duplicates | misspelt | searched once |\n|---|---|---|---|---|")
    for name in ("popular", "expected", "wayword"):
        shown = policies[name].complete(pa.table({"prefix": typed}), 10)
        keys = shown.context.astype(np.int64) * len(made.texts) + origin[shown.query]
        slots, twice = len(keys), len(keys) - len(np.unique(keys))
        wrong = (misspelt & right)[shown.query].mean()
        once = np.array([searched[text] <= 1 for text in texts])[shown.query].mean()
        print(f"| {name} | {slots:,} | {twice / slots:.2%} | {wrong:.2%} | {once:.2%} |", flush=True)
        if name == "wayword":
            print_twice(shown, origin, texts, typed)


def print_twice(shown: Candidates, origin: NDArray[np.int64], texts: list[str], typed: list[str]) -> None:
    """Print some lists that hold two variants of a query."""
    lists: dict[int, dict[int, str]] = {}
    examples = []
    for context, query in zip(shown.context.tolist(), shown.query.tolist(), strict=True):
        seen = lists.setdefault(context, {})
        if (made := int(origin[query])) in seen:
            examples.append(f"  {typed[context]}: {seen[made]}, {texts[query]}")
        seen[made] = texts[query]
    print("\n".join(["", *sorted(set(examples))[:EXAMPLES]]))


def varied_world(world: World, made: MadeVariants, depth: int) -> World:
    """A world whose people search with the variants of each query, and want what those who search for it want."""
    intents = world.intents
    number = {text: place for place, text in enumerate(world.queries.to_pylist())}
    source = np.array([number[made.texts[origin]] for origin in made.origin.tolist()])
    total = np.bincount(intents.query, intents.probability, minlength=len(number))
    share = intents.probability / total[intents.query]
    by_query = np.argsort(intents.query, kind="stable")
    starts = np.searchsorted(intents.query[by_query], np.arange(len(number) + 1))
    rows = CompressedRows(starts.astype(np.int64), by_query.astype(np.int64))
    text, intent = rows.take(source)
    documents = CompressedRows.from_lengths(
        intents.document[np.argsort(intents.owner, kind="stable")],
        np.bincount(intents.owner, minlength=len(intents.query)),
    )
    owner, document = documents.take(intent)
    chance = made.searches[text] * share[intent]
    return World(
        documents=world.documents,
        queries=pa.array(made.texts, pa.string()),
        rankings=rank_with_bm25(world.documents, made.texts, depth=depth),
        intents=Intents(text, chance / chance.sum(), owner, document),
        depth=depth,
        rankings_of="logged",
    )


def pages_of(texts: list[str], documents: object, depth: int) -> WeightedRows:
    """Queries × documents with p = 1/rank, by BM25 without stemming."""
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
