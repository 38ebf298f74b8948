"""Stage `estimates`: every policy on the test searches in both modes, with intervals and paired differences; typing
sessions for several kinds of people; and, in a simulated world, the recall of the candidate sources."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Protocol, cast

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from wayword.bootstrap import interval, resample
from wayword.completion import stage as completion
from wayword.completion.availability import available_documents
from wayword.completion.candidates import SOURCES, Candidates
from wayword.completion.list_policy import ListPolicy
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
from wayword.config import Config, EvaluationConfig
from wayword.engines import Engine, tables
from wayword.engines.tables import fetch, fetch_numbered, tables_in
from wayword.evaluation import (
    control_variate,
    conventional,
    doubly_robust,
    sensitivity,
    typing_sessions,
    verdict,
)
from wayword.evaluation.ceiling import ceiling
from wayword.evaluation.estimates import (
    DIAGNOSTICS,
    DOUBLY_ROBUST,
    ESTIMATES,
    IPS,
    METRICS,
    best,
    estimate,
    more_precise,
)
from wayword.evaluation.outcomes import outcomes
from wayword.evaluation.recall import recall
from wayword.evaluation.session_outcomes import OWN_CLICKS, SessionOutcomes
from wayword.evaluation.typing_sessions import MODEL, Replayed, Row, Sessions, Shown
from wayword.logs import contexts_stage
from wayword.logs.columns import CONTEXT
from wayword.progress import Progress
from wayword.request import ANY, MODES, PREFIXED
from wayword.store.input_file import InputFile
from wayword.store.stage import (
    Folders,
    Report,
    threads,
)
from wayword.utility import CUTOFFS, DEEPEST, Measure

BATCH = 1 << 13
"""Number of contexts for which lists are asked at once."""
POPULAR, EXPECTED, CEILING = "popular", "expected", "ceiling"


class LoadPolicies(Protocol):
    """Reads policies from the artefacts of a workspace."""

    def __call__(self, at: Folders, config: Config, *, threads: int = 1) -> Mapping[str, Policy]:
        """Policies by name. One thread is fastest for single texts."""
        ...


class ServedLists(Policy, Protocol):
    """The lists that are served, as a policy."""

    def with_keystroke_value(self, value: float, queries: Sequence[str]) -> Policy | None:
        """The lists with another keystroke value, in sessions that type these queries; None if they have none."""
        ...


def load_policies(at: Folders, config: Config, *, threads: int = 1) -> Mapping[str, Policy]:  # noqa: ARG001
    """Read the policies that Wayword serves, and most popular completion; see `LoadPolicies`."""
    lists = completion.load_lists(at, threads=threads)
    retriever = lists.retriever
    popular = RetrieverPolicy(PopularRetriever(retriever.texts, retriever.popularity))
    return {
        POPULAR: PrefixFiltered(popular, retriever.texts, POOL),
        EXPECTED: Expected(retriever),
        DEFAULT: lists,
    }


def write(
    out: Path,
    at: Folders,
    config: Config,
    measure: Measure,
    *,
    truth: Path | InputFile | None,
    load: LoadPolicies = load_policies,
    served: Callable[[], ServedLists] | None = None,
    ceilings: Path | None = None,
    progress: Progress,
) -> Report:
    """Write `estimates`, `differences`, `sessions`, `session_differences`, `curve`, `recall` and `verdict.json`;
    `estimators` has the rows of all estimators, `estimates` those of the best.

    It evaluates the served policy, the default one, and those named in `[evaluation] compare`. `served` opens the
    lists of the index, which are evaluated instead of what the workspace's policy would show. Without `truth`,
    `ceilings` may be the `ceiling` of earlier estimates on the same log.
    """
    wanted = {DEFAULT, config.index.policy, *config.evaluation.compare}
    known = load(at, config, threads=threads())
    policies = {name: policy for name, policy in known.items() if name in wanted}
    shown_now = served() if served else None
    if shown_now is not None:
        policies[config.index.policy] = shown_now
    steps = len(policies) + 4
    with tables_in(out) as engine:
        fetch_numbered(engine, at)
        leave_out_unavailable(engine, at)
        choose_tested(engine, config.evaluation.searches)
        numbers = contexts_tested(engine)
        typed = contexts_stage.load(at["contexts"]).take(pa.array(numbers))
        lists: dict[str, dict[str, Candidates]] = {mode: {} for mode in MODES}
        wide = {}
        for done, (name, policy) in enumerate(policies.items(), start=1):
            longer = isinstance(policy, PrefixFiltered) or name == EXPECTED
            wide[name] = in_batches(
                policy, typed, max(DEEPEST, config.retriever.candidates) if longer else DEEPEST
            )
            for mode, shown in _in_modes(policy, wide[name], typed).items():
                lists[mode][name] = shown
            progress.advance(done, steps)
        bounds = _ceilings(engine, truth, numbers, config) if truth else _read_ceilings(ceilings)
        for mode, bound in bounds.items():
            lists[mode][CEILING] = bound
        recalls = _recalls(wide, bounds[ANY]) if bounds else {}
        results = {
            mode: outcomes(engine, lists[mode], _candidates(policies, wide, typed, mode), numbers, measure)
            for mode in MODES
        }
        centred = control_variate.deviations(engine, config.prefixes)
        robust = _doubly_robust(engine, at, policies, config, measure)
        progress.advance(len(policies) + 2, steps)
        searched = {
            mode: _conventional(engine, lists[mode], numbers, mode, config.evaluation) for mode in MODES
        }
        model = cast(ListPolicy, known[DEFAULT])
        sessions, kept = _sessions(engine, policies, model, typed.schema, config, measure, shown_now)
        available = available_searches(engine)
    tested = {
        mode: estimate(outcome, config.evaluation, METRICS, centred=centred)
        for mode, outcome in results.items()
    }
    precise = {mode: both for mode, both in robust.items() if more_precise(both[0], tested[mode][0])}
    results_of = [*tested.items(), *precise.items()]
    every = [_marked(found, mode) for mode, (found, _) in (*tested.items(), *robust.items())]
    measured = [_marked(estimates, mode) for mode, (estimates, _) in results_of]
    compared = [_marked(differences, mode) for mode, (_, differences) in results_of]
    expected = [row for row in sessions.estimates if row["people"] == typing_sessions.MODEL]
    rows = [*searched[ANY], *searched[PREFIXED], *expected]
    pq.write_table(pa.concat_tables(every), out / "estimators.parquet")
    pq.write_table(best(pa.concat_tables([*measured, _as_estimates(rows)])), out / "estimates.parquet")
    pq.write_table(best(pa.concat_tables(compared)), out / "differences.parquet")
    sessions.write(out)
    kept.write(out)
    pair = config.index.policy, POPULAR
    verdict.write(
        out,
        {
            mode: verdict.compare(kept, *pair, mode, config.evaluation, available=available)
            for mode in MODES
            if {*pair} <= {*policies}
        },
    )
    _write_ceilings(bounds, out)
    pq.write_table(
        pa.table({"source": list(recalls), "recall": pa.array(recalls.values(), pa.float64())}),
        out / "recall.parquet",
    )
    return {"test searches with a click": len(results[ANY].own), "test searches": available}


def leave_out_unavailable(engine: Engine, at: Folders, *shown: str) -> None:
    """Leave out clicks on documents that cannot be had, searches with no other click, and rows of the tables `shown`:
    nobody can find them now, whatever is served."""
    available = available_documents(at)
    if available is None:
        return
    engine.load("gone", pa.table({"document": np.flatnonzero(~available).astype(np.int32)}))
    had = "document NOT IN (SELECT document FROM gone)"
    for table in shown:
        engine.step(table, f"SELECT * FROM {table} WHERE document IS NULL OR {had}")
    kept = f"""search IN (SELECT search FROM numbered_clicks WHERE {had})
               OR search NOT IN (SELECT search FROM numbered_clicks)"""
    engine.step("numbered_searches", f"SELECT * FROM numbered_searches WHERE {kept}")
    engine.step("instances", "SELECT * FROM instances WHERE search IN (SELECT search FROM numbered_searches)")
    engine.step("numbered_clicks", f"SELECT * FROM numbered_clicks WHERE {had}")


def _ceilings(
    engine: Engine, truth: Path | InputFile, numbers: NDArray[np.int32], config: Config
) -> dict[str, Candidates]:
    return {
        mode: ceiling(engine, truth, numbers, config.prefixes, DEEPEST, prefixed=mode == PREFIXED)
        for mode in MODES
    }


def _write_ceilings(ceilings: Mapping[str, Candidates], out: Path) -> None:
    """Write the lists of the ceiling, if there is one, for a later evaluation without the truth."""
    for mode, bound in ceilings.items():
        columns = {"context": bound.context, "query": bound.query, "score": bound.score}
        pq.write_table(pa.table(columns), out / f"{CEILING}_{mode}.parquet")


def _read_ceilings(folder: Path | None) -> dict[str, Candidates]:
    """Read the lists of `_write_ceilings`; none where there is no such file."""
    known = [mode for mode in MODES if folder and (folder / f"{CEILING}_{mode}.parquet").exists()]
    return {
        mode: Candidates(*(column.to_numpy() for column in tables.read(folder, f"{CEILING}_{mode}").columns))
        for mode in known
        if folder
    }


def _doubly_robust(
    engine: Engine, at: Folders, policies: Mapping[str, Policy], config: Config, measure: Measure
) -> dict[str, tuple[pa.Table, pa.Table]]:
    """Estimates and differences of Utility@k by mode, if the log has impressions that allow them."""
    if "impressions" not in at:
        return {}
    fetch(engine, at["impressions"], "numbered_impressions")
    leave_out_unavailable(engine, at, "numbered_impressions")
    if not doubly_robust.applies(engine, measure):
        return {}
    found = {}
    with doubly_robust.pooled_clicks(engine):
        choose_tested(engine, config.evaluation.searches)
        numbers = contexts_tested(engine)
        typed = contexts_stage.load(at["contexts"]).take(pa.array(numbers))
        for mode in MODES:
            lists = {
                name: in_batches(policy, typed, DEEPEST, mode).top(DEEPEST)
                for name, policy in policies.items()
            }
            outcome = outcomes(engine, lists, None, numbers, measure, whole_lists=False)
            centred = control_variate.deviations(engine, config.prefixes)
            found[mode] = estimate(outcome, config.evaluation, centred=centred, estimator=DOUBLY_ROBUST)
    return found


def in_batches(policy: Policy, contexts: pa.Table, k: int, mode: str = ANY) -> Candidates:
    """The lists of a policy, asked for some contexts at a time: those of short texts have many intended queries."""
    parts = []
    for first in range(0, contexts.num_rows, BATCH):
        found = policy.complete(contexts.slice(first, BATCH), k, mode=mode)
        parts.append(replace(found, context=found.context + np.int32(first)))
    return Candidates.concatenate(parts)


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
    return wide if mode == ANY else in_batches(policy, typed, DEEPEST, mode)


def _recalls(wide: dict[str, Candidates], best: Candidates) -> dict[str, float]:
    """Recall of the ceiling's first ten queries: of each source, and of all together. `graph` are prefix matches; the
    other match sources of the policy `expected` are `fuzzy`."""
    sources: dict[str, Candidates] = {name: wide[name] for name in ("popular", "retriever") if name in wide}
    source = wide[EXPECTED].source if EXPECTED in wide else None
    if source is not None:
        exact = source == SOURCES.index("graph")
        sources |= {
            "graph": wide[EXPECTED].take(np.flatnonzero(exact)),
            "fuzzy": wide[EXPECTED].take(np.flatnonzero(~exact)),
        }
    each = {name: recall(best, source) for name, source in sources.items()}
    return {**each, "together": recall(best, *sources.values())}


def _as_estimates(rows: list[Row]) -> pa.Table:
    """Rows of other metrics as the table `estimates`."""
    columns = [*ESTIMATES.names, "mode"]
    full = [
        {
            **dict.fromkeys(DIAGNOSTICS),
            "effective_n": float(row["n"]),
            "share_bounded": 0.0,
            "estimator": IPS,
            **row,
        }
        for row in rows
    ]
    schema = ESTIMATES.append(pa.field("mode", pa.string()))
    return pa.Table.from_pylist([{name: row[name] for name in columns} for row in full], schema)


def _conventional(
    engine: Engine,
    lists: Mapping[str, Candidates],
    numbers: NDArray[np.int32],
    mode: str,
    config: EvaluationConfig,
) -> list[Row]:
    """MRR@k and Success@k of each policy, with intervals."""
    searches = engine.arrow("SELECT context, query FROM test_searches ORDER BY place")
    row, query = np.searchsorted(numbers, searches["context"].to_numpy()), searches["query"].to_numpy()
    if not len(query):
        return []
    position = {name: conventional.positions_of(listed, row, query) for name, listed in lists.items()}
    metrics = {"mrr": conventional.reciprocal_rank, "success": conventional.success}
    keys = [(name, metric, k) for name in position for metric in metrics for k in CUTOFFS]
    values = np.column_stack([metrics[metric](position[name], k) for name, metric, k in keys]).astype(float)
    low, high = interval(resample(values, np.ones(len(query)), config), config.level)
    return [
        {
            "policy": name,
            "metric": metric,
            "k": k,
            "value": v,
            "low": a,
            "high": b,
            "n": len(query),
            "mode": mode,
        }
        for (name, metric, k), v, a, b in zip(
            keys, values.mean(axis=0).tolist(), low.tolist(), high.tolist(), strict=True
        )
    ]


def _sessions(
    engine: Engine,
    policies: Mapping[str, Policy],
    model: ListPolicy,
    contexts: pa.Schema,
    config: Config,
    measure: Measure,
    served: ServedLists | None,
) -> tuple[Replayed, SessionOutcomes]:
    """Typing sessions of every policy in both modes, under every assumption, and the curve of keystroke values."""
    sessions = Sessions.read(engine, model.retriever.texts, contexts, measure, config.evaluation.sessions)
    kept = SessionOutcomes.of(session_searches(engine, sessions))
    propensities = sensitivity.curves(engine, config.propensity.alpha, measure)
    people_of = {meaning: people for people, meaning in sensitivity.MEANINGS.items()} | {"": MODEL}
    estimates, differences = [], []
    for mode in MODES:
        shown = {
            name: Shown.of(engine, sessions, policy, model, measure, mode)
            for name, policy in policies.items()
        }
        for assumption, own, replays in sensitivity.assumed(
            engine, shown, sessions, model, measure, propensities
        ):
            kept.add(mode, assumption, own, replays)
            people = people_of.get(assumption.name) if assumption.kind != OWN_CLICKS else None
            if people is not None:
                found, compared = typing_sessions.estimate(
                    replays, sessions, config.evaluation, mode=mode, people=people
                )
                estimates += found
                differences += compared
    points = typing_sessions.curve(
        engine, sessions, model, measure, ANY, served.with_keystroke_value if served else None
    )
    return Replayed(estimates, differences, points), kept


def session_searches(engine: Engine, sessions: Sessions) -> pa.Table:
    """The searches that are typed again, with what they can be sliced by; see `SessionOutcomes`."""
    columns = [engine.quote(name) for name in engine.columns("contexts") if name.startswith(CONTEXT)]
    table = engine.arrow(
        f"""SELECT s.place, s.search, coalesce(f.frequency, 0) AS frequency {"".join(f", c.{n}" for n in columns)}
            FROM sessions AS s
            LEFT JOIN (SELECT query, count(*) AS frequency FROM numbered_searches WHERE split <> 'test' GROUP BY query)
              AS f ON f.query = s.query
            LEFT JOIN (SELECT search, min(context) AS context FROM instances WHERE split = 'test' GROUP BY search)
              AS i ON i.search = s.search
            LEFT JOIN contexts AS c ON c.context = i.context ORDER BY s.place"""
    )
    return table.append_column("length", pa.array(sessions.keystrokes.length))


def available_searches(engine: Engine) -> int:
    """Count the test searches that could be typed again."""
    found = engine.arrow(
        "SELECT count(*) AS n FROM numbered_searches WHERE split = 'test' AND query IN (SELECT query FROM rankings)"
    )
    return int(found["n"][0].as_py())


def choose_tested(engine: Engine, most: int) -> None:
    """Leave out the contexts of all but `most` test searches with a click, chosen by md5 (0: none is left out)."""
    if not most:
        return
    engine.step(
        "tested",
        f"""SELECT search FROM numbered_searches AS s WHERE s.split = 'test'
              AND EXISTS (SELECT 1 FROM numbered_clicks AS c WHERE c.search = s.search)
            ORDER BY md5(search_id), search LIMIT {int(most)}""",
    )
    engine.step(
        "instances",
        """SELECT i.* FROM instances AS i WHERE i.split <> 'test'
             OR EXISTS (SELECT 1 FROM tested AS t WHERE t.search = i.search)
             OR NOT EXISTS (SELECT 1 FROM numbered_clicks AS c WHERE c.search = i.search)""",
    )


def contexts_tested(engine: Engine) -> NDArray[np.int32]:
    """The contexts of the test searches with a click."""
    rows = engine.arrow(
        """SELECT DISTINCT i.context FROM instances AS i
           WHERE i.split = 'test' AND i.search IN (SELECT search FROM numbered_clicks) ORDER BY i.context"""
    )
    return rows["context"].to_numpy().astype(np.int32)
