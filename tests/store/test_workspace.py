"""A workspace is a folder with known files. Break each of them on purpose and expect to be told."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from commands import wayword
from runs import Made, hashes
from wayword.errors import WorkspaceError
from wayword.pipeline import load_policies
from wayword.progress import Progress
from wayword.report.estimates import estimates_of
from wayword.serving.policy_completer import PolicyCompleter
from wayword.store.artefact import damage
from wayword.store.stage import Folders, Stage
from wayword.store.workspace import FORMAT, Workspace, building


def _flip(file: Path, place: float = 0.5) -> None:
    content = bytearray(file.read_bytes())
    content[min(int(place * len(content)), len(content) - 1)] ^= 0xFF
    file.write_bytes(content)


def _artefact_files(workspace: Path) -> list[Path]:
    return [file for file in sorted((workspace / "artefacts").rglob("*")) if file.is_file()]


HARM: dict[str, Callable[[Path], Any]] = {
    "deleted": Path.unlink,
    "emptied": lambda file: file.write_bytes(b""),
    "cut short": lambda file: file.write_bytes(file.read_bytes()[:-2]),
    "grown": lambda file: file.write_bytes(file.read_bytes() + b"\0"),
}


@pytest.mark.parametrize("harm", HARM)
def test_a_file_of_another_size_is_named(harm: str, undisturbed: Made, tmp_path: Path) -> None:
    workspace = undisturbed.copy(tmp_path / "w")
    for file in _artefact_files(workspace):
        whole = file.read_bytes()
        HARM[harm](file)
        with pytest.raises(WorkspaceError) as caught:
            Workspace.open(workspace)
        name = f"{file.relative_to(workspace / 'artefacts')}"
        assert f"is damaged: {name} " in str(caught.value)
        assert "Run `wayword run` again to repair it." in str(caught.value)
        file.write_bytes(whole)
    assert Workspace.open(workspace).manifest["format"] == FORMAT


def test_commands_say_what_is_damaged_and_the_next_run_repairs_it(undisturbed: Made, tmp_path: Path) -> None:
    workspace = undisturbed.copy(tmp_path / "w")
    model = next(workspace.rglob("model.ubj"))
    model.write_bytes(model.read_bytes()[:100])
    for command in (["evaluate", workspace], ["complete", workspace, "video"]):
        told = wayword(*command)
        assert (told.code, told.out) == (2, b"")
        assert "model.ubj has 100 bytes instead of" in told.err
        assert "Traceback" not in told.err
    repaired = wayword(*undisturbed.arguments, workspace)
    assert repaired.code == 0
    assert [line for line in repaired.err.splitlines() if line.endswith("unchanged")] == [
        f"{stage}: unchanged"
        for stage in (
            "check",
            "log",
            "rankings",
            "contexts",
            "propensity",
            "worth",
            "demand",
            "completion",
            "retriever",
            "index",
            "estimates",
        )
    ]
    assert hashes(workspace) == undisturbed.files


def test_the_next_run_notices_a_flipped_byte_in_any_file(undisturbed: Made, tmp_path: Path) -> None:
    workspace = undisturbed.copy(tmp_path / "w")
    for file in _artefact_files(workspace):
        folder = workspace / "artefacts" / file.relative_to(workspace / "artefacts").parts[0]
        whole = file.read_bytes()
        _flip(file)
        assert damage(folder, thorough=True) is not None
        if file.name != "artefact.json":
            assert damage(folder, thorough=False) is None
        file.write_bytes(whole)
    for file in _artefact_files(workspace):
        _flip(file)
    assert wayword(*undisturbed.arguments, workspace).code == 0
    assert hashes(workspace) == undisturbed.files


@pytest.mark.slow
@pytest.mark.parametrize("place", [0.0, 0.01, 0.5, 1.0])
def test_a_flipped_byte_never_ends_in_a_traceback(place: float, undisturbed: Made, tmp_path: Path) -> None:
    workspace = undisturbed.copy(tmp_path / "w")
    served = ("rankings", "demand", "retriever", "ranker", "log")
    for file in _artefact_files(workspace):
        stage = file.relative_to(workspace / "artefacts").parts[0].split("-")[0]
        command = ["complete", workspace, "v"] if stage in served else ["evaluate", workspace]
        whole = file.read_bytes()
        _flip(file, place)
        told = wayword(*command)
        assert told.code in (0, 2), (file, told.err)
        assert "Traceback" not in told.err
        if told.code == 2:
            assert "is damaged: " in told.err, (file, told.err)
        file.write_bytes(whole)


GARBAGE = {
    "empty": b"",
    "not JSON": b"{",
    "not UTF-8": b"\xff\xfe\x00",
    "a list": b"[]",
    "a number": b"7",
    "null": b"null",
    "nested too deeply": b"[" * 100_000,
    "nothing in it": b"{}",
    "format is text": b'{"format": "1", "stages": {}, "settings": {}}',
    "format is infinite": b'{"format": Infinity, "stages": {}, "settings": {}}',
    "format is true": b'{"format": true, "stages": {}, "settings": {}}',
    "format is 0": b'{"format": 0, "stages": {}, "settings": {}}',
    "stages is a list": b'{"format": 1, "stages": [], "settings": {}}',
    "settings is text": b'{"format": 1, "stages": {}, "settings": "x"}',
    "artefact is a number": b'{"format": 1, "stages": {"log": 5}, "settings": {}}',
}


@pytest.mark.parametrize("garbage", GARBAGE)
def test_a_garbage_manifest_is_said_clearly(garbage: str, undisturbed: Made, tmp_path: Path) -> None:
    workspace = undisturbed.copy(tmp_path / "w")
    (workspace / "manifest.json").write_bytes(GARBAGE[garbage])
    with pytest.raises(WorkspaceError, match=r"Cannot read .*manifest\.json: .*Run `wayword run` again"):
        Workspace.open(workspace)
    assert hashes(workspace).keys() == undisturbed.files.keys()


@pytest.mark.parametrize("garbage", ["empty", "nothing in it"])
def test_the_next_run_repairs_a_garbage_manifest_without_work(
    garbage: str, undisturbed: Made, tmp_path: Path
) -> None:
    workspace = undisturbed.copy(tmp_path / "w")
    (workspace / "manifest.json").write_bytes(GARBAGE[garbage])
    for command in (["evaluate", workspace], ["complete", workspace, "v"]):
        assert wayword(*command).code == 2
    repaired = wayword(*undisturbed.arguments, workspace)
    assert repaired.code == 0, repaired.err
    assert hashes(workspace) == undisturbed.files


@pytest.mark.parametrize(
    "name",
    [
        "../../x",
        "/etc",
        "log-../../../../x",
        "log",
        "",
        "..",
        "ranker-0000000000000000",
        "log-0123456789abcdeg",
    ],
)
def test_an_artefact_outside_the_workspace_is_refused(name: str, undisturbed: Made, tmp_path: Path) -> None:
    workspace = undisturbed.copy(tmp_path / "w")
    manifest = json.loads((workspace / "manifest.json").read_text())
    manifest["stages"]["log"] = name
    (workspace / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(WorkspaceError, match="found the artefact"):
        Workspace.open(workspace)


def test_a_stage_name_outside_the_workspace_is_refused(undisturbed: Made, tmp_path: Path) -> None:
    workspace = undisturbed.copy(tmp_path / "w")
    manifest = json.loads((workspace / "manifest.json").read_text())
    manifest["stages"]["../../x"] = "../../x"
    (workspace / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(WorkspaceError, match=r"the artefact '\.\./\.\./x'"):
        Workspace.open(workspace)


def test_a_file_outside_its_artefact_is_refused(undisturbed: Made, tmp_path: Path) -> None:
    workspace = undisturbed.copy(tmp_path / "w")
    receipt = next(workspace.glob("artefacts/log-*/artefact.json"))
    written = json.loads(receipt.read_text())
    written["files"]["../../manifest.json"] = {"bytes": 1, "sha256": "0"}
    receipt.write_text(json.dumps(written))
    with pytest.raises(WorkspaceError, match="cannot be read"):
        Workspace.open(workspace)


@pytest.mark.parametrize(
    "content",
    [
        b"[]",
        b"{}",
        b'{"files": []}',
        b'{"files": {"a": 1}, "report": {}}',
        b'{"files": {"a": {"bytes": "x", "sha256": 1}}, "report": {}}',
        b'{"files": {}, "report": 3}',
    ],
)
def test_a_garbage_receipt_is_damage(content: bytes, undisturbed: Made, tmp_path: Path) -> None:
    workspace = undisturbed.copy(tmp_path / "w")
    next(workspace.glob("artefacts/log-*/artefact.json")).write_bytes(content)
    with pytest.raises(WorkspaceError, match=r"log-\w+/artefact\.json is missing or cannot be read"):
        Workspace.open(workspace)


def test_a_newer_format_is_left_alone(undisturbed: Made, tmp_path: Path) -> None:
    workspace = undisturbed.copy(tmp_path / "w")
    manifest = json.loads((workspace / "manifest.json").read_text())
    newer = manifest | {"format": FORMAT + 1, "wayword": "9.9", "stages": "of another shape"}
    (workspace / "manifest.json").write_text(json.dumps(newer))
    before = hashes(workspace), sorted(p.stat().st_mtime_ns for p in workspace.rglob("*"))
    for command in (
        ["complete", workspace, "v"],
        ["evaluate", workspace],
        [*undisturbed.arguments, workspace],
    ):
        told = wayword(*command)
        assert told.code == 2
        assert f"was written by Wayword 9.9 in format {FORMAT + 1}" in told.err
    assert (hashes(workspace), sorted(p.stat().st_mtime_ns for p in workspace.rglob("*"))) == before


def test_settings_that_do_not_exist_are_said_clearly(undisturbed: Made, tmp_path: Path) -> None:
    workspace = undisturbed.copy(tmp_path / "w")
    manifest = json.loads((workspace / "manifest.json").read_text())
    manifest["settings"] = {"ranker": {"model": "oracle"}}
    (workspace / "manifest.json").write_text(json.dumps(manifest))
    told = wayword("complete", workspace, "v", "--policy", "expected")
    assert (told.code, "Traceback" in told.err) == (2, False)


def test_a_manifest_without_stages_is_said_clearly(undisturbed: Made, tmp_path: Path) -> None:
    workspace = undisturbed.copy(tmp_path / "w")
    manifest = json.loads((workspace / "manifest.json").read_text())
    (workspace / "manifest.json").write_text(json.dumps(manifest | {"stages": {}}))
    with pytest.raises(WorkspaceError, match="has no artefact of the stage 'log'"):
        PolicyCompleter.open(workspace, load_policies)
    with pytest.raises(WorkspaceError, match="has no artefact of the stage 'estimates'"):
        estimates_of(Workspace.open(workspace))


# --- folders that are not ours


def _refused(path: Path) -> str:
    with pytest.raises(WorkspaceError) as caught, building(path, Progress()):
        pass
    return str(caught.value)


def test_somebody_elses_folder_is_not_taken_over(tmp_path: Path) -> None:
    foreign = {
        "notes": ["notes.txt"],
        "a web page's manifest": ["manifest.json", "index.html"],
        "artefacts of another tool": ["artefacts/build/app.js"],
        "both": ["manifest.json", "artefacts/build/app.js"],
    }
    for name, files in foreign.items():
        for file in files:
            (tmp_path / name / file).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name / file).write_text('{"name": "app"}')
        assert "holds other files" in _refused(tmp_path / name)
        left = {str(p.relative_to(tmp_path / name)) for p in (tmp_path / name).rglob("*") if p.is_file()}
        assert left == set(files)


def test_only_artefacts_are_ever_removed(tmp_path: Path) -> None:
    def make(new: Path, _: Folders) -> dict[str, Any]:
        (new / "a").write_text("a")
        return {}

    for inputs in ({"i": 1}, {"i": 2}):
        with building(tmp_path / "w", Progress()) as build:
            build.stage("log", Stage(inputs, make))
            (tmp_path / "w" / "artefacts" / "mine").mkdir(exist_ok=True)
            build.finish({})
    names = sorted(path.name for path in (tmp_path / "w" / "artefacts").iterdir())
    assert len(names) == 2
    assert "mine" in names


@pytest.mark.parametrize("path", ["file", "file/workspace", "file/deeper/workspace"])
def test_a_file_where_a_folder_should_be_is_said_clearly(
    path: str, undisturbed: Made, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("mine")
    told = wayword(*undisturbed.arguments, tmp_path / path)
    assert (told.code, told.out) == (2, b"")
    assert f"{tmp_path / 'file'} is a file; expected a folder" in told.err
    assert (tmp_path / "file").read_text() == "mine"


def test_a_failing_stage_leaves_no_artefact_and_the_damaged_one_in_place(tmp_path: Path) -> None:
    def make(new: Path, _: Folders) -> dict[str, Any]:
        (new / "a").write_text("a")
        return {}

    def fail(new: Path, _: Folders) -> dict[str, Any]:
        (new / "half").write_text("a")
        raise ValueError("no")

    with building(tmp_path / "w", Progress()) as build:
        folder = build.stage("log", Stage({}, make))
        build.finish({})
    _flip(folder / "a")
    with pytest.raises(ValueError, match="no"), building(tmp_path / "w", Progress()) as build:
        build.stage("log", Stage({}, fail))
    assert [path.name for path in (tmp_path / "w" / "artefacts").iterdir()] == [folder.name]


@pytest.mark.parametrize("path", ["nothing", "empty"])
def test_what_is_no_workspace_says_how_to_make_one(path: str, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for command in (["evaluate", tmp_path / path], ["complete", tmp_path / path, "v"]):
        told = wayword(*command)
        assert (told.code, told.out) == (2, b"")
        assert "wayword run --out" in told.err


def test_an_index_is_not_made_from_artefacts_that_are_not_what_was_written(
    undisturbed: Made, tmp_path: Path
) -> None:
    workspace = undisturbed.copy(tmp_path / "w")
    shutil.rmtree(workspace / "index")
    weights = max(workspace.glob("artefacts/demand-*/*.npy"), key=lambda file: file.stat().st_size)
    _flip(weights, 1.0)
    told = wayword("index", workspace)
    assert told.code == 2
    assert f"{weights.name} is not what was written" in told.err
    assert not list((workspace / "index").glob("*[0-9a-f]"))
