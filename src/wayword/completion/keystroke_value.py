"""The keystroke value λ: chosen so that people type no more than with most popular completion.

Searches of the training log that the lists do not know are typed letter by letter by people who accept and read as the
acceptance model says. The larger λ, the fewer keystrokes; the smallest λ is chosen with which they type no more than
with most popular completion, because it leaves most room for what they find. The model may be wrong: people who accept
only their own query as they spell it, for whom most popular completion is nearly the best there is, may type at most
`MORE` times as much. Where no λ reaches one of these goals, because only one of a query's variants is shown, say,
nothing is given up for it in vain: people may type at most `CLOSE` times as much as with the largest λ.
"""

from collections.abc import Callable

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from wayword.completion.candidates import Candidates
from wayword.completion.list_policy import ListPolicy
from wayword.completion.list_value import SHOWN
from wayword.completion.typing_outcomes import Keystrokes, Lists, Slots, take_probabilities
from wayword.logs.contexts import PREFIX
from wayword.store.compressed_rows import CompressedRows

VALUES = tuple(2 ** (step / 4) for step in range(18))
"""The values that may be chosen: 1 to 19. With less, queries with the same first word are left out because people might
take one for another, and lists look odd."""
SESSIONS = 800
"""Number of held-out searches that are typed."""
MORE, CLOSE = 1.02, 1.01
Complete = Callable[[pa.Table, int], Candidates]


def choose(
    policy_of: Callable[[float], ListPolicy], popular: Complete, queries: NDArray[np.int64]
) -> tuple[float, dict[float, float]]:
    """Return the smallest value with which people type no more than with `popular`, and what they type with the values
    that were tried, relative to `popular`. `queries` are those of the held-out searches.
    """
    model = policy_of(VALUES[-1])
    texts = [model.retriever.texts[query] for query in queries.tolist()]
    keystrokes = Keystrokes.of(texts)
    typed = pa.table({PREFIX: pa.array(keystrokes.texts, pa.string())})

    def characters(complete: Complete) -> tuple[float, float]:
        lists = lists_shown(complete(typed, SHOWN), keystrokes.texts, model)
        return expected_characters(model, queries, keystrokes, lists)

    base, least = characters(popular), characters(model.complete)
    goals = base[0], MORE * base[1]
    most = [goal if reached <= goal else CLOSE * reached for goal, reached in zip(goals, least, strict=True)]
    tried = {VALUES[-1]: least[0] / max(base[0], 1e-12)}
    low, high = 0, len(VALUES) - 1
    while low < high:
        middle = (low + high) // 2
        people, strict = characters(policy_of(VALUES[middle]).complete)
        tried[VALUES[middle]] = people / max(base[0], 1e-12)
        enough = people <= most[0] and strict <= most[1]
        low, high = (low, middle) if enough else (middle + 1, high)
    return VALUES[low], tried


def lists_shown(candidates: Candidates, texts: list[str], policy: ListPolicy) -> Lists:
    """Convert candidates for texts to lists, with whether each suggestion has the typed words."""
    lengths = np.bincount(candidates.context, minlength=len(texts))
    rows = CompressedRows.from_lengths(candidates.query.astype(np.int64), lengths)
    return Lists(rows, policy.have_typed_words(texts, candidates))


def expected_characters(
    model: ListPolicy, queries: NDArray[np.int64], keystrokes: Keystrokes, lists: Lists
) -> tuple[float, float]:
    """Return how many characters people type of these queries, on average, who behave as the policy's model says; and
    people who read like these but accept only their own query, as they spell it."""
    slots = Slots.of(keystrokes, lists)
    reading = model.acceptance.reading_at(int(slots.position.max(initial=0)) + 1)
    accepted = model.accepted(queries, slots)
    left = keystrokes.length[slots.session] - keystrokes.typed[slots.keystroke]

    def typed(accepted: NDArray[np.float64]) -> float:
        taken = take_probabilities(slots, reading, accepted, once=False)
        return float((keystrokes.length.sum() - (left * taken).sum()) / max(len(queries), 1))

    own = slots.suggested == queries[slots.session]
    return typed(accepted), typed(own.astype(np.float64))
