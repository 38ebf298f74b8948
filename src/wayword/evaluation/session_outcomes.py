"""Outcomes of typing sessions: what each test search finds and types with the lists of each policy, per assumption.

They are kept, so that any two policies can be compared, also on some of the searches, without asking for lists again.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from wayword.bootstrap import interval, resample, widened
from wayword.config import EvaluationConfig
from wayword.engines import tables
from wayword.evaluation.typing_sessions import Replay
from wayword.utility import Floats

AS_USED, PROPENSITY, PEOPLE, ACCEPTANCE, TYPED = "as used", "propensity", "people", "acceptance", "typed"
OWN_CLICKS = "own clicks"
"""Kinds of assumptions; `TYPED` ones restrict the texts at which lists are shown. With `OWN_CLICKS` û is that of the
search's own clicks, where it otherwise is the mean over the searches that it stands for."""
OUTCOMES, SEARCHES = "session_outcomes", "session_searches"


@dataclass(frozen=True)
class Assumption:
    """An assumption about propensities or people. `name` completes "holds for …".

    `group` is what the assumptions of a kind are called together: "α from 0.5 to 1.5"; empty for one on its own.
    """

    kind: str = AS_USED
    name: str = ""
    group: str = ""


@dataclass(frozen=True)
class Ratio:
    """A ratio of sums over searches with its interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class SessionOutcomes:
    """`found` and `typed` by mode, assumption and policy, `own` (û of typing on) by assumption: one value per search.

    `searches` has the columns place, search, length (characters of the query), frequency (its searches in the training
    splits) and the context columns.
    """

    searches: pa.Table
    own: dict[Assumption, Floats]
    found: dict[tuple[str, Assumption, str], Floats]
    typed: dict[tuple[str, Assumption, str], Floats]

    @classmethod
    def of(cls, searches: pa.Table) -> "SessionOutcomes":
        """No outcomes yet."""
        return cls(searches, {}, {}, {})

    def add(self, mode: str, assumption: Assumption, own: Floats, replays: Mapping[str, Replay]) -> None:
        """Add what people do under an assumption with the lists of some policies."""
        self.own[assumption] = own
        for policy, replay in replays.items():
            self.found[mode, assumption, policy] = replay.found
            self.typed[mode, assumption, policy] = replay.typed

    def policies(self, mode: str) -> list[str]:
        """The policies whose lists were shown."""
        return list(dict.fromkeys(policy for known, _, policy in self.found if known == mode))

    def assumptions(self, *kinds: str) -> list[Assumption]:
        """The assumptions of these kinds, kind after kind."""
        return [assumption for kind in kinds for assumption in self.own if assumption.kind == kind]

    def difference_in_found(
        self,
        mode: str,
        assumption: Assumption,
        policies: tuple[str, str],
        config: EvaluationConfig,
        places: NDArray[np.int64] | None = None,
    ) -> Ratio | None:
        """Σ (found with the first − found with the second) / Σ û of typing on; None without any."""
        first, second = (self.found[mode, assumption, policy] for policy in policies)
        return _ratio(first - second, self.own[assumption], config, places)

    def keystroke_ratio(
        self,
        mode: str,
        assumption: Assumption,
        policies: tuple[str, str],
        config: EvaluationConfig,
        places: NDArray[np.int64] | None = None,
    ) -> Ratio | None:
        """Σ typed with the first / Σ typed with the second; None without any."""
        first, second = (self.typed[mode, assumption, policy] for policy in policies)
        return _ratio(first, second, config, places)

    def found_by(
        self, mode: str, policy: str, assumption: Assumption, places: NDArray[np.int64] | None = None
    ) -> float:
        """Found with a policy, relative to typing on."""
        rows = slice(None) if places is None else places
        found, own = self.found[mode, assumption, policy][rows], self.own[assumption][rows]
        return float(found.sum() / own.sum()) if own.sum() > 0 else float("nan")

    def write(self, folder: Path) -> None:
        """Write the tables `session_outcomes` and `session_searches`."""
        keys = list(self.found)
        n = self.searches.num_rows
        names = {
            "mode": [mode for mode, _, _ in keys],
            "kind": [assumption.kind for _, assumption, _ in keys],
            "assumption": [assumption.name for _, assumption, _ in keys],
            "group": [assumption.group for _, assumption, _ in keys],
            "policy": [policy for _, _, policy in keys],
        }
        blocks = {
            "own": [self.own[assumption] for _, assumption, _ in keys],
            "found": list(self.found.values()),
            "typed": list(self.typed.values()),
        }
        columns = {name: _repeated(values, n) for name, values in names.items()}
        columns |= {name: pa.array(np.concatenate([*parts, np.zeros(0)])) for name, parts in blocks.items()}
        pq.write_table(pa.table(columns), folder / f"{OUTCOMES}.parquet", compression="zstd")
        pq.write_table(self.searches, folder / f"{SEARCHES}.parquet", compression="zstd")

    @classmethod
    def read(cls, folder: Path) -> "SessionOutcomes":
        """Read the tables of `write`."""
        result = cls.of(tables.read(folder, SEARCHES))
        n, table = result.searches.num_rows, tables.read(folder, OUTCOMES)
        if not n:
            return result
        first = table.take(pa.array(np.arange(0, table.num_rows, n))).to_pylist()
        own, found, typed = (table[name].to_numpy().reshape(-1, n) for name in ("own", "found", "typed"))
        for block, row in enumerate(first):
            assumption = Assumption(row["kind"], row["assumption"], row["group"])
            result.own[assumption] = own[block]
            result.found[row["mode"], assumption, row["policy"]] = found[block]
            result.typed[row["mode"], assumption, row["policy"]] = typed[block]
        return result


def _repeated(values: Sequence[str], n: int) -> pa.Array:
    """Repeat each text n times."""
    known = list(dict.fromkeys(values))
    place = np.repeat(np.array([known.index(value) for value in values], np.int32), n)
    return pa.DictionaryArray.from_arrays(pa.array(place), pa.array(known, pa.string()))


def _ratio(
    top: Floats, bottom: Floats, config: EvaluationConfig, places: NDArray[np.int64] | None
) -> Ratio | None:
    if places is not None:
        top, bottom = top[places], bottom[places]
    if not bottom.sum() > 0:
        return None
    value = top.sum() / bottom.sum()
    replicates = resample(top[:, None], bottom, config)
    low, high = widened(
        *interval(replicates, config.level), value, (top - value * bottom)[:, None], config.level
    )
    found = Ratio(float(value), float(low[0]), float(high[0]))
    return found if np.isfinite([found.value, found.low, found.high]).all() else None
