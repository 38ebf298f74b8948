"""Lists by context, as tests write them, and as `Candidates`."""

import numpy as np
from hypothesis import strategies as st

from wayword.completion.candidates import Candidates

Lists = dict[int, list[int]]
lists_of = st.dictionaries(st.integers(0, 4), st.lists(st.integers(0, 15), unique=True, max_size=14))


def as_candidates(lists: Lists) -> Candidates:
    """Lists by context, best first."""
    rows = [(c, q, -float(p)) for c in sorted(lists) for p, q in enumerate(lists[c])]
    context, query, score = zip(*rows, strict=True) if rows else ((), (), ())
    return Candidates(np.array(context, np.int32), np.array(query, np.int32), np.array(score, np.float32))
