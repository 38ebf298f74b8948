"""The paper's production document ranker."""

import pyarrow as pa
import pytest

from progress_steps import Steps
from wayword.errors import LogError
from wayword.paper import pecos_model
from wayword.paper.pecos_documents import rank_with_pecos

pytestmark = pytest.mark.skipif(not pecos_model.available(), reason="needs the extra pecos")

PAIRS = pa.table(
    {
        "query": ["video player", "video player", "video editor", "mail client", "mail", "web browser"],
        "document": ["mpv", "vlc", "kdenlive", "thunderbird", "thunderbird", "firefox"],
    }
)


def test_known_pairs_come_first() -> None:
    rankings = rank_with_pecos(PAIRS, ["mail client", "web browser"], depth=1).to_pylist()
    assert rankings == [
        {"query": "mail client", "document": "thunderbird", "rank": 1},
        {"query": "web browser", "document": "firefox", "rank": 1},
    ]


def test_rows_follow_the_queries_then_the_rank_and_ties_the_document() -> None:
    progress = Steps()
    rankings = rank_with_pecos(PAIRS, ["web", "video player", ""], depth=3, progress=progress)
    assert rankings["query"].to_pylist() == ["web"] * 3 + ["video player"] * 3 + [""] * 3
    assert rankings["rank"].to_pylist() == [1, 2, 3] * 3
    assert rankings["document"].to_pylist()[3:5] == ["mpv", "vlc"]  # same instances, same score
    assert rankings.schema.field("rank").type == pa.int32()
    assert progress.steps == [(3, 3)]


def test_same_seed_same_table_and_order_of_pairs_does_not_matter() -> None:
    shuffled = PAIRS.take([3, 1, 5, 0, 4, 2])
    queries = PAIRS["query"].to_pylist()
    assert rank_with_pecos(PAIRS, queries).equals(rank_with_pecos(shuffled, queries))


def test_edges() -> None:
    assert rank_with_pecos(PAIRS, []).num_rows == 0
    with pytest.raises(LogError, match="no pairs"):
        rank_with_pecos(PAIRS.slice(0, 0), ["a"])
