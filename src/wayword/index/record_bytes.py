"""Writes records of completion lists as MessagePack with compiled code; a separate module: reading needs no Numba.

A record is an array of six: key, shortest length, completions, numbers, further scores, source (see
`completion_lists.WholeRecord`). A completion is an array of query, score and, unless it is the usual one, source.
"""

from typing import Any

import numpy as np

from wayword.numba_jit import compiled


@compiled
def text_size(length: int) -> int:
    """Bytes of a text or of bytes, with the header."""
    return length + (1 if length < 32 else 2 if length < 256 else 5)


@compiled
def binary_size(length: int) -> int:
    """Bytes of binary data, with the header."""
    return length + (2 if length < 256 else 5)


@compiled
def sizes(keys: Any, least: Any, list_of: Any, sources: Any, lists: Any, texts: Any, lines: int) -> Any:
    """The size of each record in bytes. Record i is list `list_of[i]` under key i, `lines` queries of it as text."""
    (key_offsets, _), (first, query, _), (text_offsets, _) = keys, lists, texts
    source, (name_offsets, _) = sources
    size = np.zeros(len(list_of), np.int64)
    for i in range(len(list_of)):
        begin, end = first[list_of[i]], first[list_of[i] + 1]
        shown = min(end - begin, lines)
        name = name_offsets[source[list_of[i]] + 1] - name_offsets[source[list_of[i]]]
        size[i] = 3 + text_size(key_offsets[i + 1] - key_offsets[i]) + (1 if least[i] < 128 else 5)
        size[i] += shown * (6 + (text_size(name) if name else 0))
        size[i] += binary_size(4 * (end - begin)) + binary_size(4 * (end - begin - shown))
        for j in range(begin, begin + shown):
            size[i] += text_size(text_offsets[query[j] + 1] - text_offsets[query[j]])
    return size


@compiled
def put_number(out: Any, at: int, tag: int, number: int) -> int:
    """Write a tag and 32 bits, the highest first."""
    out[at] = tag
    for place in range(4):
        out[at + 1 + place] = (number >> (24 - 8 * place)) & 255
    return at + 5


@compiled
def put(out: Any, at: int, source: Any, begin: int, end: int, tags: Any) -> int:
    """Write a header by the length (the tags of short, medium and long values) and the bytes."""
    length = end - begin
    if tags[0] and length < 32:
        out[at] = tags[0] | length
        at += 1
    elif length < 256:
        out[at], out[at + 1] = tags[1], length
        at += 2
    else:
        at = put_number(out, at, tags[2], length)
    for place in range(begin, end):
        out[at] = source[place]
        at += 1
    return at


@compiled
def fill(
    out: Any,
    starts: Any,
    keys: Any,
    least: Any,
    list_of: Any,
    sources: Any,
    lists: Any,
    texts: Any,
    lines: int,
) -> None:
    """Write the records into `out`, each from its start on. Numbers and scores of `lists` are bytes, four each."""
    text_tags, binary_tags = (0xA0, 0xD9, 0xDB), (0, 0xC4, 0xC6)
    (key_offsets, key), (first, query, number, score, swapped), (text_offsets, text) = keys, lists, texts
    source, (name_offsets, names) = sources
    for i in range(len(list_of)):
        begin, end = first[list_of[i]], first[list_of[i] + 1]
        shown = min(end - begin, lines)
        name, name_end = name_offsets[source[list_of[i]]], name_offsets[source[list_of[i]] + 1]
        out[starts[i]] = 0x96
        at = put(out, starts[i] + 1, key, key_offsets[i], key_offsets[i + 1], text_tags)
        if least[i] < 128:
            out[at] = least[i]
            at += 1
        else:
            at = put_number(out, at, 0xCE, least[i])
        out[at] = 0x90 | shown
        at += 1
        for j in range(begin, begin + shown):
            out[at] = 0x93 if name < name_end else 0x92
            at = put(out, at + 1, text, text_offsets[query[j]], text_offsets[query[j] + 1], text_tags)
            out[at] = 0xCA
            for place in range(4):
                out[at + 1 + place] = swapped[4 * j + place]
            at += 5
            if name < name_end:
                at = put(out, at, names, name, name_end, text_tags)
        at = put(out, at, number, 4 * begin, 4 * end, binary_tags)
        at = put(out, at, score, 4 * (begin + shown), 4 * end, binary_tags)
        out[at] = source[list_of[i]]
