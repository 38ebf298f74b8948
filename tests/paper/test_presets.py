"""What each world is reproduced with: the paper's settings where they are asked for."""

import numpy as np

from wayword.paper.presets import preset
from wayword.simulation.click_model import draw, examination_probabilities
from wayword.simulation.worlds import open_world
from wayword.text import cut_ends


def test_the_papers_own_data_get_the_papers_settings() -> None:
    paper = preset("xmc:anywhere")
    assert (paper.clicks, paper.labels, paper.document_ranker) == (3_842_425, 50_000, "pecos")
    assert paper.settings.prefixes.passes == 15
    assert paper.settings.prefixes.start == "first-word"
    assert paper.settings.ranker.share == 0.5
    assert (paper.settings.ranker.rounds, paper.settings.ranker.depth) == (200, 8)
    assert paper.settings.ranker.patience == 0
    assert (paper.settings.retriever.max_instances, paper.settings.ranker.max_contexts) == (0, 0)
    assert (paper.settings.log.retriever_share, paper.settings.log.ranker_share) == (0.6, 0.3)
    assert paper.settings.propensity.alpha == 1.0


def test_quick_takes_a_tenth_of_the_clicks_unless_told_how_many() -> None:
    assert preset("debian").clicks == 300_000
    assert preset("debian", quick=True).clicks == 30_000
    assert preset("packages", quick=True, clicks=500).clicks == 500
    assert preset("packages").settings.prefixes.start == "characters"


def test_another_seed_is_another_for_everything_that_is_drawn() -> None:
    seeded = preset("debian").seeded(7).settings
    drawn = (seeded.prefixes, seeded.retriever, seeded.features, seeded.ranker, seeded.evaluation)
    assert [table.seed for table in drawn] == [7] * 5


def test_the_dense_world_has_ten_searches_per_context() -> None:
    dense = preset("debian-dense")
    world = open_world("debian-dense")
    hits = world.hits()
    p = examination_probabilities(world.depth)
    clicked = np.bincount(hits.owner, weights=p[hits.rank - 1]).astype(np.float64)
    cuts = {query: cut_ends(query, start="first-word", min_chars=1) for query in world.queries.to_pylist()}
    share = dense.settings.log.ranker_share * dense.settings.ranker.share
    query = draw(np.random.default_rng(0), clicked, int(dense.clicks * share))
    part = np.random.default_rng(1).random(len(query))
    texts = [world.queries[int(number)].as_py() for number in query]
    typed = [text[: cuts[text][int(u * len(cuts[text]))]] for text, u in zip(texts, part, strict=True)]
    assert len(typed) >= 10 * len(set(typed))


def test_the_papers_clicks_bring_its_passes_in_every_world() -> None:
    large, usual = preset("debian-pecos", clicks=3_840_000).settings, preset("debian-pecos").settings
    assert (large.prefixes.passes, usual.prefixes.passes) == (15, 5)
    assert (large.retriever.max_instances, usual.retriever.max_instances) == (1_000_000, 400_000)
    assert large.ranker == usual.ranker
