"""A completion: a query suggested for a typed text."""

import msgspec


class Completion(msgspec.Struct, frozen=True, gc=False):
    """A suggested query in its display form, and the policy's score. Scores do not increase along a list.

    The score of the policy `expected` is the expected utility relative to that of the intended queries: 1 is as useful
    as typing on. `source` names the candidate's source (see `completion.candidates.SOURCES`).
    """

    query: str
    score: float
    source: str
