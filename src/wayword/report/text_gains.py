"""For which typed texts the served lists help people more than most popular completion, and for which less.

Test searches are typed again letter by letter (`evaluation.typing_sessions`). With a list at text x, those who typed x
find Σ_j T_j (û(q_j) − û(q̄)) more than by typing on, and save characters; T_j is the probability of taking suggestion j.
Both lists of a text are compared on the same people: those who have taken nothing of the served lists of shorter texts.

    net(s, x) = reach(s, x) · (Δ found + λ · Δ share of the characters saved)

A mean over few searches is mostly chance. With σ² the variance of net within a text and τ² that of the true means of
texts, the mean of n searches is multiplied by n / (n + σ²/τ²): the best guess if true means lie around 0 (empirical
Bayes).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from wayword.completion import stage as completion
from wayword.completion.candidates import Candidates
from wayword.completion.list_value import SHOWN
from wayword.completion.policies import POOL, Policy, PrefixFiltered, RetrieverPolicy
from wayword.completion.popular import PopularRetriever
from wayword.completion.typing_outcomes import Slots, take_probabilities
from wayword.engines.tables import fetch_numbered, tables_in
from wayword.evaluation.stage import leave_out_unavailable
from wayword.evaluation.typing_sessions import Sessions, Shown
from wayword.logs import contexts_stage
from wayword.logs.contexts import PREFIX
from wayword.rankings.availability import STAGE as AVAILABILITY
from wayword.request import ANY
from wayword.serving.completer import Served
from wayword.serving.served_policy import ServedPolicy
from wayword.store.workspace import Workspace
from wayword.utility import Floats, Measure

SEARCHES = 20_000
"""Test searches that are typed again, at most."""
LEAST = 10
"""Test searches that type a text, at least."""
PER = 1000
"""Gains are per so many searches."""


@dataclass(frozen=True)
class TextGain:
    """A typed text, the test searches that type it, and what the served list gains over most popular completion.

    `found` (searches found), `characters` (not typed) and `net` (in searches found) are per 1,000 searches of the log,
    and shrunk.
    """

    text: str
    searches: int
    found: float
    characters: float
    net: float


@dataclass(frozen=True)
class TextGains:
    """The texts whose two lists differ, the best first, and how many searches and texts were looked at."""

    gains: list[TextGain]
    searches: int
    texts: int


@dataclass(frozen=True)
class ForTexts:
    """A policy that shows its lists for some texts, and nothing for others."""

    policy: Policy
    texts: list[str]

    def complete(self, contexts: pa.Table, k: int, *, mode: str = ANY) -> Candidates:
        """See `Policy.complete`."""
        wanted = np.flatnonzero(pc.is_in(contexts[PREFIX], value_set=pa.array(self.texts, pa.string())))
        found = self.policy.complete(contexts.take(pa.array(wanted)), k, mode=mode)
        return Candidates(wanted[found.context].astype(np.int32), found.query, found.score, found.source)


def text_gains(workspace: Workspace, served: Served) -> TextGains:
    """Compare the lists of the texts that at least `LEAST` test searches type.

    A text is considered only if it begins a query that may be shown, so that none tells a withheld one.
    """
    optional = tuple(name for name in ("acceptance", AVAILABILITY) if name in workspace.manifest["stages"])
    stages = ("rankings", "propensity", "contexts", "demand", "completion", *optional)
    at = {stage: workspace.folder(stage) for stage in stages}
    model = completion.load_lists(at)
    measure = Measure(**workspace.report("estimates")["depends"]["measure"])
    named = may_be_named(served)
    popular = PopularRetriever(served.index.texts, np.where(named, served.index.popularity, 0))
    policies = (
        ServedPolicy(served, model.retriever.texts),
        PrefixFiltered(RetrieverPolicy(popular), served.index.texts, POOL),
    )
    with TemporaryDirectory() as spill, tables_in(Path(spill)) as engine:
        fetch_numbered(engine, at)
        leave_out_unavailable(engine, at)
        schema = contexts_stage.load(at["contexts"]).schema
        sessions = Sessions.read(engine, model.retriever.texts, schema, measure, SEARCHES)
        wanted = _texts_wanted(sessions, named)
        shown = [
            Shown.of(engine, sessions, ForTexts(policy, wanted), model, measure, ANY) for policy in policies
        ]
    ours, others = (Steps.of(one, sessions, model.acceptance.reading_at(SHOWN)) for one in shown)
    return gains_of(sessions, ours, others, wanted, model.keystroke_value)


def may_be_named(served: Served) -> NDArray[np.bool_]:
    """Which queries of the index may be named: searched ones that it shows (withheld ones have no searches there)."""
    named = np.asarray(served.index.popularity) > 0
    named &= np.fromiter((bool(text) for text in served.index.shown), bool, len(named))
    named[list(served.hidden)] = False
    return named


def _texts_wanted(sessions: Sessions, named: NDArray[np.bool_]) -> list[str]:
    """The texts that enough sessions type and that a query begins with which may be named."""
    keystrokes = sessions.keystrokes
    session = np.repeat(np.arange(len(sessions.search)), np.diff(keystrokes.offsets))
    count = np.bincount(keystrokes.text, minlength=len(keystrokes.texts))
    of_named = np.bincount(keystrokes.text, named[sessions.intended[session]], len(keystrokes.texts))
    return [keystrokes.texts[number] for number in np.flatnonzero((count >= LEAST) & (of_named > 0)).tolist()]


@dataclass(frozen=True)
class Steps:
    """The effect of a policy's list at each keystroke of each session, on those who come there."""

    taken: Floats
    found: Floats
    """û beyond typing on."""
    saved: Floats
    """Characters."""
    lists: dict[int, tuple[int, ...]]
    """The list of each text."""

    @classmethod
    def of(cls, shown: Shown, sessions: Sessions, reading: Floats) -> "Steps":
        """Compute the probabilities of each keystroke by itself: every list is the first one there. `reading` is r."""
        slots, keystrokes = shown.slots, sessions.keystrokes
        session, count = slots.session, len(keystrokes.text)
        accepted = np.where(slots.suggested == sessions.intended[session], 1.0, shown.accepted)
        alone = np.r_[0, np.cumsum(np.bincount(slots.keystroke, minlength=count))].astype(np.int64)
        lists = Slots(alone, slots.keystroke, slots.position, slots.suggested, slots.matches)
        taken = take_probabilities(lists, reading, accepted, once=False)
        left = keystrokes.length[session] - keystrokes.typed[slots.keystroke]
        gained = taken * (shown.utility - sessions.own[session])
        first = dict(
            zip(keystrokes.text[slots.keystroke][::-1].tolist(), slots.keystroke[::-1].tolist(), strict=True)
        )
        listed = {
            text: tuple(slots.suggested[alone[at] : alone[at + 1]].tolist()) for text, at in first.items()
        }

        def of_keystroke(values: Floats) -> Floats:
            return np.bincount(slots.keystroke, values, count).astype(np.float64)

        return cls(of_keystroke(taken), of_keystroke(gained), of_keystroke(taken * left), listed)

    def reach(self, offsets: NDArray[np.int64]) -> Floats:
        """The probability that nothing was taken before each keystroke of a session.

        >>> steps = Steps(np.array([0.5, 0.2, 0.1]), np.zeros(3), np.zeros(3), {})
        >>> steps.reach(np.array([0, 2, 3])).tolist()
        [1.0, 0.5, 1.0]
        """
        left = np.log(np.maximum(1 - self.taken, 1e-300))
        before = np.cumsum(left) - left
        first = np.r_[before, 0.0][offsets[:-1]]  # a query of one letter has no keystrokes
        result: Floats = np.exp(before - np.repeat(first, np.diff(offsets)))
        return result


def gains_of(
    sessions: Sessions, ours: Steps, popular: Steps, wanted: list[str], keystroke_value: float
) -> TextGains:
    """Sum the steps of all sessions by the text that was typed."""
    keystrokes, searches = sessions.keystrokes, len(sessions.search)
    session = np.repeat(np.arange(searches), np.diff(keystrokes.offsets))
    place = {text: number for number, text in enumerate(keystrokes.texts)}
    differs = [text for text in wanted if ours.lists.get(place[text]) != popular.lists.get(place[text])]
    group = _groups(differs, place, ours, popular)
    of_text = np.full(len(place), -1)
    of_text[[place[text] for text in group]] = list(group.values())
    shown = of_text[keystrokes.text] >= 0
    width = max(len(place), 1)
    keys, row = np.unique((session * width + of_text[keystrokes.text])[shown], return_inverse=True)

    def of_session(values: Floats) -> Floats:
        """Sum over the texts of a group in each session."""
        return np.bincount(row, values[shown], len(keys)).astype(np.float64)

    reach = ours.reach(keystrokes.offsets)
    mean_found = max(float(sessions.own.sum()) / max(searches, 1), 1e-12)
    found = of_session(reach * (ours.found - popular.found)) / mean_found
    saved = reach * (ours.saved - popular.saved)
    characters = of_session(saved)
    net = found + keystroke_value * of_session(saved / keystrokes.length[session])
    number = keys % width
    factor, count = shrinkage(net, number), np.bincount(number, minlength=width)
    found, characters, net = (
        np.bincount(number, part, width)[: len(factor)] * factor * PER / max(searches, 1)
        for part in (found, characters, net)
    )
    gains = [
        TextGain(text, int(count[at]), float(found[at]), float(characters[at]), float(net[at]))
        for text, at in group.items()
        if at == place[text]
    ]
    return TextGains(sorted(gains, key=lambda one: (-one.net, one.text)), searches, len(wanted))


def _groups(texts: list[str], place: Mapping[str, int], *policies: Steps) -> dict[str, int]:
    """For each text the number of the shortest text that it begins with and that has the same lists."""
    group: dict[str, int] = {}
    for text in sorted(texts):
        shorter = next((text[:n] for n in range(len(text) - 1, 0, -1) if text[:n] in group), None)
        same = shorter is not None and all(
            steps.lists.get(place[text]) == steps.lists.get(place[shorter]) for steps in policies
        )
        group[text] = group[shorter] if same and shorter is not None else place[text]
    return group


def shrinkage(values: Floats, group: NDArray[np.int64]) -> Floats:
    """The factor n / (n + σ²/τ²) of each group's mean, with σ² within groups and τ² of their true means around 0.

    Of groups that differ by no more than chance, τ² is 0 and every factor too.

    >>> shrinkage(np.array([1.0, -1.0, 1.0, -1.0]), np.array([0, 0, 1, 1])).tolist()
    [0.0, 0.0]
    """
    count = np.bincount(group)
    mean = np.bincount(group, values) / np.maximum(count, 1)
    groups = int(np.count_nonzero(count))
    within = float(((values - mean[group]) ** 2).sum()) / max(len(values) - groups, 1)
    between = (float(count @ mean**2) - groups * within) / max(len(values), 1)
    if between <= 0:
        return np.zeros(len(count))
    result: Floats = count / np.maximum(count + within / between, 1e-300)
    return result
