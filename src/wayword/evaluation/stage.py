"""Stage `estimates`: every policy on the test searches in both modes, with intervals and paired differences; the dial
between utility and acceptance; and, in a simulated world, the recall of the candidate sources."""

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol, cast

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray
from scipy.sparse import csr_array

from wayword.completion import stage as completion
from wayword.completion.candidates import SOURCES, Candidates
from wayword.completion.diversify import near_duplicates
from wayword.completion.policies import (
    DEFAULT,
    POOL,
    Expected,
    Policy,
    PrefixFiltered,
    RetrieverPolicy,
    filter_by_prefix,
)
from wayword.completion.popular import PopularRetriever
from wayword.config import Config
from wayword.engines import Engine
from wayword.engines.tables import fetch_numbered, tables_in
from wayword.evaluation import conventional
from wayword.evaluation.ceiling import ceiling
from wayword.evaluation.estimates import METRICS, at_cutoffs, estimate
from wayword.evaluation.outcomes import Outcomes, outcomes
from wayword.evaluation.recall import recall
from wayword.logs import contexts_stage
from wayword.progress import Progress
from wayword.request import ANY, MODES, PREFIXED
from wayword.store.input_file import InputFile
from wayword.store.stage import (
    Folders,
    Report,
    threads,
)
from wayword.utility import CUTOFFS, DEEPEST, Measure

POPULAR, DIVERSE = "popular", "diverse"
DIAL = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0)


class LoadPolicies(Protocol):
    """Reads policies from the artefacts of a workspace."""

    def __call__(self, at: Folders, config: Config, *, threads: int = 1) -> Mapping[str, Policy]:
        """Policies by name. One thread is fastest for single texts."""
        ...


def load_policies(at: Folders, config: Config, *, threads: int = 1) -> Mapping[str, Policy]:  # noqa: ARG001
    """Read the policies that Wayword serves, and most popular completion; see `LoadPolicies`."""
    retriever = completion.load(at, threads=threads)
    texts, returned = retriever.texts, retriever.graph.exposure
    return {
        POPULAR: PrefixFiltered(RetrieverPolicy(PopularRetriever(texts, retriever.popularity)), texts, POOL),
        DEFAULT: Expected(retriever),
        DIVERSE: Expected(
            retriever,
            diverse=True,
            exposures=csr_array(returned.matrix(len(texts)).T),
            same=near_duplicates(texts),
        ),
    }


def write(
    out: Path,
    at: Folders,
    config: Config,
    measure: Measure,
    *,
    truth: Path | InputFile | None,
    load: LoadPolicies = load_policies,
    progress: Progress,
) -> Report:
    """Write `estimates`, `differences`, `dial` and `recall`.

    It evaluates the served policy, the default one, and those named in `[evaluation] compare`.
    """
    wanted = {DEFAULT, config.index.policy, *config.evaluation.compare}
    known = load(at, config, threads=threads())
    policies = {name: policy for name, policy in known.items() if name in wanted}
    steps = len(policies) + 4
    with tables_in(out) as engine:
        fetch_numbered(engine, at)
        numbers = contexts_tested(engine)
        typed = contexts_stage.load(at["contexts"]).take(pa.array(numbers))
        lists: dict[str, dict[str, Candidates]] = {mode: {} for mode in MODES}
        wide = {}
        for done, (name, policy) in enumerate(policies.items(), start=1):
            wide[name] = policy.complete(typed, max(DEEPEST, config.retriever.candidates))
            for mode, shown in _in_modes(policy, wide[name], typed).items():
                lists[mode][name] = shown
            progress.advance(done, steps)
        recalls = {}
        if truth:
            for mode in MODES:
                lists[mode]["ceiling"] = ceiling(
                    engine, truth, numbers, config.prefixes, DEEPEST, prefixed=mode == PREFIXED
                )
            recalls = _recalls(wide, lists[ANY]["ceiling"])
        results = {
            mode: outcomes(engine, lists[mode], _candidates(policies, wide, typed, mode), numbers, measure)
            for mode in MODES
        }
        progress.advance(len(policies) + 2, steps)
        dial = _dial(engine, cast(Expected, policies[DEFAULT]), typed, numbers, measure)
    tested = {mode: estimate(outcome, config.evaluation, METRICS) for mode, outcome in results.items()}
    for place, name in enumerate(("estimates", "differences")):
        parts = [_marked(tables_of[place], mode) for mode, tables_of in tested.items()]
        pq.write_table(pa.concat_tables(parts), out / f"{name}.parquet")
    pq.write_table(dial, out / "dial.parquet")
    pq.write_table(
        pa.table({"source": list(recalls), "recall": pa.array(recalls.values(), pa.float64())}),
        out / "recall.parquet",
    )
    return {"test searches with a click": len(results[ANY].own)}


def _candidates(
    policies: Mapping[str, Policy], wide: Mapping[str, Candidates], typed: pa.Table, mode: str
) -> Candidates | None:
    """The candidates of the oracle: those of the paper's retriever, if it is compared."""
    if "retriever" not in policies:
        return None
    return _in_mode(policies["retriever"], wide["retriever"], typed, mode)


def _marked(table: pa.Table, mode: str) -> pa.Table:
    return table.append_column("mode", pa.array([mode] * table.num_rows, pa.string()))


def _in_modes(policy: Policy, wide: Candidates, typed: pa.Table) -> dict[str, Candidates]:
    return {mode: _in_mode(policy, wide, typed, mode).top(DEEPEST) for mode in MODES}


def _in_mode(policy: Policy, wide: Candidates, typed: pa.Table, mode: str) -> Candidates:
    """The list of a policy in a mode, derived from its long list where possible."""
    if isinstance(policy, PrefixFiltered):
        return wide if mode == ANY else filter_by_prefix(wide, typed, policy.texts)
    return (
        wide
        if mode == ANY and not getattr(policy, "diverse", False)
        else policy.complete(typed, DEEPEST, mode=mode)
    )


def _recalls(wide: dict[str, Candidates], best: Candidates) -> dict[str, float]:
    """Recall of the ceiling's first ten queries: of each source, and of all together. `graph` are prefix matches; the
    other match sources of the default policy are `fuzzy`."""
    sources: dict[str, Candidates] = {name: wide[name] for name in ("popular", "retriever") if name in wide}
    source = wide[DEFAULT].source
    if source is not None:
        exact = source == SOURCES.index("graph")
        sources |= {
            "graph": wide[DEFAULT].take(np.flatnonzero(exact)),
            "fuzzy": wide[DEFAULT].take(np.flatnonzero(~exact)),
        }
    each = {name: recall(best, source) for name, source in sources.items()}
    return {**each, "together": recall(best, *sources.values())}


def _dial(
    engine: Engine, policy: Expected, typed: pa.Table, numbers: NDArray[np.int32], measure: Measure
) -> pa.Table:
    """Table (acceptance, k, utility, mrr, success): utility and conventional metrics at each setting of the dial."""
    lists = {
        str(share): Expected(policy.retriever, acceptance=share).complete(typed, DEEPEST) for share in DIAL
    }
    outcome = outcomes(engine, lists, None, numbers, measure)
    searches = engine.arrow("SELECT context, query FROM test_searches ORDER BY place")
    row, query = np.searchsorted(numbers, searches["context"].to_numpy()), searches["query"].to_numpy()
    utility = at_cutoffs(outcome)
    rows = []
    for share in DIAL:
        position = conventional.positions_of(lists[str(share)], row, query)
        rows += [
            {
                "acceptance": share,
                "k": k,
                "utility": _mean(utility[str(share), k], outcome),
                "mrr": float(conventional.reciprocal_rank(position, k).mean())
                if len(position)
                else float("nan"),
                "success": float(conventional.success(position, k).mean()) if len(position) else float("nan"),
            }
            for k in CUTOFFS
        ]
    return pa.Table.from_pylist(rows)


def _mean(values: NDArray[np.float64], outcome: Outcomes) -> float:
    total = float(outcome.own.sum())
    return float(values.sum()) / total if total > 0 else float("nan")


def contexts_tested(engine: Engine) -> NDArray[np.int32]:
    """The contexts of the test searches with a click."""
    rows = engine.arrow(
        """SELECT DISTINCT i.context FROM instances AS i
           WHERE i.split = 'test' AND i.search IN (SELECT search FROM numbered_clicks) ORDER BY i.context"""
    )
    return rows["context"].to_numpy().astype(np.int32)
