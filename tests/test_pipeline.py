"""A run does what has changed and nothing else, and leaves a usable workspace whenever and however it ends."""

import json
import os
import random
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from msgspec.structs import replace

from commands import Command, wayword
from runs import Made, hashes
from wayword import pipeline
from wayword.check import stage as check
from wayword.completion import stage as completion
from wayword.config import COMPARED, Config, RunConfig
from wayword.demand import stage as demand
from wayword.engines.duck import DuckDB
from wayword.errors import ConfigError, WorkspaceError
from wayword.evaluation import log_worth
from wayword.evaluation import stage as estimates
from wayword.index import build as index
from wayword.index.versions import ROOT, current
from wayword.logs import contexts_stage as contexts
from wayword.logs import stage as log
from wayword.paper import pecos_model
from wayword.paper import ranker_stage as ranker
from wayword.paper import retriever_stage as retriever
from wayword.pipeline import load_policies, with_paper
from wayword.plan import Inputs
from wayword.progress import Progress
from wayword.propensity import stage as propensity
from wayword.rankings import availability
from wayword.rankings import stage as rankings
from wayword.serving.completer import Completer
from wayword.serving.policy_completer import PolicyCompleter
from wayword.store import disk
from wayword.store.stage import Folders, Stage
from wayword.store.workspace import Workspace, building

CHECK = "check"
STAGES = (
    "log",
    "rankings",
    "contexts",
    "propensity",
    "worth",
    "demand",
    "completion",
    "retriever",
    "ranker",
    "index",
    "estimates",
)
LEARNED = STAGES[5:]
SETTINGS = Path(__file__).parent / "settings"
"""Files that settings name."""
PREFIXES = ["", "v", "video", "mail cl", "no such thing"]

RERUN: dict[str, tuple[Any, tuple[str, ...]]] = {
    "log.retriever_share": (0.55, (CHECK, *STAGES)),
    "log.ranker_share": (0.25, (CHECK, *STAGES)),
    "check.wrong": (0.3, (CHECK,)),
    "check.some": (0.03, (CHECK,)),
    "check.deepest": (1000, (CHECK,)),
    "check.same_rank": (0.9, (CHECK,)),
    "check.searches_per_minute": (60, (CHECK,)),
    "check.searches_per_hour": (300, (CHECK,)),
    "check.searches_per_day": (0, (CHECK,)),
    "check.user_share": (0.1, (CHECK,)),
    "check.few_test": (50, (CHECK,)),
    "check.enough_test": (500, (CHECK,)),
    "check.future_hours": (48, (CHECK,)),
    "check.oldest_year": (2000, (CHECK,)),
    "rankings.on_mismatch": ("drop", STAGES[1:]),
    "rankings.max_unexplained": (0.5, (CHECK, *STAGES[1:])),
    "prefixes.start": ("first-word", ("contexts", *LEARNED)),
    "prefixes.min_chars": (2, ("contexts", *LEARNED)),
    "prefixes.passes": (2, ("contexts", *LEARNED)),
    "prefixes.seed": (1, ("contexts", *LEARNED)),
    "propensity.alpha": (0.5, ("propensity", "worth", *LEARNED)),
    "demand.seed": (1, ("demand", "completion", "index", "estimates")),
    "completion.keystroke_value": (0.5, ("completion", "index", "estimates")),
    "completion.acceptance": (str(SETTINGS / "acceptance.json"), ("completion", "index", "estimates")),
    "completion.variants": (str(SETTINGS / "variants.csv"), ("completion", "index", "estimates")),
    "retriever.max_leaf": (50, ("retriever", "ranker", "estimates")),
    "retriever.max_instances": (50, ("retriever", "ranker", "estimates")),
    "retriever.seed": (1, ("retriever", "ranker", "estimates")),
    "retriever.candidates": (5, ("ranker", "estimates")),
    "retriever.beam": (5, ("ranker", "estimates")),
    "utility.variant": ("biased", ("ranker", "estimates")),
    "utility.max_ratio": (10.0, ("ranker", "estimates")),
    "utility.max_weight": (10.0, ("ranker", "estimates")),
    "utility.judgments": ("mrr", ()),
    "features.dimensions": (3, ("ranker", "estimates")),
    "features.seed": (1, ("ranker", "estimates")),
    "ranker.model": ("linear", ("ranker", "estimates")),
    "ranker.depth": (2, ("ranker", "estimates")),
    "ranker.rounds": (5, ("ranker", "estimates")),
    "ranker.patience": (2, ("ranker", "estimates")),
    "ranker.share": (0.5, ("ranker", "estimates")),
    "ranker.max_contexts": (200, ("ranker", "estimates")),
    "ranker.seed": (1, ("ranker", "estimates")),
    "evaluation.compare": (("popular", "unbiased"), ("estimates",)),
    "evaluation.sessions": (20, ("estimates",)),
    "evaluation.searches": (100, ("estimates",)),
    "evaluation.bootstrap": (20, ("estimates",)),
    "evaluation.level": (0.9, ("estimates",)),
    "evaluation.max_ratio": (10.0, ("estimates",)),
    "evaluation.max_weight": (10.0, ("estimates",)),
    "evaluation.seed": (1, ("estimates",)),
    "index.policy": ("expected", ("index", "estimates")),
    "index.kept": (11, ("index", "estimates")),
    "index.withhold": ("email", ("index", "estimates")),
    "index.min_users": (2, ("index", "estimates")),
    "index.min_searches": (3, ("index", "estimates")),
    "index.min_results": (4, ("index", "estimates")),
    "index.block": (str(Path(__file__).parents[1] / "Makefile"), ("index", "estimates")),
    "index.versions": (2, ()),
    "run.memory": ("2GB", ()),
}


class Recorder(Progress):
    """Remembers which stages did any work."""

    def __init__(self) -> None:
        self.made: list[str] = []
        self.notes: list[str] = []

    def finish(self, made: list[str]) -> None:
        """See `Progress.finish`."""
        self.made = made

    def note(self, text: str) -> None:
        """See `Progress.note`."""
        self.notes.append(text)


def _changed(config: Config, setting: str, value: Any) -> Config:
    table, name = setting.split(".")
    return replace(config, **{table: replace(getattr(config, table), **{name: value})})


def _run(world: Path, out: Path, config: Config) -> list[str]:
    recorder = Recorder()
    pipeline.run(
        world / "clicks.parquet", world / "rankings.parquet", out=out, config=config, reporter=recorder
    )
    return recorder.made


@pytest.fixture
def hollow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stages that write one empty file each: what reruns does not depend on what they write."""

    def write(out: Path, *_: Any, **__: Any) -> dict[str, Any]:
        (out / "empty").touch()
        return {}

    for module in (
        check,
        log,
        rankings,
        contexts,
        propensity,
        demand,
        completion,
        retriever,
        ranker,
        estimates,
        log_worth,
        availability,
    ):
        monkeypatch.setattr(module, "write", write)
    monkeypatch.setattr(index, "_write", write)


@pytest.mark.usefixtures("hollow")
@pytest.mark.parametrize("setting", RERUN)
def test_a_changed_setting_reruns_the_stages_that_depend_on_it_and_no_other(
    setting: str, world: Path, tmp_path: Path
) -> None:
    value, expected = RERUN[setting]
    base = Config.parse({"retriever": {"model": "popular"}, "evaluation": {"compare": COMPARED}})
    assert _run(world, tmp_path / "w", base) == [CHECK, *STAGES]
    assert _run(world, tmp_path / "w", base) == []
    assert _run(world, tmp_path / "w", _changed(base, setting, value)) == list(expected)


FILES: dict[str, tuple[str, ...]] = {
    "log": (CHECK, *STAGES),
    "rankings": (CHECK, *STAGES[1:]),
    "documents": STAGES[1:],
    "truth": ("estimates",),
    "acceptance": ("completion", "index", "estimates"),
    "variants": ("completion", "index", "estimates"),
}
"""Input → the stages that run again when its content changes."""


@pytest.mark.usefixtures("hollow")
@pytest.mark.parametrize("changed", FILES)
def test_a_changed_file_reruns_the_stages_that_depend_on_it_and_no_other(
    changed: str, tmp_path: Path
) -> None:
    files = {name: tmp_path / f"{name}.csv" for name in FILES}
    for file in files.values():
        file.write_text("a\n")
    recorder = Recorder()

    def expected(*stages: str) -> list[str]:
        """What is available is looked up where documents are given."""
        after = ["availability"] if "documents" in files else []
        return [made for stage in stages for made in (stage, *(after if stage == "rankings" else []))]

    def made() -> list[str]:
        named = {name: str(files[name]) for name in ("acceptance", "variants") if name in files}
        tables = {"retriever": {"model": "popular"}, "evaluation": {"compare": COMPARED}, "completion": named}
        pipeline.run(
            files["log"],
            files["rankings"],
            documents=files.get("documents"),
            truth=files.get("truth"),
            out=tmp_path / "w",
            config=Config.parse(tables),
            reporter=recorder,
        )
        return recorder.made

    assert made() == [CHECK, *expected(*STAGES)]
    assert made() == []
    files[changed].write_text("b\n")
    assert made() == expected(*FILES[changed])
    files.pop(changed)
    if changed not in ("log", "rankings"):
        assert made() == expected(*FILES[changed])


def test_another_log_gives_what_it_gives_in_a_new_folder(
    world: Path, undisturbed: Made, tmp_path: Path
) -> None:
    config = Config.load(undisturbed.path.parent / "wayword.toml")
    shutil.copytree(world, tmp_path / "data")
    logged = pq.read_table(world / "clicks.parquet")
    pq.write_table(logged.slice(0, logged.num_rows // 2), tmp_path / "data" / "clicks.parquet")
    _run(tmp_path / "data", undisturbed.copy(tmp_path / "reused"), config)
    _run(tmp_path / "data", tmp_path / "fresh", config)
    assert hashes(tmp_path / "reused") == hashes(tmp_path / "fresh") != undisturbed.files


@pytest.mark.usefixtures("hollow")
def test_the_table_above_names_every_setting_that_this_install_can_change() -> None:
    known = {f"{table}.{name}" for table, values in Config().saved().items() for name in values}
    elsewhere = {"log.split", "rankings.ranker", "rankings.depth", "retriever.model", "features.encoder"}
    elsewhere |= {
        f"propensity.{name}" for name in ("source", "file", "period")
    }  # propensity/test_propensity_source.py
    elsewhere |= {
        f"refresh.{name}" for name in ("held_out", "full_after", "full_share")
    }  # refresh/test_refresh.py
    elsewhere |= {
        "log.half_life_days",
        "rankings.propose",
    }  # test_recency.py, rankings/test_proposed_queries.py
    assert known - elsewhere <= set(RERUN)


@pytest.mark.slow
@pytest.mark.parametrize("setting", [s for s, (_, stages) in RERUN.items() if stages != STAGES])
def test_what_is_reused_is_what_would_have_been_made(
    setting: str, world: Path, undisturbed: Made, tmp_path: Path
) -> None:
    base = Config.load(undisturbed.path.parent / "wayword.toml")
    changed = _changed(base, setting, RERUN[setting][0])
    _run(world, undisturbed.copy(tmp_path / "reused"), changed)
    _run(world, tmp_path / "fresh", changed)
    assert hashes(tmp_path / "reused") == hashes(tmp_path / "fresh")


@pytest.mark.parametrize("name", [name for name in STAGES if name != "index"])
def test_a_stage_reads_the_artefacts_that_it_declares_and_no_other(
    name: str, world: Path, undisturbed: Made, tmp_path: Path
) -> None:
    config = Config.load(undisturbed.path.parent / "wayword.toml")
    inputs = Inputs.at(world / "clicks.parquet", world / "rankings.parquet")
    workspace = Workspace.open(undisturbed.path)
    stage = pipeline.stages(config, inputs, Progress(), served=current(workspace.path / ROOT))[name]
    at = {earlier: shutil.copytree(workspace.folder(earlier), tmp_path / earlier) for earlier in stage.after}
    made = tmp_path / "made"
    made.mkdir()
    stage.make(made, at)
    assert {file.relative_to(made): file.read_bytes() for file in made.rglob("*") if file.is_file()} == {
        file.relative_to(workspace.folder(name)): file.read_bytes()
        for file in workspace.folder(name).rglob("*")
        if file.is_file() and file.name != "artefact.json"
    }


def test_a_second_run_does_no_work_and_says_so(undisturbed: Made, tmp_path: Path) -> None:
    workspace = undisturbed.copy(tmp_path / "w")
    times = {file: file.stat().st_mtime_ns for file in workspace.rglob("*") if file.name != ".lock"}
    again = wayword(*undisturbed.arguments, workspace)
    assert again.code == 0
    assert again.out == b""
    assert "Nothing has changed since the last run: no work was done." in again.err.splitlines()
    assert {file: file.stat().st_mtime_ns for file in times} == times


def test_two_folders_get_equal_bytes(undisturbed: Made, world: Path, tmp_path: Path) -> None:
    inputs = shutil.copytree(world, tmp_path / "elsewhere" / "data")
    config = Config.load(undisturbed.path.parent / "wayword.toml")
    _run(inputs, tmp_path / "a longer name" / "w", config)
    assert hashes(tmp_path / "a longer name" / "w") == undisturbed.files


# --- killed, interrupted, twice at once


def _answers(workspace: Path) -> list[Any]:
    return PolicyCompleter.open(workspace, load_policies).complete_many(PREFIXES, 5)


@cache
def _answers_of(made: Path) -> list[Any]:
    return _answers(made)


def test_a_bound_on_memory_changes_no_result(undisturbed: Made, world: Path, tmp_path: Path) -> None:
    """With 32 MB features are made in several blocks, and wait on disk."""
    config = Config.load(undisturbed.path.parent / "wayword.toml")
    _run(world, tmp_path / "w", replace(config, run=RunConfig(memory="32MB")))
    made = hashes(tmp_path / "w")
    del made["manifest.json"]  # which has the setting
    assert made == {file: tag for file, tag in undisturbed.files.items() if file in made}
    assert not list((tmp_path / "w").rglob("features-*"))


def test_a_memory_of_no_size_is_refused(world: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"Found memory = 'plenty'; expected so many bytes, such as 2GB"):
        pipeline.run(
            world / "clicks.parquet", world / "rankings.parquet", out=tmp_path / "w", memory="plenty"
        )


def _kill_and_check(delay: float, earlier: Made, undisturbed: Made, folder: Path) -> None:
    """A run over an earlier result, killed: the earlier one answers as before, and the next run finishes the new."""
    workspace = earlier.copy(folder)
    running = Command(*undisturbed.arguments, workspace)
    time.sleep(delay)
    running.signal(signal.SIGKILL)
    code = running.finished().code
    before = json.loads((earlier.path / "manifest.json").read_text())["stages"]
    swapped = Workspace.open(workspace).manifest["stages"] != before
    assert _answers(workspace) == _answers_of((undisturbed if swapped else earlier).path), (delay, code)
    again = wayword(*undisturbed.arguments, workspace)
    assert again.code == 0, again.err
    assert hashes(workspace) == undisturbed.files, delay
    shutil.rmtree(workspace)


@pytest.mark.slow
def test_a_killed_run_leaves_the_earlier_result_and_the_next_one_finishes(
    earlier: Made, undisturbed: Made, tmp_path: Path
) -> None:
    for i in range(8):
        delay = undisturbed.seconds * (i + random.Random(i).random()) / 8
        _kill_and_check(delay, earlier, undisturbed, tmp_path / str(i))


@pytest.mark.slow
def test_a_run_killed_at_many_more_moments(earlier: Made, undisturbed: Made, tmp_path: Path) -> None:
    moments = random.Random(0)
    for i in range(30):
        delay = moments.uniform(0.0, 1.1) * undisturbed.seconds
        _kill_and_check(delay, earlier, undisturbed, tmp_path / str(i))


@pytest.mark.slow
def test_a_first_run_killed_again_and_again_gets_there(undisturbed: Made, tmp_path: Path) -> None:
    workspace = tmp_path / "w"
    for i in range(6):
        running = Command(*undisturbed.arguments, workspace)
        time.sleep(undisturbed.seconds * (i + 1) / 8)
        running.signal(signal.SIGKILL)
        running.finished()
        if not (workspace / "manifest.json").exists():
            with pytest.raises(WorkspaceError, match=r"unfinished|There is no workspace|not a Wayword"):
                Workspace.open(workspace)
    assert wayword(*undisturbed.arguments, workspace).code == 0
    assert hashes(workspace) == undisturbed.files
    assert not [path for path in workspace.rglob("*") if "unfinished" in path.name or ".new" in path.name]


@pytest.mark.slow
@pytest.mark.parametrize("stage", ["log", "rankings", "ranker"])
def test_ctrl_c_leaves_no_half_artefact(stage: str, undisturbed: Made, tmp_path: Path) -> None:
    workspace = tmp_path / "w"
    artefacts = workspace / "artefacts"
    running = Command(*undisturbed.arguments, workspace)
    running.wait_until(lambda: any(artefacts.glob(f".unfinished-*-{stage}-*")))
    running.signal(signal.SIGINT)
    finished = running.finished()
    assert finished.code == 130, finished.err
    assert "Traceback" not in finished.err
    assert finished.err.splitlines()[-1] == "error: Interrupted. What was finished is kept."
    assert not list(artefacts.glob(".unfinished-*"))
    assert wayword(*undisturbed.arguments, workspace).code == 0
    assert hashes(workspace) == undisturbed.files


def test_a_second_run_at_the_same_time_refuses(undisturbed: Made, tmp_path: Path) -> None:
    workspace = tmp_path / "w"
    first = Command(*undisturbed.arguments, workspace)
    first.wait_until(lambda: any((workspace / "artefacts").glob(".unfinished-*")))
    first.signal(signal.SIGSTOP)
    try:
        second = wayword(*undisturbed.arguments, workspace)
    finally:
        first.signal(signal.SIGCONT)
    assert second.code == 2
    assert second.err.startswith("error: Another run is writing")
    assert first.finished().code == 0
    assert hashes(workspace) == undisturbed.files


# --- disks that say no


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """24 MB of their own."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", str(disk)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("mounting a small disk needs root")
    yield disk
    subprocess.run(["umount", "--lazy", str(disk)], check=True)


def _leave(folder: Path, room: int) -> Path:
    """Fill a disk but for `room` bytes."""
    ballast = folder / "ballast"
    ballast.unlink(missing_ok=True)
    free = os.statvfs(folder).f_bavail * os.statvfs(folder).f_frsize
    ballast.write_bytes(bytes(free - room))
    return ballast


def _fill_and_check(shares: list[float], earlier: Made, undisturbed: Made, small_disk: Path) -> None:
    """Leave room for a share of what a run writes before it removes what was there."""
    size = sum(file.stat().st_size for file in (undisturbed.path / "artefacts").rglob("*") if file.is_file())
    for room in (int(size * share) for share in shares):
        workspace = earlier.copy(small_disk / "w")
        ballast = _leave(small_disk, room)
        full = wayword(*undisturbed.arguments, workspace)
        assert full.code == 2, (room, full.err)
        assert "The disk is full" in full.err
        assert "Traceback" not in full.err
        assert {k: v for k, v in hashes(workspace).items() if k in earlier.files} == earlier.files
        assert _answers(workspace) == _answers_of(earlier.path)
        ballast.unlink()
        again = wayword(*undisturbed.arguments, workspace)
        assert again.code == 0, (room, again.err)
        assert hashes(workspace) == undisturbed.files, room
        shutil.rmtree(workspace)


@pytest.mark.slow
def test_a_full_disk_costs_nothing_but_the_run(earlier: Made, undisturbed: Made, small_disk: Path) -> None:
    _fill_and_check([0.0, 0.1, 0.8], earlier, undisturbed, small_disk)


@pytest.mark.parametrize("share", [0.0, 0.5])
def test_an_index_that_has_no_room_leaves_the_one_that_is_served(
    share: float, undisturbed: Made, small_disk: Path, tmp_path: Path
) -> None:
    workspace = undisturbed.copy(small_disk / "w")
    before = Completer.open(workspace).complete("vi")
    settings = tmp_path / "other.toml"
    settings.write_text("[index]\nkept = 14\n")
    size = sum(file.stat().st_size for file in (undisturbed.path / "index").rglob("*") if file.is_file())
    ballast = _leave(small_disk, int(size * share))
    full = wayword("index", workspace, "--config", settings)
    assert full.code == 2, full.err
    assert "The disk is full" in full.err
    assert Completer.open(workspace).complete("vi") == before
    ballast.unlink()
    assert wayword("index", workspace, "--config", settings).code == 0
    assert Completer.open(workspace).complete("vi") == before
    left = [path.name for path in (workspace / "index").iterdir() if not path.name.startswith(".verified-")]
    assert len(left) == 6, (
        left
    )  # two versions, pointers to the current and the previous one, lock, evaluation


@pytest.mark.slow
def test_a_disk_that_fills_up_at_many_moments(earlier: Made, undisturbed: Made, small_disk: Path) -> None:
    _fill_and_check([place / 17 for place in range(17)], earlier, undisturbed, small_disk)


def _spill(folder: Path) -> None:
    engine = DuckDB(threads=1, spill=folder)
    try:
        engine._execute("SET memory_limit = '20MB'", {})
        engine.step("big", "SELECT md5(CAST(i AS VARCHAR)) AS b FROM range(1000000) AS r(i) ORDER BY b")
    finally:
        engine.close()


def _boosted(folder: Path) -> None:
    import xgboost

    features = np.random.default_rng(0).random((500, 4))
    booster = xgboost.train({}, xgboost.DMatrix(features, features[:, 0]), 50)
    booster.save_model(folder / "model.ubj")


@pytest.mark.parametrize(
    "write",
    [
        lambda folder: (folder / "text").write_text("x" * 100_000),
        lambda folder: np.save(folder / "a.npy", np.arange(100_000)),
        lambda folder: pq.write_table(pa.table({"a": np.random.rand(100_000)}), folder / "a.parquet"),
        _spill,
        _boosted,
    ],
    ids=["python", "numpy", "arrow", "duckdb", "xgboost"],
)
def test_every_library_that_meets_a_full_disk_gets_the_same_message(write: Any, small_disk: Path) -> None:
    _leave(small_disk, 8192)
    with pytest.raises(Exception) as caught:  # noqa: PT011
        write(small_disk)
    assert str(disk.refusal(caught.value)).startswith("The disk is full")


def test_a_file_cut_short_without_a_word_is_not_taken_for_a_finished_artefact(small_disk: Path) -> None:
    """XGBoost loses the last buffer of a model on a full disk and does not say so."""

    def cut_short(new: Path, _: Folders) -> dict[str, Any]:
        _leave(small_disk, 0)
        (new / "model.ubj").touch()
        return {}

    with (
        pytest.raises(WorkspaceError, match="The disk is full"),
        building(small_disk / "w", Progress()) as build,
    ):
        build.stage("ranker", Stage({}, cut_short))
    assert not list((small_disk / "w" / "artefacts").iterdir())


def test_a_read_only_disk_is_said_clearly(undisturbed: Made, earlier: Made, small_disk: Path) -> None:
    workspace = earlier.copy(small_disk / "w")
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    for out in (workspace, small_disk / "new"):
        refused = wayword(*undisturbed.arguments, out)
        assert refused.code == 2
        assert "No permission" in refused.err
        assert "Read-only file system" in refused.err
        assert "Traceback" not in refused.err
    assert hashes(workspace) == earlier.files
    assert _answers(workspace) == _answers_of(earlier.path)


def test_a_simulation_on_a_full_or_read_only_disk_is_said_clearly(small_disk: Path) -> None:
    ballast = _leave(small_disk, 4096)
    full = wayword("simulate", "packages", "--clicks", "100", "--out", small_disk / "data")
    assert (full.code, full.err.startswith("error: The disk is full")) == (2, True), full.err
    ballast.unlink()
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    refused = wayword("simulate", "packages", "--clicks", "100", "--out", small_disk / "data2")
    assert (refused.code, "No permission" in refused.err) == (2, True)


def test_without_pecos_one_line_says_what_is_done_instead(
    monkeypatch: pytest.MonkeyPatch, world: Path, tmp_path: Path
) -> None:
    monkeypatch.setattr(pecos_model, "available", lambda: False)
    recorder = Recorder()
    config = _changed(with_paper(Config.parse({"ranker": {"rounds": 1}})), "retriever.model", "auto")
    pipeline.run(
        world / "clicks.parquet",
        world / "rankings.parquet",
        out=tmp_path / "w",
        config=config,
        reporter=recorder,
    )
    assert [note for note in recorder.notes if "PECOS" in note] == [
        "PECOS is not installed: candidates are the most popular completions. `pip install '.[pecos]'` adds it."
    ]
