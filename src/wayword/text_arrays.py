"""Characters, trigrams and words of texts as arrays, for vectorised comparison of pairs.

A character is a code point. Trigrams are taken with two spaces before the text, so a text of n characters has n of
them (duplicates included), and every trigram of a prefix is a trigram of its completions.
"""

from collections.abc import Sequence
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from wayword.store.compressed_rows import CompressedRows

_PADDING = 2


def characters(texts: Sequence[str]) -> CompressedRows:
    """The code points of each text.

    >>> characters(["ab", "", "c"]).values.tolist()
    [97, 98, 99]
    """
    flat = np.frombuffer("".join(texts).encode("utf-32-le"), dtype="<u4")
    return CompressedRows.from_lengths(flat, np.fromiter(map(len, texts), dtype=np.int64, count=len(texts)))


def trigrams(text: CompressedRows) -> CompressedRows:
    """The distinct trigrams of each text, given its characters: three code points of 21 bits each."""
    lengths = text.lengths
    padded = np.full(int(lengths.sum()) + _PADDING * len(lengths), ord(" "), dtype=np.int64)
    places = np.arange(len(text.values)) + _PADDING * (text.owner + 1)
    padded[places] = text.values
    codes = (padded[places - 2] << 42) | (padded[places - 1] << 21) | padded[places]
    return CompressedRows(text.offsets, codes).distinct()


def words(texts: Sequence[str]) -> CompressedRows:
    """The distinct words of each text as 64-bit hashes."""
    split = [text.split() for text in texts]
    hashes = np.fromiter((_hash(word) for words in split for word in words), dtype=np.int64)
    return CompressedRows.from_lengths(
        hashes, np.fromiter(map(len, split), dtype=np.int64, count=len(split))
    ).distinct()


def word_counts(texts: Sequence[str]) -> NDArray[np.int64]:
    """The number of words of each text."""
    return np.fromiter((len(text.split()) for text in texts), dtype=np.int64, count=len(texts))


def begins(
    prefixes: CompressedRows,
    queries: CompressedRows,
    prefix_rows: NDArray[np.int64],
    query_rows: NDArray[np.int64],
) -> NDArray[np.bool_]:
    """Whether the query of each pair starts with the prefix of the pair, given their characters."""
    lengths = prefixes.lengths[prefix_rows]
    fits = np.flatnonzero(lengths <= queries.offsets[query_rows + 1] - queries.offsets[query_rows])
    pair, typed = prefixes.take(prefix_rows[fits])
    within = np.arange(len(pair)) - np.repeat(np.cumsum(lengths[fits]) - lengths[fits], lengths[fits])
    equal = queries.values[queries.offsets[query_rows[fits]][pair] + within] == typed
    result = np.zeros(len(query_rows), dtype=bool)
    result[fits] = np.bincount(pair[equal], minlength=len(fits)) == lengths[fits]
    return result


def _hash(word: str) -> int:
    return int.from_bytes(blake2b(word.encode(), digest_size=8).digest(), "little", signed=True)
