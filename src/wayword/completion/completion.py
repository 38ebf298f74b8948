"""A completion: a query suggested for a typed text."""

import msgspec

GRAPH = "graph"


class Completion(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """A suggested query in its display form, and the policy's score.

    The score of the policy `wayword` is the suggestion's share of the list's value, in searches found; scores need not
    fall along a list. That of `expected` is the expected utility relative to that of the intended queries: 1 is as
    useful as typing on; it does not increase along a list. `source` names the candidate's source (see
    `completion.candidates.SOURCES`). Indexes store completions as arrays (`array_like`): one is decoded faster than its
    parts are put together.
    """

    query: str
    score: float
    source: str = GRAPH
