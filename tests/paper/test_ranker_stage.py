"""The ranker's stage: what its labels are, that they make a difference, and that no search informs its own features."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from msgspec.structs import replace
from numpy.typing import NDArray

import reference
import shop as small
from reference import Search
from shop import Shop
from wayword import run
from wayword.completion.popular import popularity
from wayword.config import Config
from wayword.engines import tables
from wayword.engines.duck import DuckDB
from wayword.logs.contexts import from_prefixes
from wayword.paper import ranker_stage as ranker
from wayword.paper.features.ranker_features import Featuriser
from wayword.paper.plan import paper_stages
from wayword.paper.rankers import BoostedRanker, Examples
from wayword.paper.retriever_stage import Retrievers
from wayword.progress import SILENT
from wayword.utility import Measure

Floats = NDArray[np.float64]
ALPHAS = (1.0, *reference.MISSPECIFIED.values())
VARIANTS = ("unbiased", "biased", *reference.PRESCIENT, *reference.MISSPECIFIED)


@pytest.mark.parametrize("variant", VARIANTS)
def test_labels_are_mean_utilities_over_the_searches_of_a_context(shop: Shop, variant: str) -> None:
    retrievers = Retrievers.load(shop.folders, small.CONFIG.retriever)
    engine = DuckDB(threads=1)
    shop.fill(engine)
    chosen = ranker.training_contexts(engine)
    typed = tables.read(shop.workspace.folder("contexts"), "contexts").take(pa.array(chosen))
    candidates = retrievers.trained.retrieve(typed, 10)
    labels, counts = ranker.labelled(engine, candidates, chosen, Measure(variant))
    engine.close()
    of_context: dict[int, list[Search]] = {}
    for search in shop.searches("ranker"):
        of_context.setdefault(search.context, []).append(search)
    clicked = [context for context, found in of_context.items() if any(s.clicks for s in found)]
    assert dict(zip(chosen.tolist(), counts.tolist(), strict=True)) == {
        c: len(of_context[c]) for c in clicked
    }
    rankings, p = shop.rankings(), reference.power_law(1.0)
    for place, query, label in zip(candidates.context, candidates.query, labels, strict=True):
        expected = reference.mean_utility(
            of_context[int(chosen[place])],
            int(query),
            lambda s, q: reference.utility(s, q, rankings, p, variant=variant),
        )
        assert label == pytest.approx(expected, rel=1e-9, abs=1e-12)


def fitted(shop: Shop, out: Path, name: str) -> tuple[NDArray[np.int32], Floats]:
    """Every candidate of some prefixes: its context, and its score by a ranker trained on these labels."""
    at = shop.folders
    trained = out / "ranker"
    trained.mkdir(parents=True)
    ranker.write(trained, at, small.CONFIG, Measure(name), SILENT)
    contexts = from_prefixes(["l", "la", "lab", "lam", "lan", "lap", "lo", "ladder s"])
    found = Retrievers.load(at, small.CONFIG.retriever).trained.retrieve(contexts, 15)
    features = Featuriser.load(trained / ranker.FEATURES).features(contexts, found)
    return found.context, BoostedRanker.load(trained / ranker.MODEL).score(features).astype(np.float64)


def orders_within(context: NDArray[np.int32], scores: Floats) -> list[list[int]]:
    """The order of the candidates of each context."""
    return [np.argsort(-scores[context == c], kind="stable").tolist() for c in np.unique(context)]


def test_different_labels_train_different_models(shop: Shop, tmp_path: Path) -> None:
    names = VARIANTS
    found = {name: fitted(shop, tmp_path / name, name) for name in names}
    scores, context = {name: score for name, (_, score) in found.items()}, found["unbiased"][0]
    assert np.array_equal(scores["unbiased"], fitted(shop, tmp_path / "again", "unbiased")[1])
    for one in names:
        for other in names:
            if one < other:
                assert not np.array_equal(scores[one], scores[other]), (one, other)
                assert orders_within(context, scores[one]) != orders_within(context, scores[other]), (
                    one,
                    other,
                )


def order(labels: Floats) -> list[list[int]]:
    """The signs of all differences: what a pairwise ranker sees."""
    return np.sign(np.round(labels[:, None] - labels[None, :], 12)).astype(int).tolist()


def labels_of(searches: list[Search], rankings: dict[int, dict[int, int]], alpha: float) -> Floats:
    p = reference.power_law(alpha)
    return np.array(
        [
            reference.mean_utility(searches, q, lambda s, q: reference.utility(s, q, rankings, p))
            for q in sorted(rankings)
        ]
    )


def test_one_group_per_click_cannot_tell_propensities_apart_and_one_per_context_can(shop: Shop) -> None:
    rankings = shop.rankings()
    searches = [s for s in shop.searches("ranker") if s.clicks]
    for search in searches[:200]:
        orders = [order(labels_of([search], rankings, alpha)) for alpha in ALPHAS]
        assert orders[0] == orders[1] == orders[2]
    by_context: dict[int, list[Search]] = {}
    for search in searches:
        by_context.setdefault(search.context, []).append(search)
    several = [found for found in by_context.values() if len({s.clicks for s in found}) > 1]
    for alpha in (0.5, 2.0):
        assert any(
            order(labels_of(s, rankings, 1.0)) != order(labels_of(s, rankings, alpha)) for s in several
        )


def test_one_group_per_click_trains_the_same_model_bit_for_bit(shop: Shop) -> None:
    """What the stage would do if it followed the letter of the paper: the reason for one group per context."""
    rankings = shop.rankings()
    searches = [s for s in shop.searches("ranker") if s.clicks][:150]
    width = len(rankings)
    rng = np.random.default_rng(0)
    features = rng.random((len(searches) * width, 5)).astype(np.float32)
    sizes, weights = np.full(len(searches), width), np.ones(len(searches))
    scores = []
    for alpha in ALPHAS:
        labels = np.concatenate([labels_of([s], rankings, alpha) for s in searches])
        examples = Examples(features, labels, sizes, weights)
        scores.append(BoostedRanker.fit(examples, small.CONFIG.ranker).score(features))
    assert np.ptp(scores[0]) > 0
    assert np.array_equal(scores[0], scores[1])
    assert np.array_equal(scores[0], scores[2])


def with_other_searches(shop: Shop, split: str, out: Path) -> Path:
    """The log with every search of a split replaced by one and the same."""
    rows = pq.read_table(shop.data / "clicks.parquet").to_pylist()
    known = tables.read(shop.workspace.folder("log"), "searches").select(["search_id", "split"]).to_pylist()
    changed = {int(row["search_id"]) for row in known if row["split"] == split}
    one = next(row for row in rows if row["search_id"] in changed and row["document"] is not None)
    path = out / "clicks.parquet"
    new = [{**one, "search_id": row["search_id"]} if row["search_id"] in changed else row for row in rows]
    pq.write_table(pa.Table.from_pylist(new), path)
    return path


@pytest.mark.parametrize("split", ["ranker", "test"])
def test_no_search_enters_the_features_computed_for_itself(shop: Shop, tmp_path: Path, split: str) -> None:
    quick = replace(small.CONFIG, ranker=replace(small.CONFIG.ranker, rounds=2))
    log = with_other_searches(shop, split, tmp_path)
    other = run(log, shop.data / "rankings.parquet", out=tmp_path / "workspace", config=quick)

    before, after = shop.workspace.folder("rankings"), other.folder("rankings")
    assert popularity(before, "retriever").tolist() == popularity(after, "retriever").tolist()
    everything = [popularity(folder, "retriever", "ranker").tolist() for folder in (before, after)]
    assert (everything[0] == everything[1]) == (split == "test")
    contexts = from_prefixes(["l", "la", "lo", "lamp"])
    matrices = []
    for workspace in (shop.workspace, other):
        at = {stage: workspace.folder(stage) for stage in workspace.manifest["stages"]}
        found = Retrievers.load(at, small.CONFIG.retriever).trained.retrieve(contexts, 15)
        matrices.append(Featuriser.load(at["ranker"] / ranker.FEATURES).features(contexts, found))
    assert np.array_equal(matrices[0], matrices[1])


def test_the_share_of_less_is_a_part_of_the_share_of_more(shop: Shop) -> None:
    def searches(share: float) -> set[int]:
        engine = DuckDB(threads=1)
        ranker.fill(engine, shop.folders, share)
        found = engine.arrow("SELECT search FROM instances WHERE split = 'ranker'")["search"].to_pylist()
        others = engine.arrow("SELECT count(*) AS n FROM instances WHERE split <> 'ranker'")["n"][0].as_py()
        everything = tables.read(shop.workspace.folder("contexts"), "instances")["split"].to_pylist()
        assert others == sum(split != "ranker" for split in everything)
        engine.close()
        return set(found)

    whole, half, tenth = searches(1.0), searches(0.5), searches(0.1)
    assert whole == {
        row["search"]
        for row in tables.read(shop.workspace.folder("contexts"), "instances").to_pylist()
        if row["split"] == "ranker"
    }
    assert tenth < half < whole
    assert len(half) == pytest.approx(len(whole) / 2, abs=4 * (len(whole) / 4) ** 0.5)


def test_another_model_in_the_encoders_folder_trains_another_ranker(tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").write_bytes(b"one")
    config = Config.parse({"features": {"encoder": str(tmp_path)}, "retriever": {"model": "popular"}})
    before = paper_stages(config, False, SILENT)["ranker"]
    assert [file.path.name for file in before.files] == ["model.safetensors"]
    (tmp_path / "model.safetensors").write_bytes(b"two")
    assert paper_stages(config, False, SILENT)["ranker"].inputs != before.inputs
