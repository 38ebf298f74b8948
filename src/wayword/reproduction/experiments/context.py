"""More than the prefix, as in the paper's online store: a column that is known while typing and often right.

The same searches are logged twice, with and without the column `part` (which part of the archive the person browses),
and the column is given to the retriever, to the ranker, to both or to neither. All are measured on the same searches.
"""

from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from wayword.completion.candidates import Candidates, Retriever
from wayword.completion.policies import Plain, Retrieved
from wayword.config import Config
from wayword.engines import tables
from wayword.engines.tables import tables_in
from wayword.errors import WaywordError
from wayword.evaluation import stage as estimates
from wayword.evaluation.ceiling import ceiling
from wayword.evaluation.estimates import Outcomes
from wayword.logs import contexts_stage as contexts
from wayword.paper import ranker_stage as ranker
from wayword.paper.features.ranker_features import Featuriser
from wayword.paper.policies import Shuffled
from wayword.paper.retriever_stage import Retrievers
from wayword.pipeline import retriever_settings
from wayword.progress import Progress
from wayword.reproduction import measures
from wayword.reproduction.experiments.paper import STORE
from wayword.reproduction.material import Material
from wayword.reproduction.report.exhibits import Cell, Column, Section, Table, Text
from wayword.reproduction.report.numerals import number
from wayword.reproduction.shared import TABLES, of_labels
from wayword.reproduction.telling import (
    Results,
    amount,
    by_position,
    named,
    over_positions,
    pairs,
    ranged,
    told_apart,
    utilities,
)
from wayword.simulation.simulate import TRUTH
from wayword.store.stage import (
    Folders,
    Report,
    Stage,
    threads,
)
from wayword.utility import DEEPEST, Measure

NAME = "context"
AFTER = ("world", *TABLES, "retriever", "examples", of_labels("unbiased"))
"""What it needs of the log without the column."""
WITH = " + part"
"""Stands behind the name of a policy that knows the column."""
RANKERS_WITH = {"both": (True, True), "retriever": (True, False), "ranker": (False, True)}
"""Who knows the column: (retriever, ranker)."""
UNBIASED = {who: f"unbiased, {who}" for who in RANKERS_WITH}
NAMES = {
    "random": "Random, prefix only",
    "retriever": "PECOS, prefix only",
    "unbiased": "Unbiased, prefix only",
    "oracle": "Oracle, prefix only",
    "ceiling": "Ceiling, prefix only",
    f"random{WITH}": "Random, with part",
    f"retriever{WITH}": "PECOS, with part",
    UNBIASED["both"]: "Unbiased, part in both",
    UNBIASED["retriever"]: "Unbiased, part in retriever",
    UNBIASED["ranker"]: "Unbiased, part in ranker",
    f"oracle{WITH}": "Oracle, with part",
    f"ceiling{WITH}": "Ceiling, with part",
}


STYLES = {
    UNBIASED["both"]: 0,
    "retriever": 1,
    f"retriever{WITH}": 2,
    UNBIASED["ranker"]: 3,
    "ceiling": 4,
    UNBIASED["retriever"]: 5,
    "unbiased": 6,
    f"ceiling{WITH}": 7,
}


PAIRS = (
    (UNBIASED["both"], "unbiased"),
    (UNBIASED["retriever"], "unbiased"),
    (UNBIASED["ranker"], "unbiased"),
    (f"retriever{WITH}", "retriever"),
    (UNBIASED["both"], f"retriever{WITH}"),
    (f"ceiling{WITH}", "ceiling"),
)
"""What the column adds to each."""
IN_STORE = {
    "logged": ("logged", "logged"),
    "unbiased": ("unbiased", UNBIASED["both"]),
    "retriever": ("retriever", f"retriever{WITH}"),
    "oracle": ("oracle", f"oracle{WITH}"),
    "random": ("random", f"random{WITH}"),
}
"""The policies of the paper's store, here without and with the column."""


def stages(config: Config, at: Folders, plain: Folders, plain_key: str, tell: Progress) -> dict[str, Stage]:
    """The rankers of the log with the column; `plain` are the stages of the log without it, `plain_key` their names."""
    asked = retriever_settings(config.retriever)[1]

    def fitted(who: str) -> Stage:
        retriever_knows, ranker_knows = RANKERS_WITH[who]
        inputs = {"who": who, "plain": plain_key, "asked": asked, **config.of_stage("features", "ranker")}
        return Stage(
            inputs,
            lambda new: ranker.write(
                new,
                at if retriever_knows else {**at, "retriever": plain["retriever"]},
                config,
                Measure(),
                tell,
                columns=ranker_knows,
                prepared=Featuriser.load(plain["examples"] / ranker.FEATURES),
            ),
            after=(*TABLES, "retriever"),
        )

    return {f"ranker_{who}": fitted(who) for who in RANKERS_WITH}


def needed() -> tuple[str, ...]:
    """What must be made of the log with the column."""
    return ("world", *TABLES, "retriever", *(f"ranker_{who}" for who in RANKERS_WITH))


def write(out: Path, plain: Folders, at: Folders, config: Config, progress: Progress) -> Report:
    """Fill `out` with the tables of `measures.save`; `at` are the stages of the log with the column."""
    if not tables.read(plain["rankings"], "queries").equals(tables.read(at["rankings"], "queries")):
        raise WaywordError("The two logs of the context experiment do not have the same queries.")
    knows, ignores = (Retrievers.load(stage, config.retriever).trained for stage in (at, plain))
    ranked = partial(estimates.load_ranked, config=config, threads=threads())
    wide, seed = config.retriever.candidates, config.evaluation.seed
    with tables_in(out) as engine:
        tables.fetch(
            engine, at["rankings"], "numbered_clicks", "queries", "documents", "rankings", "numbered_searches"
        )
        tables.fetch(engine, at["contexts"], "instances", "contexts")
        tables.fetch(engine, at["propensity"], "propensity")
        numbers = estimates.contexts_tested(engine)
        best = {
            name: ceiling(engine, folder / TRUTH, numbers, config.prefixes, DEEPEST)
            for name, folder in (("ceiling", plain["world"]), (f"ceiling{WITH}", at["world"]))
        }
    typed = contexts.load(at["contexts"]).take(pa.array(numbers))
    policies: dict[str, Plain] = {
        "random": Shuffled(ignores, wide, seed),
        "retriever": Retrieved(ignores),
        "unbiased": ranked(ignores, plain["examples"], plain[of_labels("unbiased")]),
        f"random{WITH}": Shuffled(knows, wide, seed),
        f"retriever{WITH}": Retrieved(knows),
    }
    for who, (retriever_knows, _) in RANKERS_WITH.items():
        folder = at[f"ranker_{who}"]
        policies[UNBIASED[who]] = ranked(knows if retriever_knows else ignores, folder, folder)
    lists: dict[str, Candidates] = {}
    for done, (name, policy) in enumerate(policies.items()):
        lists[name] = policy.complete(typed, DEEPEST)
        progress.advance(done + 1, len(policies) + 2)
    everything = measures.measure(out, at, lists | best, _among(ignores, typed, numbers, wide))
    informed = measures.measure(out, at, {}, _among(knows, typed, numbers, wide))
    merged = {**everything.lists, f"oracle{WITH}": informed.lists["oracle"]}
    outcome = Outcomes(everything.own, merged, everything.bounded)
    return measures.save(out, outcome, config.evaluation, way=False)


def _among(retriever: Retriever, typed: pa.Table, numbers: NDArray[np.int32], wide: int) -> Material:
    """What the oracle may choose from; its features are nobody's business."""
    found = retriever.retrieve(typed, wide)
    return Material(numbers, found, np.zeros((len(found.query), 0), np.float32))


def section(folder: Path, right: float) -> Section:
    """What the tables show."""
    found = Results.load(folder)
    shown = found.best_last(["logged", *NAMES])
    both = UNBIASED["both"]
    drawn = [n for n in found.best_last(NAMES) if not n.startswith(("oracle", "random"))]
    return Section(
        NAME,
        "What a column that is known while typing is worth",
        (
            Text(
                "The paper's online store knew more than the prefix. Here the log has a column `part`: which part of "
                f"the archive the person browses. It is right with probability {right:g}, otherwise it names another "
                "part. The policies are those of the paper's table for the store, on the same searches with and "
                "without the column; the ceiling is that of what each policy sees. Random shuffles anew "
                "for every part, so it "
                "is not to the last digit that of the core table."
            ),
            ranged(
                "context_utility",
                "Utility@1 with and without the column",
                _conclusion(found),
                found,
                shown,
                names=NAMES,
                strong=both,
            ),
            utilities(
                "context",
                "Utility with and without the column (95% intervals)",
                found,
                shown,
                names=NAMES,
                strong=both,
            ),
            by_position(
                "context_positions",
                "Mean utility at each position",
                f"{over_positions(found, [n for n in drawn if not n.startswith('ceiling')], names=NAMES)} "
                f"{_where(found)}",
                found,
                drawn,
                names=NAMES,
                strong=both,
                bands=False,
                styles=STYLES,
            ),
            _store(found),
            pairs(
                "context_differences",
                "What the column adds, search by search",
                found,
                PAIRS,
                names=NAMES,
            ),
        ),
    )


def _store(found: Results) -> Table:
    """The paper's table for its online store, beside ours."""
    columns = (Column("Policy"), Column("Paper's store @1"), Column("Prefix only @1"), Column("With part @1"))
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (named(name), STORE[name], found.estimates.get((plain, 1)), found.estimates.get((informed, 1)))
        for name, (plain, informed) in IN_STORE.items()
    )
    return Table("context_store", "The paper's online store and this world", columns, rows)


def _conclusion(found: Results) -> str:
    gain, possible = (
        found.differences[UNBIASED["both"], "unbiased", 1],
        found.differences[f"ceiling{WITH}", "ceiling", 1],
    )
    told = {1: "helps", 0: "neither clearly helps nor hurts", -1: "hurts"}[told_apart(gain)]
    return (
        f"Given to retriever and ranker, the column {told}: {amount(gain, sign=True)} at 1; "
        f"the best that it could give is {amount(possible, sign=True)}."
    )


def _where(found: Results) -> str:
    gains = {who: found.differences[UNBIASED[who], "unbiased", 5] for who in ("retriever", "ranker")}
    both = number(found.differences[UNBIASED["both"], "unbiased", 5].value, sign=True)
    told = ", ".join(f"{number(gain.value, sign=True)} in the {who}" for who, gain in gains.items())
    return f"Given to one of the two alone it changes Utility@5 by {told}; to both by {both}."
