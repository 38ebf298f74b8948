"""Every member of every family in a whole run: rankers of documents, retrievers, rankers, encoders, scripts."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import wayword
from wayword.config import COMPARED
from wayword.engines import tables
from wayword.paper import pecos_model
from wayword.pipeline import load_policies
from wayword.serving.policy_completer import PolicyCompleter

QUICK: dict[str, dict[str, Any]] = {
    "retriever": {"candidates": 10},
    "features": {"dimensions": 4},
    "ranker": {"rounds": 10, "depth": 3},
    "evaluation": {"bootstrap": 50, "compare": list(COMPARED)},
}
POLICIES = {"logged", "random", "popular", "retriever", "unbiased", "expected", "wayword", "oracle"}
needs_pecos = pytest.mark.skipif(not pecos_model.available(), reason="needs the extra pecos")


def settings(**changes: dict[str, Any]) -> wayword.Config:
    """The quick settings with some changed."""
    return wayword.Config.parse(
        {table: {**QUICK.get(table, {}), **changes.get(table, {})} for table in {*QUICK, *changes}}
    )


def check(workspace: wayword.Workspace, prefix: str, mode: str = "any") -> list[str]:
    """Every policy has its estimates, the logged one is 1, and a prefix gets completions that are worth something."""
    values = {(row["policy"], row["k"]): row["value"] for row in wayword.estimates(workspace)}
    assert {policy for policy, _ in values} == POLICIES
    assert values["logged", 1] == 1.0
    completions = wayword.Completer.open(workspace).complete(prefix, k=5, mode=mode)
    assert completions
    assert all(completion.score > 0 for completion in completions)
    single = PolicyCompleter.open(workspace, load_policies).complete(prefix, 5, policy="expected", mode=mode)
    scores = [completion.score for completion in single]
    assert scores
    assert scores == sorted(scores, reverse=True)
    return [completion.query for completion in completions]


@pytest.mark.parametrize("ranker", ["bm25", pytest.param("pecos", marks=needs_pecos)])
def test_an_embedded_ranker_answers_where_no_rankings_were_exported(
    world: Path, tmp_path: Path, ranker: str
) -> None:
    config = settings(rankings={"ranker": ranker, "depth": 20}, retriever={"model": "popular"})
    workspace = wayword.run(
        world / "clicks.parquet",
        documents=world / "documents.parquet",
        out=tmp_path / "w",
        config=config,
        lenient=True,
    )
    check(workspace, "video")
    ranks = tables.read(workspace.folder("rankings"), "rankings")["rank"].to_numpy()
    assert (ranks.min(), ranks.max()) == (1, 20)
    if ranker == "bm25":  # the world's own engine: asked again, it answers the same
        assert workspace.report("rankings")["mismatched clicks"] == 0


@needs_pecos
def test_pecos_proposes_and_the_linear_ranker_orders(world: Path, tmp_path: Path) -> None:
    config = settings(ranker={"model": "linear"}, retriever={"model": "pecos"})
    workspace = wayword.run(
        world / "clicks.parquet", world / "rankings.parquet", out=tmp_path / "w", config=config
    )
    assert workspace.report("retriever")["model"] == "pecos"
    check(workspace, "video")
    policies = PolicyCompleter.open(workspace, load_policies)
    for policy in ("retriever", "unbiased"):  # unlike a prefix-exact retriever, the tree always proposes
        assert policies.complete("zzz no one ever typed this", policy=policy)


@pytest.mark.parametrize("model", ["popular", pytest.param("pecos", marks=needs_pecos)])
def test_context_columns_tell_prefixes_apart(tmp_path: Path, model: str) -> None:
    """Two shops under one prefix: who browses games wants the game, who browses office wants the office."""
    rows = [
        {"query": f"star {kind}", "document": kind, "rank": 1, "section": section, "hour": float(i % 24)}
        for i in range(600)
        for kind, section in [("trek", "games") if i % 2 else ("office", "work")]
    ]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "log.parquet")
    pq.write_table(
        pa.table({"query": ["star trek", "star office"], "document": ["trek", "office"], "rank": [1, 1]}),
        tmp_path / "rankings.parquet",
    )
    workspace = wayword.run(
        tmp_path / "log.parquet",
        tmp_path / "rankings.parquet",
        out=tmp_path / "w",
        config=settings(retriever={"model": model}),
    )
    completer, policies = wayword.Completer.open(workspace), PolicyCompleter.open(workspace, load_policies)
    for section, wanted in (("games", "star trek"), ("work", "star office")):
        context = {"section": section, "hour": 12}
        assert policies.complete("star", context=context, policy="expected")[0].query == wanted
        assert completer.complete("star", context=context)[0].query == wanted


def test_a_transformer_makes_the_vectors(world: Path, tmp_path: Path, tiny_bert: Path) -> None:
    config = settings(
        features={"encoder": str(tiny_bert)}, retriever={"model": "popular"}, ranker={"max_contexts": 50}
    )
    workspace = wayword.run(
        world / "clicks.parquet", world / "rankings.parquet", out=tmp_path / "w", config=config
    )
    check(workspace, "video")


@pytest.mark.parametrize(
    ("queries", "typed"),
    [
        (["東京 ホテル", "東京タワー", "大阪城"], "東"),
        (["مدينة الملك", "مدينة النور", "قلم"], "مدينة"),
        (["कंप्यूटर मेज", "कंप्यूटर", "किताब"], "कं"),
        (["ÉCOLE de musique", "école", "Straße"], "E\u0301co"),
        (["ไทยแลนด์", "ไทย อาหาร", "ข้าว"], "ไท"),
        (["👩‍🚀 suit", "👩‍🚀 moon", "rocket"], "👩‍🚀"),
    ],
    ids=["japanese", "arabic", "devanagari", "accents", "thai", "emoji"],
)
def test_every_script_is_completed(tmp_path: Path, queries: list[str], typed: str) -> None:
    rows = [{"query": queries[i % 3], "document": f"d{i % 3}", "rank": 1 + i % 2} for i in range(300)]
    ranked = [
        {"query": q, "document": f"d{(i + j) % 3}", "rank": j + 1}
        for i, q in enumerate(queries)
        for j in range(3)
    ]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "log.parquet")
    pq.write_table(pa.Table.from_pylist(ranked), tmp_path / "rankings.parquet")
    workspace = wayword.run(
        tmp_path / "log.parquet",
        tmp_path / "rankings.parquet",
        out=tmp_path / "w",
        config=settings(retriever={"model": "popular"}),
        force=True,  # ranks of clicks are made up
    )
    assert set(check(workspace, typed, mode="prefix")) == set(queries[:2])
    assert set(queries[:2]) <= set(check(workspace, typed)) <= set(queries)
    listed = PolicyCompleter.open(workspace, load_policies).complete(typed, policy="expected")
    assert {one.query for one in listed} == set(queries)  # the third leads to the same documents
