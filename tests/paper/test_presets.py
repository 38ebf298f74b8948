"""What each world is reproduced with: the paper's settings where they are asked for."""

from wayword.paper.presets import preset


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
