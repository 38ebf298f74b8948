"""More than the prefix, as in the paper's online store: a column that is known while typing and often right.

The same searches are logged twice, with and without the column `part` (which part of the archive the person browses),
and the column is given to the retriever, to the ranker, to both or to neither. All are measured on the same searches.
Stages of the log with the column have names that begin with `part_`.
"""

from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from wayword.completion.candidates import Candidates
from wayword.completion.policies import RetrieverPolicy, UnfilteredPolicy
from wayword.engines import tables
from wayword.engines.tables import fetch_numbered, tables_in
from wayword.errors import WaywordError
from wayword.evaluation import stage as estimates
from wayword.evaluation.ceiling import ceiling
from wayword.paper import ranker_stage as ranker
from wayword.paper import results
from wayword.paper.features.ranker_features import Featuriser
from wayword.paper.policies import Shuffled, load_ranked
from wayword.paper.results import Results
from wayword.paper.stages import TABLES, CandidateSet, Step, Task, of_labels
from wayword.report.exhibits import Section, Table
from wayword.simulation.simulate import TRUTH
from wayword.store.stage import Folders, Report, threads
from wayword.utility import DEEPEST, Measure

PART = "part_"
WITH = " + part"
"""Stands behind the name of a policy that sees the column."""
RANKERS = {"both": (True, True), "retriever": (True, False), "ranker": (False, True)}
"""Which models see the column: (retriever, ranker)."""
BOTH = "unbiased, both"
INFORMED = ("random", "retriever", "oracle", "ceiling")
NAMES = {
    **{name: f"{results.NAMES[name]}, prefix only" for name in (*INFORMED, "unbiased")},
    **{f"unbiased, {who}": f"Unbiased, part in {who}" for who in RANKERS},
    **{f"{name}{WITH}": f"{results.NAMES[name]}, with part" for name in INFORMED},
}
_RANKED = ("unbiased, ranker", "ceiling", "unbiased, retriever", "unbiased")
STYLES = {
    name: i for i, name in enumerate((BOTH, "retriever", f"retriever{WITH}", *_RANKED, f"ceiling{WITH}"))
}
PAIRS = [
    *((f"unbiased, {who}", "unbiased") for who in RANKERS),
    (f"retriever{WITH}", "retriever"),
    (BOTH, f"retriever{WITH}"),
    (f"ceiling{WITH}", "ceiling"),
]
"""The effect of the column on each policy."""
STORE = {
    "logged": (1.0, "logged"),
    "unbiased": (1.979, BOTH),
    "retriever": (1.535, f"retriever{WITH}"),
    "oracle": (3.890, f"oracle{WITH}"),
    "random": (1.290, f"random{WITH}"),
}
"""The paper's Table 5, on the data of an online store: Utility@1, and the name of the policy with the column here."""


def part_of(at: Folders) -> dict[str, Path]:
    """The stages of the log with the column, under the names that they have in the pipeline."""
    return {name.removeprefix(PART): folder for name, folder in at.items() if name.startswith(PART)}


def write_ranker(task: Task, *, who: str) -> Report:
    """A ranker of the log with the column; features of queries come from the log without it."""
    part, (retriever_sees, ranker_sees) = part_of(task.at), RANKERS[who]
    read = part if retriever_sees else {**part, "retriever": task.at["retriever"]}
    write = partial(ranker.write, task.out, read, task.config, Measure(), task.progress)
    return write(columns=ranker_sees, prepared=Featuriser.load(task.at["examples"] / ranker.FEATURES))


_TABLES = tuple(f"{PART}{name}" for name in (*TABLES, "retriever"))
_BEFORE = (*_TABLES, "retriever", "examples")
STEPS = {f"{PART}ranker_{who}": Step(partial(write_ranker, who=who), _BEFORE) for who in RANKERS}
AFTER = ("world", *TABLES, of_labels("unbiased"), f"{PART}world", *_BEFORE, *STEPS)


def measure(task: Task) -> Report:
    """Fill `out` with the tables of `results.save`."""
    at, part, config = task.at, part_of(task.at), task.config
    if not tables.read(at["rankings"], "queries").equals(tables.read(part["rankings"], "queries")):
        raise WaywordError("The two logs of the context experiment do not have the same queries.")
    lists: dict[str, Candidates] = {}
    with tables_in(task.out) as engine:
        fetch_numbered(engine, part)
        numbers = estimates.contexts_tested(engine)
        for name, world in (("ceiling", at["world"]), (f"ceiling{WITH}", part["world"])):
            lists[name] = ceiling(engine, world / TRUTH, numbers, config.prefixes, DEEPEST)
    of_part = replace(task, at=part)
    typed = of_part.typed(numbers)
    sees, ignores = (of.retrievers().trained for of in (of_part, task))
    wide, seed = config.retriever.candidates, config.evaluation.seed
    ranked = partial(load_ranked, config=config, threads=threads())
    policies: dict[str, UnfilteredPolicy] = {
        "random": Shuffled(ignores, wide, seed),
        "retriever": RetrieverPolicy(ignores),
        "unbiased": ranked(ignores, at["examples"], at[of_labels("unbiased")]),
        f"random{WITH}": Shuffled(sees, wide, seed),
        f"retriever{WITH}": RetrieverPolicy(sees),
    }
    for who, (retriever_sees, _) in RANKERS.items():
        folder = part[f"ranker_{who}"]
        policies[f"unbiased, {who}"] = ranked(sees if retriever_sees else ignores, folder, folder)
    for done, (name, policy) in enumerate(policies.items()):
        lists[name] = policy.complete(typed, DEEPEST)
        task.progress.advance(done + 1, len(policies) + 2)
    plain = CandidateSet(numbers, ignores.retrieve(typed, wide), np.zeros((0, 0), np.float32))
    informed = replace(plain, candidates=sees.retrieve(typed, wide))
    outcome = results.measure(task.out, part, lists, plain)
    oracle = results.measure(task.out, part, {}, informed).lists["oracle"]
    both = replace(outcome, lists={**outcome.lists, f"oracle{WITH}": oracle})
    return results.save(task.out, both, config.evaluation, way=False)


def section(folder: Path) -> Section:
    """Policies with and without the column, and the paper's store beside them."""
    found = Results.load(folder, NAMES)
    shown = found.best_last(["logged", *NAMES])
    drawn = [name for name in shown if name in STYLES]
    headers = ("Policy", "Paper's store @1", "Prefix only @1", "With part @1")
    rows = [
        (results.NAMES[name], paper, *(found.estimates.get((of, 1)) for of in (name, informed)))
        for name, (paper, informed) in STORE.items()
    ]
    store = Table("context_store", headers, rows)
    exhibits = found.exhibits("context", shown, PAIRS, drawn, strong=BOTH, styles=STYLES)
    gains = {who: found.differences[f"unbiased, {who}", "unbiased", 5] for who in RANKERS}
    gain, possible = (found.differences[(*pair, 1)] for pair in (PAIRS[0], PAIRS[-1]))
    return Section("context", (*exhibits, store), {"gains": gains, "gain": gain, "possible": possible})
