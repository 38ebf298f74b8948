"""Copies the texts of completion lists with compiled code; a separate module, so that reading needs no Numba."""

from typing import Any

from wayword.numba_jit import compiled


@compiled
def fill(lines: Any, lists: Any, last: Any, texts: Any) -> None:
    """Copy the texts of each list's queries, up to `last`, into its line, which already contains the line ends."""
    (line_offsets, line), (first, query, _), (text_offsets, text) = lines, lists, texts
    for i in range(len(last)):
        at = line_offsets[i]
        for j in range(first[i], last[i]):
            for b in range(text_offsets[query[j]], text_offsets[query[j] + 1]):
                line[at] = text[b]
                at += 1
            at += 1
