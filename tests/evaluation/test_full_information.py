"""Graded judgments instead of clicks: rel(x, q) is the DCG or MRR of the query's ranking, everything else the same."""

from math import log2
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import reference
import shop as small
from reference import Click, Search
from wayword import Config, estimates, run
from wayword.engines import tables
from wayword.pipeline import load_policies
from wayword.store.workspace import Workspace

WORDS = [f"{noun} {i:02d}" for noun in ("lamp", "lock", "rope") for i in range(40)]
CONFIG = {
    "retriever": {"model": "popular", "candidates": 15},
    "ranker": {"rounds": 10, "depth": 3},
    "features": {"dimensions": 4},
    "evaluation": {"bootstrap": 50},
}


def test_the_measures_of_a_ranking_by_hand() -> None:
    """Grades 3, 0 and 1 at the ranks 1, 2 and 4 of a result list; rank 3 holds a document that nobody judged."""
    returned = {0: 1, 1: 2, 9: 3, 2: 4}
    judged = Search(0, (Click(0, None, 3.0), Click(1, None, 0.0), Click(2, None, 1.0)))
    assert reference.dcg(judged, returned) == pytest.approx((2**3 - 1) / log2(2) + (2**1 - 1) / log2(5))
    assert reference.reciprocal_rank(judged, returned) == 1 / 1
    assert reference.reciprocal_rank(judged, {1: 1, 9: 2, 2: 3}) == 1 / 3
    assert reference.reciprocal_rank(judged, {1: 1}) == 0.0


def judge(folder: Path) -> tuple[Path, Path]:
    """Every query of a noun is judged in the context of the noun's beginning, two to four documents each."""
    rng = np.random.default_rng(0)
    judgments, rankings = [], []
    for query in WORDS:
        for rank, a in enumerate(rng.permutation(12)[:6].tolist(), start=1):
            rankings.append({"query": query, "document": small.DOCUMENTS[a], "rank": rank})
        for a in rng.permutation(12)[: rng.integers(2, 5)].tolist():
            grade = int(rng.integers(0, 4))
            judgments.append(
                {"prefix": query[:3], "query": query, "document": small.DOCUMENTS[a], "grade": grade}
            )
    paths = folder / "judgments.parquet", folder / "rankings.parquet"
    for rows, path in zip((judgments, rankings), paths, strict=True):
        pq.write_table(pa.Table.from_pylist(rows), path)
    return paths


def searches_of(workspace: Workspace) -> tuple[list[Search], dict[int, dict[int, int]]]:
    folder = workspace.folder("rankings")
    grades: dict[int, list[Click]] = {}
    for row in tables.read(folder, "numbered_clicks").to_pylist():
        grades.setdefault(row["search"], []).append(Click(row["document"], None, row["weight"]))
    context = {
        r["search"]: r["context"] for r in tables.read(workspace.folder("contexts"), "instances").to_pylist()
    }
    searches = [
        Search(row["query"], tuple(grades[row["search"]]), context[row["search"]])
        for row in tables.read(folder, "numbered_searches").to_pylist()
        if row["split"] == "test"
    ]
    rankings: dict[int, dict[int, int]] = {}
    for row in tables.read(folder, "rankings").to_pylist():
        rankings.setdefault(row["query"], {})[row["document"]] = row["rank"]
    return searches, rankings


@pytest.mark.parametrize("measure", ["dcg", "mrr"])
def test_judgments_go_through_the_same_ranker_and_evaluation(tmp_path: Path, measure: str) -> None:
    judgments, rankings = judge(tmp_path)
    config = Config.parse({**CONFIG, "utility": {"judgments": measure}})
    workspace = run(judgments, rankings, out=tmp_path / "workspace", config=config, judged=True, paper=True)
    searches, returned = searches_of(workspace)
    at = {stage: workspace.folder(stage) for stage in workspace.manifest["stages"]}
    contexts = tables.read(at["contexts"], "contexts").drop_columns(["context"])
    found = {(row["policy"], row["k"]): row["value"] for row in estimates(workspace)}
    assert found["logged", 1] == 1.0
    for name, policy in load_policies(at, config).items():
        listed = policy.complete(contexts, 10)
        lists = {c: listed.query[listed.context == c].tolist() for c in range(contexts.num_rows)}
        for k in (1, 5, 10):
            expected = reference.utility_at(
                k,
                searches,
                lists,
                lambda s, q: reference.utility(s, q, returned, lambda _: 1.0, variant=measure),
            )
            assert found[name, k] == pytest.approx(expected)
    assert workspace.report("ranker")["candidates with a utility"] > 0


def test_a_judgment_that_is_there_twice_is_one_judgment(tmp_path: Path) -> None:
    judgments, rankings = judge(tmp_path)
    twice = tmp_path / f"twice{judgments.suffix}"
    table = pq.read_table(judgments)
    pq.write_table(pa.concat_tables([table, table.slice(0, table.num_rows // 2)]), twice)
    once, again = (
        run(file, rankings, out=tmp_path / file.stem, config=Config.parse(CONFIG), judged=True)
        for file in (judgments, twice)
    )
    assert estimates(once) == estimates(again)
