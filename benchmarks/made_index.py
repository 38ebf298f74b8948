"""An index of any size over queries that nobody asked: made by rule, written by the builder that writes all indexes.

python benchmarks/made_index.py --queries 100000 --out made     # makes one and says what it cost
wayword serve made                                              # answers from it

Queries are two to five words of a vocabulary with Zipf's law, as is how often each is asked. Each returns 10 to 20
documents: half belong to its rarest word, so that queries which share it lead to the same places, half are any. A few
of them are wanted.
"""

import argparse
import json
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from apart import peak
from numpy.typing import NDArray
from scipy.sparse import csr_array

from wayword import __version__
from wayword.completion.acceptance import PRIOR
from wayword.completion.expected_utility import ExpectedUtilityRetriever
from wayword.completion.list_policy import ListPolicy
from wayword.completion.policies import Expected
from wayword.completion.prefix_matcher import PrefixMatcher
from wayword.completion.query_words import QueryWords, beginnings, whole
from wayword.completion.sparse_topk import DemandGraph
from wayword.completion.suggested_queries import SuggestedQueries, pages_by_rank
from wayword.completion.survival import with_survival
from wayword.config import IndexConfig
from wayword.index.content import Content, ListedContexts
from wayword.index.index import FORMAT
from wayword.index.keys import Columns
from wayword.index.pages import Pages
from wayword.index.prefix_groups import group_prefixes
from wayword.index.versions import ROOT, publish
from wayword.store.artefact import digest_of_file
from wayword.store.compressed_rows import WeightedRows
from wayword.store.stage import threads
from wayword.store.workspace import FORMAT as WORKSPACE_FORMAT
from wayword.store.workspace import MANIFEST, digest
from wayword.text import cut_ends

QUERIES = 1_000_000
WORDS = 20_000
LENGTHS = (0.55, 0.33, 0.09, 0.03)
"""The shares of queries of two to five words."""
DOCUMENTS_PER_QUERY = 0.3
SHORTEST_PAGE, LONGEST_PAGE = 10, 20
DOCUMENTS_OF_WORD = 200
WANTED = 3
KEYSTROKE_VALUE = 0.8
_ONSETS = (
    "b",
    "br",
    "c",
    "ch",
    "d",
    "f",
    "g",
    "gr",
    "h",
    "l",
    "m",
    "n",
    "p",
    "pl",
    "r",
    "s",
    "st",
    "t",
    "tr",
    "v",
)
_VOWELS = ("a", "e", "i", "o", "u")
_ENDS = ("", "", "", "n", "r", "s", "t", "l")


@dataclass(frozen=True)
class Queries:
    """Sorted texts, how often each is asked, and the number of its rarest word."""

    texts: list[str]
    popularity: NDArray[np.int64]
    rarest: NDArray[np.int64]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--queries", type=int, default=QUERIES)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--policy", choices=("wayword", "expected"), default="wayword")
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    started = time.monotonic()
    make(arguments.out, queries(arguments.queries, arguments.seed), arguments.seed, arguments.policy)
    print(f"{time.monotonic() - started:.0f} s, at most {peak() / 1024:.1f} GB")


def make(folder: Path, asked: Queries, seed: int, served: str = "wayword") -> Path:
    """A workspace with nothing but the index; returns the folder of its version, which is made if it is not there."""
    folder.mkdir(parents=True, exist_ok=True)
    nothing = {"format": WORKSPACE_FORMAT, "wayword": __version__, "stages": {}, "settings": {}}
    (folder / MANIFEST).write_text(json.dumps(nothing), encoding="utf-8")
    version = digest(
        {
            "rule": digest_of_file(Path(__file__)),
            "wayword": __version__,
            "format": FORMAT,
            "queries": len(asked.texts),
            "seed": seed,
            "policy": served,
        }
    )
    config = IndexConfig(policy="expected" if served == "expected" else "wayword")
    made, _ = publish(
        folder / ROOT, version, lambda at: content(asked, seed, served).write(at, config), keep=1
    )
    return made


def content(asked: Queries, seed: int, served: str = "wayword") -> Content:
    """What `wayword.index.build` gathers from a workspace, for queries that have none."""
    rng = np.random.default_rng([seed, 1])
    rankings = rankings_of(asked, rng)
    documents = documents_of(asked)
    shape = (len(asked.texts), documents.num_rows)
    exposures = csr_array(
        (1.0 / rankings["rank"].to_numpy(), (rankings["query"].to_numpy(), rankings["document"].to_numpy())),
        shape=shape,
    )
    returned = WeightedRows.from_matrix(csr_array(exposures.T))
    retriever = _retriever(asked, exposures, returned, rng)
    known = group_prefixes(asked.texts)
    columns = Columns.of(retriever)
    policy = _policy(retriever, served)
    return Content(
        asked.texts,
        policy,
        policy,
        ListedContexts(columns.table(known.example, {}), known.typed, known.group, columns),
        Pages.of(returned, rankings, documents, len(asked.texts), np.ones(len(asked.texts), bool)),
    )


def _policy(retriever: ExpectedUtilityRetriever, served: str) -> ListPolicy | Expected:
    """The policy of an index; no two queries are variants of each other."""
    if served == "expected":
        return Expected(retriever)
    each = np.arange(len(retriever.texts), dtype=np.int32)
    words = QueryWords.of(retriever.texts, whole, beginnings)
    pages = pages_by_rank(retriever.graph.exposure, len(retriever.texts))
    suggested = SuggestedQueries(words, pages, retriever.matcher.spelling, each, each, each)
    return with_survival(ListPolicy(retriever, suggested, PRIOR, KEYSTROKE_VALUE))


def queries(many: int, seed: int = 0) -> Queries:
    """So many distinct queries."""
    rng = np.random.default_rng([seed, 0])
    words = vocabulary(min(WORDS, max(50, many // 10)), rng)
    numbers = _distinct_rows(many, len(words), rng)
    texts = [" ".join([words[number] for number in row if number >= 0]) for row in numbers.tolist()]
    order = np.array(sorted(range(many), key=texts.__getitem__))
    rank = rng.permutation(many) + 1
    return Queries(
        [texts[place] for place in order.tolist()],
        np.maximum(many // rank, 1).astype(np.int64),
        numbers.max(axis=1)[order],
    )


def vocabulary(many: int, rng: np.random.Generator) -> list[str]:
    """Distinct words of one or two syllables, the most frequent first; frequent ones tend to be short."""
    found: dict[str, None] = {}
    while len(found) < many:
        syllables = 1 + int(rng.random() * many < 2 * len(found) + many // 4)
        parts = (rng.choice(part) for _ in range(syllables) for part in (_ONSETS, _VOWELS, _ENDS))
        found["".join(parts)] = None
    return list(found)


def _distinct_rows(many: int, words: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Distinct rows of word numbers by Zipf's law, -1 behind the last one."""
    share = np.cumsum(1 / np.arange(1, words + 1))
    rows = np.zeros((0, 1 + len(LENGTHS)), np.int64)
    while len(rows) < many:
        drawn = np.searchsorted(share, rng.random((many, rows.shape[1])) * share[-1])
        length = rng.choice(len(LENGTHS), many, p=LENGTHS) + 2
        drawn[np.arange(rows.shape[1]) >= length[:, None]] = -1
        rows = np.unique(np.concatenate([rows, drawn]), axis=0)
    return rng.permutation(rows)[:many]


def rankings_of(asked: Queries, rng: np.random.Generator) -> pa.Table:
    """query, document, rank: 10 to 20 documents each."""
    many, documents = len(asked.texts), _documents(asked)
    slot = np.arange(LONGEST_PAGE)
    of_word = asked.rarest[:, None] * DOCUMENTS_OF_WORD + rng.integers(
        0, DOCUMENTS_OF_WORD, (many, LONGEST_PAGE)
    )
    any_one = rng.integers(0, documents, (many, LONGEST_PAGE))
    document = np.where(slot % 2 == 0, of_word * 2_654_435_761 % documents, any_one)
    length = rng.integers(SHORTEST_PAGE, LONGEST_PAGE + 1, many)
    pairs = np.arange(many)[:, None] * documents + document
    kept, first = np.unique(pairs[slot < length[:, None]], return_index=True)
    order = np.sort(first)
    query, document = np.divmod(pairs[slot < length[:, None]][order], documents)
    starts = np.searchsorted(query, np.arange(many))
    return pa.table(
        {
            "query": query.astype(np.int32),
            "document": document.astype(np.int32),
            "rank": (np.arange(len(kept)) - starts[query] + 1).astype(np.int32),
        }
    )


def documents_of(asked: Queries) -> pa.Table:
    """id, title."""
    numbers = range(_documents(asked))
    return pa.table({"document_id": [f"d{n}" for n in numbers], "title": [f"Document {n}" for n in numbers]})


def _documents(asked: Queries) -> int:
    return max(LONGEST_PAGE, int(len(asked.texts) * DOCUMENTS_PER_QUERY))


def _retriever(
    asked: Queries, exposures: csr_array, returned: WeightedRows, rng: np.random.Generator
) -> ExpectedUtilityRetriever:
    """People who ask want a few of the documents that they get, one of them most."""
    many = len(asked.texts)
    place = exposures.indptr[:-1, None] + (rng.random((many, WANTED)) * SHORTEST_PAGE).astype(np.int64)
    place = np.minimum(place, exposures.indptr[1:, None] - 1)
    rate = asked.popularity[:, None] * rng.dirichlet(np.ones(WANTED), many)
    query = np.repeat(np.arange(many), WANTED)
    rates = csr_array((rate.ravel(), (query, exposures.indices[place].ravel())), shape=exposures.shape)
    own = (rate * exposures.data[place]).sum(axis=1)
    probability = 1 / np.fromiter((max(len(cut_ends(text)), 1) for text in asked.texts), np.float64, many)
    return ExpectedUtilityRetriever(
        asked.texts,
        PrefixMatcher.build(asked.texts, np.ones(many, bool)),
        DemandGraph(WeightedRows.from_matrix(rates), returned, many),
        prefix_probability=probability.astype(np.float32),
        own_utility=own.astype(np.float32),
        popularity=asked.popularity.astype(np.float64),
        threads=threads(),
    )


if __name__ == "__main__":
    main()
