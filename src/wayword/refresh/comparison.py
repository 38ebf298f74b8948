"""The next version of the index compared with the current one, on test searches that neither has learned from."""

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wayword.completion import stage as completion
from wayword.config import Config
from wayword.engines import tables
from wayword.engines.tables import fetch_numbered, tables_in
from wayword.evaluation.session_outcomes import Assumption, SessionOutcomes
from wayword.evaluation.stage import available_searches, leave_out_unavailable, session_searches
from wayword.evaluation.typing_sessions import Sessions, Shown
from wayword.evaluation.verdict import MIXED, UNKNOWN, Verdict, compare, judge, types
from wayword.logs import contexts_stage
from wayword.request import ANY
from wayword.serving.served_policy import ServedPolicy
from wayword.store.stage import Folders
from wayword.utility import Measure

NEXT, CURRENT = "next", "current"
_SEARCH_COLUMNS = ("search", "search_id", "split", "query")
"""The columns of the numbered searches that typing sessions need."""


def compare_versions(at: Folders, candidate: Path, current: Path, config: Config) -> Verdict:
    """Whether people find more with the lists of the version `candidate` than with those of `current`.

    Both are asked for the same searches: those of the test split of the workspace that `candidate` was built from.
    """
    measure = Measure("unbiased", config.evaluation.max_ratio, config.evaluation.max_weight)
    texts = tables.read(at["rankings"], "queries")["text"].to_pylist()
    model = completion.load_lists(at)
    schema = contexts_stage.load(at["contexts"]).schema
    with tempfile.TemporaryDirectory() as spill, tables_in(Path(spill)) as engine:
        fetch_numbered(engine, at, *_SEARCH_COLUMNS)
        leave_out_unavailable(engine, at)
        sessions = Sessions.read(engine, texts, schema, measure, config.evaluation.sessions)
        if not len(sessions.search):
            return judge(NEXT, CURRENT, None)
        kept = SessionOutcomes.of(session_searches(engine, sessions))
        replays = {
            name: Shown.of(engine, sessions, ServedPolicy.open(version, texts), model, measure, ANY).replay(
                sessions, model
            )
            for name, version in ((NEXT, candidate), (CURRENT, current))
        }
        kept.add(ANY, Assumption(), sessions.own, replays)
        return compare(
            kept, NEXT, CURRENT, ANY, config.evaluation, available=available_searches(engine), kinds=()
        )


@dataclass(frozen=True)
class Decision:
    """Whether the next version becomes current, and why."""

    promoted: bool
    reason: str
    verdict: Verdict | None = None

    @classmethod
    def of(cls, verdict: Verdict, promote: str) -> "Decision":
        """Decide by a verdict and the user's word: always, never or if-better."""
        worse = is_worse(verdict)
        if promote == "if-better":
            unsure = "people type more and do not surely find more"
            against = unsure if verdict.better == UNKNOWN else "it is worse"
            return cls(not worse, against if worse else "it is not worse", verdict)
        return cls(promote == "always", f"--promote {promote}", verdict)

    def as_object(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        return {
            "promoted": self.promoted,
            "reason": self.reason,
            "verdict": self.verdict.as_object() if self.verdict else None,
        }


def is_worse(verdict: Verdict) -> bool:
    """Whether people find less with the next version, or type more and do not surely find more.

    >>> from wayword.evaluation.verdict import judge
    >>> is_worse(judge(NEXT, CURRENT, None))
    False
    """
    if verdict.found is None or verdict.keystrokes is None:
        return False
    finds_less = verdict.better == MIXED and verdict.found.value < 0
    return (
        verdict.better == CURRENT
        or finds_less
        or (verdict.better == UNKNOWN and types(verdict.keystrokes) < 0)
    )
