"""Writes the log and the rankings of a made shop of any size, to measure how cost grows.

python benchmarks/made_log.py FOLDER --queries 100000 --pairs 1750000 --clicks 200000

A topic has 64 words and some documents, whose titles are words of the topic. A query is one to five words of a topic,
drawn like the words of a title by a Zipf law; popular topics have more queries, so queries share documents, and some
documents are returned by many. A query returns the documents of its topic that have most of its words, weighed by
rarity. A document is relevant with a probability that increases with the share of the query's words that it has. How
often queries are issued follows a Zipf law; a click falls on a result in proportion to relevance · 1/rank.

Rows are written block by block; what is kept in memory are the words of queries and documents.
"""

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

LOG, RANKINGS, DOCUMENTS = "clicks.parquet", "rankings.parquet", "documents.parquet"
TOPIC_WORDS = 64
"""Words of a topic: a set of them is one 64-bit number."""
TITLE_WORDS, QUERY_WORDS = (3, 9), (0.12, 0.33, 0.33, 0.15, 0.07)
"""Number of words of a title, from … to; probability of 1, 2, … words in a query."""
BLOCK = 20_000
"""Queries whose results are computed at once."""
SYLLABLES = [a + b + c for a in "bcdfghjklmnprstvwz" for b in "aeiou" for c in ("", "l", "n", "r", "s")]
UNCLICKED_RELEVANCE = 1e-6
"""Relevance of a document that nobody wants, so that each query can be clicked."""

Integers = NDArray[np.int64]
Masks = NDArray[np.uint64]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Shop:
    """Topics, whose words are numbered by frequency; documents and queries as sets of words of their topic."""

    words: Integers
    """topics × `TOPIC_WORDS`: the words of each topic, most frequent first."""
    titles: Masks
    """topics × documents of a topic."""
    topic: Integers
    """The topic of each query."""
    asked: Masks
    """The words of each query."""

    @classmethod
    def make(cls, queries: int, documents: int, results: float, rng: np.random.Generator) -> "Shop":
        """Draw a shop whose queries return about `results` documents each."""
        of_topic = max(int(3 * results), 3)
        topics = max(documents // of_topic, 1)
        vocabulary = int(60 * (3 * queries) ** 0.5) + TOPIC_WORDS
        words = np.sort(_zipf(vocabulary, 0.8, (topics, TOPIC_WORDS), rng), axis=1)
        length = rng.integers(*TITLE_WORDS, (topics, of_topic))
        titles = _sets(length, rng)
        share = (np.arange(topics) + 5.0) ** -0.5
        topic, asked = np.zeros(0, np.int64), np.zeros(0, np.uint64)
        while len(topic) < queries:
            more = rng.choice(topics, queries, p=share / share.sum())
            sets = _sets(rng.choice(len(QUERY_WORDS), queries, p=QUERY_WORDS) + 1, rng)
            topic, asked = np.r_[topic, more], np.r_[asked, sets]
            key = _key(words[topic], asked)
            _, first = np.unique(key, return_index=True)
            first = np.sort(first)[:queries]
            topic, asked = topic[first], asked[first]
        return cls(words, titles, topic, asked)

    @property
    def documents(self) -> int:
        """Number of documents."""
        return self.titles.size

    def texts(self, names: NDArray[np.object_], topic: Integers, sets: Masks) -> list[str]:
        """The words of each set, joined."""
        known = _members(sets)
        rows = names[self.words[topic]]
        return [" ".join(row[member]) for row, member in zip(rows, known, strict=True)]


def write(
    folder: Path, *, queries: int, pairs: int, clicks: int, documents: int | None = None, seed: int = 0
) -> None:
    """Write the log (search_id, query, document, rank), the rankings (query, document, rank) and the documents."""
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(seed)
    results = pairs / queries
    shop = Shop.make(queries, documents or max(queries // 5, 50), results, rng)
    names = _names(int(shop.words.max()) + 1)
    identifiers = np.char.add("d", np.arange(shop.documents).astype("U9")).astype(object)
    _write_documents(shop, names, identifiers, folder / DOCUMENTS)
    texts: list[str] = []
    starts, weights = [np.zeros(1, np.int64)], []
    returned = []
    schema = pa.schema([("query", pa.string()), ("document", pa.string()), ("rank", pa.int32())])
    with pq.ParquetWriter(folder / RANKINGS, schema, compression="zstd") as file:
        for first, document, lengths, relevance in _results(shop, results, rng):
            block = shop.texts(names, shop.topic[first : first + BLOCK], shop.asked[first : first + BLOCK])
            texts += block
            rank = np.concatenate([np.arange(1, n + 1) for n in lengths]) if len(lengths) else lengths
            file.write_table(
                pa.table(
                    [
                        pa.array(block).take(pa.array(np.repeat(np.arange(len(block)), lengths))),
                        pa.array(identifiers[document], pa.string()),
                        pa.array(rank, pa.int32()),
                    ],
                    schema=schema,
                )
            )
            weights.append((relevance / rank).astype(np.float32))
            returned.append(document.astype(np.int32))
            starts.append(starts[-1][-1] + np.cumsum(lengths))
    _write_log(
        folder / LOG,
        (texts, identifiers),
        (np.concatenate(starts), np.concatenate(returned), np.concatenate(weights)),
        clicks,
        rng,
    )


def _results(
    shop: Shop, results: float, rng: np.random.Generator
) -> Iterator[tuple[int, Integers, Integers, Floats]]:
    """For each block of queries: where it starts, the documents by query and rank, their number, their relevance."""
    of_topic = shop.titles.shape[1]
    rarity = np.log(2.0 + np.arange(TOPIC_WORDS))
    for first in range(0, len(shop.topic), BLOCK):
        topic, asked = shop.topic[first : first + BLOCK], shop.asked[first : first + BLOCK]
        titles = shop.titles[topic]
        common = titles & asked[:, None]
        # each shared word is worth 1, the rarest its rarity more
        score = np.bitwise_count(common) + rarity[_highest(common)] * (common > 0)
        share = np.bitwise_count(common) / np.bitwise_count(asked)[:, None]
        relevant = rng.random(titles.shape) < 0.5 * share**2
        order = np.argsort(-(score + rng.random(score.shape)), axis=1, kind="stable")
        lengths = np.clip(rng.poisson(results, len(topic)), 1, of_topic)
        kept = np.arange(of_topic) < lengths[:, None]
        document = (topic[:, None] * of_topic + order)[kept]
        relevance = np.take_along_axis(relevant, order, axis=1)[kept] + UNCLICKED_RELEVANCE
        yield first, document, lengths, relevance


def _write_log(
    path: Path,
    names: tuple[list[str], NDArray[np.object_]],
    pages: tuple[Integers, NDArray[np.int32], NDArray[np.float32]],
    clicks: int,
    rng: np.random.Generator,
) -> None:
    """One search per click: a query by its frequency, a result by relevance · 1/rank."""
    starts, document, weight = pages
    texts, identifiers = pa.array(names[0]), names[1]
    total = np.r_[0.0, np.cumsum(weight, dtype=np.float64)]
    frequency = np.cumsum(1.0 / (rng.permutation(len(starts) - 1) + 10.0) ** 0.8)
    schema = pa.schema(
        [("search_id", pa.int64()), ("query", pa.string()), ("document", pa.string()), ("rank", pa.int32())]
    )
    with pq.ParquetWriter(path, schema, compression="zstd") as file:
        for first in range(0, clicks, 1 << 20):
            n = min(1 << 20, clicks - first)
            query = np.minimum(
                np.searchsorted(frequency, rng.random(n) * frequency[-1], side="right"), len(starts) - 2
            )
            low, high = total[starts[query]], total[starts[query + 1]]
            pair = np.searchsorted(total, low + rng.random(n) * (high - low), side="right") - 1
            pair = np.clip(pair, starts[query], starts[query + 1] - 1)
            columns = [
                pa.array(np.arange(first, first + n)),
                texts.take(pa.array(query)),
                pa.array(identifiers[document[pair]], pa.string()),
                pa.array(pair - starts[query] + 1, pa.int32()),
            ]
            file.write_table(pa.table(columns, schema=schema))


def _write_documents(
    shop: Shop, names: NDArray[np.object_], identifiers: NDArray[np.object_], path: Path
) -> None:
    """The titles."""
    topics, of_topic = shop.titles.shape
    titles = shop.texts(names, np.repeat(np.arange(topics), of_topic), shop.titles.ravel())
    pq.write_table(
        pa.table({"document": pa.array(identifiers, pa.string()), "title": titles}), path, compression="zstd"
    )


def _zipf(size: int, power: float, shape: tuple[int, ...], rng: np.random.Generator) -> Integers:
    """Numbers below `size`, number n with probability ∝ (n + 3)^-power."""
    total = np.cumsum((np.arange(size) + 3.0) ** -power)
    found: Integers = np.searchsorted(total, rng.random(shape) * total[-1])
    return found


def _sets(lengths: Integers, rng: np.random.Generator) -> Masks:
    """Sets of at most so many words of a topic, the frequent ones more often."""
    sets = np.zeros(lengths.shape, np.uint64)
    for place in range(int(lengths.max())):
        word = _zipf(TOPIC_WORDS, 0.7, lengths.shape, rng).astype(np.uint64)
        sets |= np.where(place < lengths, np.uint64(1) << word, np.uint64(0))
    return sets


def _members(sets: Masks) -> NDArray[np.bool_]:
    """sets × `TOPIC_WORDS`: which words each set has."""
    members: NDArray[np.bool_] = (
        (sets[:, None] >> np.arange(TOPIC_WORDS, dtype=np.uint64)) & np.uint64(1)
    ) > 0
    return members


def _highest(sets: Masks) -> Integers:
    """The rarest word of each set; 0 for an empty one."""
    return np.frexp(sets.astype(np.float64))[1].astype(np.int64).clip(1) - 1


def _key(words: Integers, sets: Masks) -> Masks:
    """A number for each set of words, equal if the words are."""
    mixed = (words.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
    key: Masks = np.where(_members(sets), mixed, np.uint64(0)).sum(axis=1, dtype=np.uint64)
    return key


def _names(count: int) -> NDArray[np.object_]:
    """Distinct made words; they are spread over all that can be spelt, so that few differ by one letter."""
    size = len(SYLLABLES)
    spread = (np.arange(count) * 7_368_787 + 1234) % size**3  # a bijection: 7,368,787 is prime
    syllables = np.array(SYLLABLES, object)
    names: NDArray[np.object_] = (
        syllables[spread // size**2] + syllables[spread // size % size] + syllables[spread % size]
    )
    return names


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    for name in ("queries", "pairs", "clicks"):
        parser.add_argument(f"--{name}", type=int, required=True)
    parser.add_argument("--documents", type=int, default=None, help="Default: a fifth of the queries.")
    parser.add_argument("--seed", type=int, default=0)
    arguments = vars(parser.parse_args())
    write(arguments.pop("folder"), **arguments)


if __name__ == "__main__":
    main()
