"""A completion: what is suggested to someone who has typed something."""

import msgspec


class Completion(msgspec.Struct, frozen=True, gc=False):
    """A suggested query, in the form to show, and the policy's score: larger is better, and never below the next.

    The score of `expected` is the expected utility as a multiple of that of the queries that the text becomes: 1 is as
    good as to type on. `source` says who proposed it (see `retrieval.candidates.SOURCES`).
    """

    query: str
    score: float
    source: str
