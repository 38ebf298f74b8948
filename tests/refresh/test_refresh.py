"""A refresh adds searches, learns what they touch, and promotes what is not worse."""

import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from drifting_days import CONFIG, DAYS, FIRST, Days
from runs import hashes
from wayword.completion.popular import popularity
from wayword.config import Config, IndexConfig, RefreshConfig
from wayword.demand import learning, relevance_prior
from wayword.demand import stage as demand
from wayword.demand.artefact import DEMAND, OWN, RELEVANCE
from wayword.demand.posterior import Posterior
from wayword.engines import tables
from wayword.errors import ConfigError, LogError, WorkspaceError
from wayword.index import versions
from wayword.index.build import build
from wayword.index.index import Index
from wayword.index.versions import ROOT, current
from wayword.logs.splits import SPLITS
from wayword.pipeline import evaluate, run
from wayword.progress import SILENT
from wayword.refresh.refresh import Refreshed, full_run_due, refresh, roll_back
from wayword.request import MODES
from wayword.serving.completer import Completer
from wayword.store.artefact import report_of
from wayword.store.compressed_rows import WeightedRows
from wayword.store.workspace import Workspace, building


@pytest.fixture
def workspace(days: Days, tmp_path: Path) -> Path:
    return days.copy(tmp_path / "workspace")


def folders(workspace: Path) -> dict[str, Path]:
    opened = Workspace.open(workspace)
    return {stage: opened.folder(stage) for stage in opened.manifest["stages"]}


def searches(workspace: Path, *columns: str) -> list[dict[str, object]]:
    names = columns or ("search_id", "split", "text", "time_text")
    return tables.read(folders(workspace)["rankings"], "numbered_searches", *names).to_pylist()


# --- what is learned from


def test_the_newest_searches_are_in_neither_version_and_are_learned_from_by_the_next_refresh(
    days: Days, refreshed: tuple[Path, Refreshed], tmp_path: Path
) -> None:
    workspace, done = refreshed
    new = days.between(FIRST, FIRST + 1).sort_by([("time", "descending"), ("search_id", "descending")])
    newest = {str(number) for number in new["search_id"][: round(0.2 * new.num_rows)].to_pylist()}
    held_out = {row["search_id"] for row in searches(workspace) if row["split"] == "test"}
    assert held_out == newest
    assert done.counts["searches held out"] == len(newest)
    total = days.between(0, FIRST + 1).num_rows
    assert len(searches(workspace)) == total  # the log has them,
    at = folders(workspace)
    learned = popularity(at["rankings"], "retriever", "ranker")
    assert learned.sum() == total - len(newest)  # neither version has learned from them,
    earlier = folders(days.workspace)
    before = popularity(earlier["rankings"], "retriever", "ranker").sum()
    assert before == sum(row["split"] != "test" for row in searches(days.workspace))
    again = shutil.copytree(workspace, tmp_path / "again")
    after = refresh(again, *days.next_day(tmp_path, FIRST + 1))  # and the next refresh does
    assert after.counts["searches held out before"] == len(newest)
    assert popularity(folders(again)["rankings"], "retriever", "ranker").sum() == (
        total - len(newest) + after.counts["new searches"] - after.counts["searches held out"] + len(newest)
    )


def test_counts_and_rankings_are_those_of_a_run_on_all_searches(
    days: Days, refreshed: tuple[Path, Refreshed], tmp_path: Path
) -> None:
    log = days.log(tmp_path / "all.parquet", 0, FIRST + 1)
    ranked = days.rankings_of(tmp_path / "ranked.parquet", pc.unique(days.between(0, FIRST + 1)["query"]))
    whole = folders(run(log, ranked, out=tmp_path / "whole", config=CONFIG).path)
    at = folders(refreshed[0])
    for name in ("queries", "documents", "rankings", "numbered_clicks"):
        assert tables.read(at["rankings"], name).equals(tables.read(whole["rankings"], name)), name
    split = ["split"]
    one, other = (tables.read(f["rankings"], "numbered_searches").drop_columns(split) for f in (at, whole))
    assert one.equals(other)
    assert (
        tables.read(at["log"], "searches")
        .drop_columns(split)
        .equals(tables.read(whole["log"], "searches").drop_columns(split))
    )
    assert tables.read(at["propensity"], "propensity").equals(tables.read(whole["propensity"], "propensity"))
    for stage in ("log", "rankings"):
        said, expected = report_of(at[stage]), report_of(whole[stage])
        same = [name for name in expected if not name.startswith("searches for ")]
        assert {name: said[name] for name in same} == {name: expected[name] for name in same}
    splits = pc.value_counts(tables.read(at["log"], "searches")["split"]).to_pylist()
    said = report_of(at["log"])
    assert {row["values"]: row["counts"] for row in splits} == {
        split: said[f"searches for {split}"] for split in SPLITS
    }


def test_the_posterior_is_that_of_a_run_with_the_same_relevance_model(
    refreshed: tuple[Path, Refreshed], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = folders(refreshed[0])
    rows = WeightedRows.load(at["demand"], RELEVANCE)
    shrinkage = learning.shrinkage_of(Workspace.open(refreshed[0]).report("demand"))
    monkeypatch.setattr(relevance_prior, "fit", lambda *_, **__: rows.weights.astype(np.float64))
    monkeypatch.setattr(Posterior, "log_likelihoods", lambda *_: {shrinkage: 0.0})
    demand.write(tmp_path, at, CONFIG.demand, "unbiased", SILENT)
    one, other = (WeightedRows.load(folder, DEMAND) for folder in (at["demand"], tmp_path))
    np.testing.assert_array_equal(one.offsets, other.offsets)
    np.testing.assert_array_equal(one.values, other.values)
    np.testing.assert_allclose(one.weights, other.weights, rtol=1e-4)  # the run's EM starts elsewhere
    mine, theirs = (np.load(folder / f"{OWN}.npy") for folder in (at["demand"], tmp_path))
    np.testing.assert_allclose(mine, theirs, rtol=1e-4, atol=1e-6)


def test_pairs_keep_their_relevance_under_their_new_numbers(
    days: Days, refreshed: tuple[Path, Refreshed]
) -> None:
    def relevance(workspace: Path) -> dict[tuple[str, str], float]:
        at = folders(workspace)
        rows = WeightedRows.load(at["demand"], RELEVANCE)
        texts = tables.read(at["rankings"], "queries")["text"].to_pylist()
        names = tables.read(at["rankings"], "documents")["document_id"].to_pylist()
        pairs = zip(rows.owner.tolist(), rows.values.tolist(), rows.weights.tolist(), strict=True)
        return {(texts[query], names[document]): weight for query, document, weight in pairs}

    before, after = relevance(days.workspace), relevance(refreshed[0])
    assert len(after) > len(before)
    assert {pair: after[pair] for pair in before} == before
    new = [value for pair, value in after.items() if pair not in before]
    assert 0 < min(new) <= max(new) < 1


# --- lists


def lists_of(version: Path, texts: list[str], mode: str) -> dict[str, list[tuple[str, float]] | None]:
    index = Index.open(version)
    found = {text: index.lists.find(text, 10, mode) for text in texts}
    return {text: None if one is None else [(c.query, c.score) for c in one] for text, one in found.items()}


def test_lists_of_touched_texts_are_computed_and_others_are_copied(
    days: Days, refreshed: tuple[Path, Refreshed], tmp_path: Path
) -> None:
    workspace, done = refreshed
    assert 0 < done.counts["copied lists"] < done.counts["lists"]
    version = current(workspace / ROOT)
    copied = shutil.copytree(workspace, tmp_path / "workspace")
    whole, made = build(Workspace.open(copied), CONFIG.index)
    assert made
    learned = {row["search_id"] for row in searches(days.workspace) if row["split"] != "test"}
    new = {
        row["text"]
        for row in searches(workspace)
        if row["split"] != "test" and row["search_id"] not in learned
    }
    typed = {str(text)[:end] for text in new for end in range(1, len(str(text)) + 1)}
    for mode in MODES:
        texts = sorted(Index.open(whole).lists.keys())
        assert texts == sorted(Index.open(version).lists.keys())
        touched = [text for text in texts if text in typed]
        assert lists_of(version, touched, mode) == lists_of(whole, touched, mode)
        earlier = lists_of(current(days.workspace / ROOT), texts, mode)
        now = lists_of(version, texts, mode)
        whole_now = lists_of(whole, texts, mode)
        either = [text for text in texts if now[text] in (earlier[text], whole_now[text])]
        assert either == texts


def test_new_queries_with_rankings_become_suggestions(days: Days, refreshed: tuple[Path, Refreshed]) -> None:
    before, now = (Completer.open(path) for path in (days.workspace, refreshed[0]))
    known = set(tables.read(folders(days.workspace)["rankings"], "queries")["text"].to_pylist())
    counts = pc.value_counts(days.between(FIRST, FIRST + 1)["query"])
    new = [row["values"] for row in counts.to_pylist() if row["values"] not in known and row["counts"] > 1]
    found = [query for query in new if query in [c.query for c in now.complete(query[:-1], k=10)]]
    assert len(found) > len(new) / 2 > 1
    assert not any(query in [c.query for c in before.complete(query[:-1], k=10)] for query in new)


def test_clicks_without_a_ranking_are_said_and_count_as_soon_as_there_is_one(
    days: Days, workspace: Path, tmp_path: Path
) -> None:
    (log,), (ranked,) = days.next_day(tmp_path)
    first = refresh(workspace, [log], promote="always")
    queries = first.counts["clicks from queries without a ranking"]
    missing = queries + first.counts["clicks on documents that no ranking contains"]
    assert missing >= queries > 0
    assert f"{missing:,} clicks are of queries or documents without a ranking" in "\n".join(first.lines)
    before = tables.read(folders(workspace)["rankings"], "numbered_clicks").num_rows
    (later,), (more,) = days.next_day(tmp_path, FIRST + 1)
    second = refresh(workspace, [later], [ranked, more], promote="always")
    assert second.counts["clicks from queries without a ranking"] == 0
    assert "without a ranking" not in "\n".join(second.lines)
    after = tables.read(folders(workspace)["rankings"], "numbered_clicks").num_rows
    assert after == before + second.counts["new clicks"] + missing
    log_clicks = tables.read(folders(workspace)["log"], "clicks").num_rows
    assert after == log_clicks


# --- promotion


def garbled(days: Days, path: Path) -> Path:
    """Days whose searches are of other queries than they seem, but for the newest fifth."""
    rows = days.between(FIRST, DAYS)
    queries = pc.unique(days.between(0, FIRST)["query"]).to_pylist()
    rows = rows.filter(pc.is_in(rows["query"], value_set=pa.array(queries)))
    other = dict(zip(queries, np.random.default_rng(1).permutation(queries).tolist(), strict=True))
    rows = pa.concat_tables(
        rows.set_column(0, "search_id", pc.add(rows["search_id"], 10**7 * n)) for n in range(8)
    ).sort_by("time")
    last = round(0.75 * rows.num_rows)
    text = rows["query"].to_pylist()
    text[:last] = [other[query] for query in text[:last]]
    place = rows.column_names.index("query")
    pq.write_table(rows.set_column(place, "query", pa.array(text)), path)
    return path


def test_a_worse_version_is_not_promoted_and_leaves_the_workspace_as_it_was(
    days: Days, workspace: Path, tmp_path: Path
) -> None:
    log, served = garbled(days, tmp_path / "garbled.parquet"), current(workspace / ROOT).name
    manifest = (workspace / "manifest.json").read_text()
    done = refresh(workspace, [log])
    assert not done.decision.promoted
    assert done.decision.verdict
    assert done.decision.verdict.better != "next"
    assert done.decision.reason in ("it is worse", "people type more and do not surely find more")
    assert current(workspace / ROOT).name == done.current == served
    assert versions.versions(workspace / ROOT) == [served]
    assert (workspace / "manifest.json").read_text() == manifest
    assert "not added" in "\n".join(done.lines)
    forced = refresh(workspace, [log], promote="always")
    assert forced.decision.promoted
    assert current(workspace / ROOT).name == forced.candidate == done.candidate != served
    assert roll_back(workspace) == (served, done.candidate)


def test_never_builds_and_compares_only_and_the_same_command_may_promote_it_later(
    days: Days, workspace: Path, tmp_path: Path
) -> None:
    files, served = days.next_day(tmp_path), current(workspace / ROOT).name
    done = refresh(workspace, *files, promote="never")
    assert (done.decision.promoted, done.current) == (False, served)
    assert done.candidate in versions.versions(workspace / ROOT)
    assert len(searches(workspace)) == days.between(0, FIRST).num_rows
    again = refresh(workspace, *files)
    assert again.decision.promoted
    assert again.candidate == done.candidate == current(workspace / ROOT).name


def test_the_settings_of_the_current_version_stay(days: Days, workspace: Path, tmp_path: Path) -> None:
    served, _ = build(Workspace.open(workspace), IndexConfig(kept=13, min_results=2))
    (log,), (rankings,) = days.next_day(tmp_path)
    done = refresh(workspace, [log], [rankings], promote="always")
    version = current(workspace / ROOT)
    assert version.name == done.candidate != served.name
    assert report_of(version)["settings"] == report_of(served)["settings"]
    assert Index.open(version).about["kept"] == 13


def test_rollback_swaps_the_two_last_versions(
    days: Days, refreshed: tuple[Path, Refreshed], tmp_path: Path
) -> None:
    workspace = shutil.copytree(refreshed[0], tmp_path / "workspace")
    first, second = current(days.workspace / ROOT).name, refreshed[1].candidate
    assert roll_back(workspace) == (first, second)
    assert current(workspace / ROOT).name == first
    done = refresh(workspace, *days.next_day(tmp_path, FIRST + 1))
    assert done.counts["copied lists"] == 0  # what is served was not made from the workspace as it is
    shutil.rmtree(workspace / ROOT / first)
    (workspace / ROOT / "previous").unlink(missing_ok=True)
    with pytest.raises(WorkspaceError, match="no version that was served before"):
        roll_back(workspace)


def test_a_log_is_added_once(days: Days, refreshed: tuple[Path, Refreshed], tmp_path: Path) -> None:
    workspace = shutil.copytree(refreshed[0], tmp_path / "workspace")
    files, before = days.next_day(tmp_path), hashes(workspace)
    done = refresh(workspace, *files)
    assert not done.decision.promoted
    assert done.lines[0].startswith("Nothing is new")
    assert hashes(workspace) == before
    rows = pq.read_table(files[0][0])
    pq.write_table(rows.slice(0, 100), tmp_path / "part.parquet")
    with pytest.raises(LogError, match="all 100 searches are in the workspace's log already"):
        refresh(workspace, [tmp_path / "part.parquet"])


def test_a_full_run_is_due_after_many_refreshes(refreshed: tuple[Path, Refreshed]) -> None:
    assert refreshed[1].full_run_due == ""
    log = {"searches": 100, "added searches": 30, "refreshes": 3}
    assert full_run_due(log, Config(refresh=RefreshConfig(full_after=3))).startswith("3 refreshes")
    assert full_run_due(log, Config(refresh=RefreshConfig(full_share=0.3))).startswith("30%")


# --- trouble


def test_a_refreshed_workspace_is_evaluated_on_what_it_held_out(
    refreshed: tuple[Path, Refreshed], tmp_path: Path
) -> None:
    workspace = shutil.copytree(refreshed[0], tmp_path / "workspace")
    found = evaluate(Workspace.open(workspace), SILENT)
    held_out = [row for row in searches(workspace, "split") if row["split"] == "test"]
    assert found.report("estimates")["test searches"] == len(held_out)


def test_two_refreshes_at_once_are_refused(days: Days, workspace: Path, tmp_path: Path) -> None:
    with building(workspace, SILENT), pytest.raises(WorkspaceError, match="Another run is writing"):
        refresh(workspace, *days.next_day(tmp_path))


def test_other_context_columns_are_refused(days: Days, workspace: Path, tmp_path: Path) -> None:
    rows = days.between(FIRST, FIRST + 1)
    pq.write_table(
        rows.append_column("device", pa.array(["phone"] * rows.num_rows)), tmp_path / "log.parquet"
    )
    with pytest.raises(LogError, match="has the context columns device; the workspace's log has none"):
        refresh(workspace, [tmp_path / "log.parquet"])


def test_lists_shown_need_a_workspace_that_was_made_with_them(
    days: Days, workspace: Path, tmp_path: Path
) -> None:
    (log,), _ = days.next_day(tmp_path)
    with pytest.raises(ConfigError, match="made without lists shown"):
        refresh(workspace, [log], completions=log)


def test_a_log_without_ids_gets_its_own(days: Days, workspace: Path, tmp_path: Path) -> None:
    rows = days.between(FIRST, FIRST + 1).drop_columns(["search_id"])
    pq.write_table(rows, tmp_path / "log.parquet")
    done = refresh(workspace, [tmp_path / "log.parquet"], promote="always")
    assert done.counts["new searches"] == rows.num_rows
    ids = tables.read(folders(workspace)["log"], "searches", "search_id")["search_id"].to_pylist()
    assert len(set(ids)) == len(ids) == days.between(0, FIRST).num_rows + rows.num_rows


def test_a_day_without_a_click_is_added(days: Days, workspace: Path, tmp_path: Path) -> None:
    rows = days.between(FIRST, FIRST + 1)
    quiet = rows.filter(pc.is_null(rows["document"])).slice(0, 40)
    pq.write_table(quiet, tmp_path / "log.parquet")
    before = tables.read(folders(workspace)["log"], "searches", "search").num_rows
    done = refresh(workspace, [tmp_path / "log.parquet"], promote="always")
    assert (done.counts["new searches"], done.counts["new clicks"]) == (quiet.num_rows, 0)
    after = tables.read(folders(workspace)["log"], "searches", "search").num_rows
    assert after == before + quiet.num_rows
