"""`wayword reproduce` as people call it: killed and called again, on the paper's own format, and with wrong options."""

import json
import signal
from itertools import product
from pathlib import Path

import pytest

from commands import Command, wayword

SMALL = ["--world", "packages", "--quick", "--clicks", "1500", "--only", "core"]


def written(out: Path) -> dict[str, bytes]:
    """Every table and figure but that of the clock."""
    files = [*(out / "tables").iterdir(), *(out / "figures").iterdir()]
    return {file.name: file.read_bytes() for file in files if not file.name.startswith("time")}


@pytest.mark.slow
def test_killed_at_any_stage_it_goes_on_from_there_to_the_same_report(tmp_path: Path) -> None:
    undisturbed = wayword("reproduce", *SMALL, "--out", tmp_path / "undisturbed")
    assert undisturbed.code == 0, undisturbed.err
    out = tmp_path / "killed"
    artefacts = out / "workspace" / "packages-1500-quick-seed-0" / "artefacts"
    for stage in ("rankings", "retriever", "examples", "ranker_unbiased"):
        command = Command("reproduce", *SMALL, "--out", out)
        command.wait_until(lambda stage=stage: any(artefacts.glob(f".unfinished-*-{stage}-*")))  # type: ignore[misc]
        command.signal(signal.SIGKILL)
        assert command.finished().code == -signal.SIGKILL, stage
        assert not (out / "report.html").exists()
    finished = wayword("reproduce", *SMALL, "--out", out)
    assert finished.code == 0, finished.err
    assert "retriever: unchanged" in finished.err
    assert written(out) == written(tmp_path / "undisturbed")


def write_xmc(folder: Path) -> Path:
    """Sixty titles of three words with labels that share their words, as LF-AmazonTitles-1.3M has them."""
    things, kinds, uses = (
        ("chair", "table", "lamp", "hose", "tent"),
        ("red", "folding", "small"),
        ("garden", "desk", "car", "boat"),
    )
    titles = [" ".join(words) for words in product(kinds, things, uses)]
    labels = [f"{kind} {thing}" for kind, thing in product(kinds, things)]
    targets = [[i for i, label in enumerate(labels) if label.split()[1] in title] for title in titles]
    folder.mkdir()
    (folder / "lbl.json").write_text(
        "".join(json.dumps({"uid": f"B{i}", "title": label}) + "\n" for i, label in enumerate(labels))
    )
    lines = [{"uid": f"A{i}", "title": t, "target_ind": targets[i]} for i, t in enumerate(titles)]
    lines.append({"uid": "empty", "title": "", "target_ind": [0]})
    (folder / "trn.json").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return folder


def test_the_papers_own_format_and_what_changes_with_its_files(tmp_path: Path) -> None:
    data, out = write_xmc(tmp_path / "xmc"), tmp_path / "out"
    arguments = [
        "reproduce",
        "--world",
        f"xmc:{data}",
        "--quick",
        "--clicks",
        2000,
        "--only",
        "core",
        "--only",
        "paper",
    ]
    first = wayword(*arguments, "--out", out)
    assert first.code == 0, first.err
    assert "PECOS trained on the queries themselves" in (out / "report.md").read_text(encoding="utf-8")
    again = wayword(*arguments, "--out", out)
    assert "world: unchanged" in again.err
    lines = (data / "trn.json").read_text().splitlines(keepends=True)
    (data / "trn.json").write_text("".join(lines[:-1]))
    changed = wayword(*arguments, "--out", out)
    assert changed.code == 0, changed.err
    assert "world: unchanged" not in changed.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--only", "cores"], "Did you mean 'core'?"),
        (["--world", "debain"], "Did you mean 'debian'?"),
        (["--world", "xmc:nowhere"], "nowhere"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line(tmp_path: Path, arguments: list[str], said: str) -> None:
    finished = wayword("reproduce", *arguments, "--quick", "--out", tmp_path / "out")
    assert finished.code == 2
    assert said in finished.err
    assert "Traceback" not in finished.err
    assert not (tmp_path / "out").exists()


def test_a_log_too_short_to_tell_anything_is_said_in_one_line(tmp_path: Path) -> None:
    arguments = ["reproduce", "--world", "packages", "--quick", "--clicks", "5", "--only", "core"]
    finished = wayword(*arguments, "--out", tmp_path / "out")
    assert finished.code == 2
    assert "Traceback" not in finished.err
    assert "Warning" not in finished.err


def test_an_out_that_is_a_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    finished = wayword("reproduce", "--quick", "--out", tmp_path / "file")
    assert finished.code == 2
    assert "is a file; expected a folder for the report" in finished.err
    assert (tmp_path / "file").read_text() == "mine"
