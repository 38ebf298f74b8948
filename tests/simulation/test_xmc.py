import gzip
from pathlib import Path

import pytest
from small_worlds import write_xmc

from wayword.errors import WaywordError
from wayword.simulation.world import truth
from wayword.simulation.worlds import xmc
from wayword.simulation.worlds.xmc import read_xmc, xmc_world


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_xmc(tmp_path)


def spoil(path: Path, line: int, text: str) -> None:
    lines = path.read_text().splitlines()
    lines[line - 1] = text
    path.write_text("\n".join(lines) + "\n")


def test_titles_are_queries_and_labels_are_documents(folder: Path) -> None:
    world = xmc_world(folder)
    assert world.queries.to_pylist() == ["folding table", "garden chair", "garden hose 30m", "reel"]
    assert world.documents["document"].to_pylist() == ["B01", "B02", "B03", "B04", "B05"]
    pairs = {(row["query"], row["document"]): row["mass"] for row in truth(world, world.hits()).to_pylist()}
    assert pairs == {
        ("folding table", "B05"): 1 / 4,
        ("garden chair", "B01"): 1 / 4,
        ("garden chair", "B04"): 1 / 4,
        ("garden hose 30m", "B01"): 1 / 4,
        ("garden hose 30m", "B02"): 1 / 4,
        ("garden hose 30m", "B04"): 1 / 4,
        ("reel", "B02"): 1 / 4,
    }


def test_the_most_frequent_labels_are_kept_and_ties_go_to_the_first(folder: Path) -> None:
    assert xmc_world(folder, labels=2).documents["document"].to_pylist() == ["B02", "B01"][::-1]
    assert xmc_world(folder, labels=1).documents["document"].to_pylist() == ["B02"]
    assert xmc_world(folder, labels=1).queries.to_pylist() == ["garden hose 30m", "reel"]


def test_gzipped_files_are_the_same(folder: Path, tmp_path: Path) -> None:
    zipped = tmp_path / "zipped"
    zipped.mkdir()
    for name in ("trn.json", "lbl.json"):
        (zipped / f"{name}.gz").write_bytes(gzip.compress((folder / name).read_bytes()))
    assert read_xmc(zipped) == read_xmc(folder)


def test_lines_without_a_title_are_skipped_and_counted(folder: Path) -> None:
    spoil(folder / "trn.json", 5, '{"title": null, "target_ind": [4]}')
    assert read_xmc(folder).untitled == 2
    assert xmc_world(folder).notes == ("Skipped 2 lines of trn.json without a title.",)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{broken", r"trn.json, line 3: not a line of JSON"),
        ("", r"trn.json, line 3: not a line of JSON"),
        ("[1]", r"trn.json, line 3: expected an object with title, target_ind"),
        ('{"title": "x"}', r"trn.json, line 3: expected an object with title, target_ind"),
        ('{"title": 5, "target_ind": []}', r"trn.json, line 3: a title is text, not 5"),
        (
            '{"title": "x", "target_ind": [0, 5]}',
            r"trn.json, line 3: label 5 is not among the 5 lines of lbl.json",
        ),
        ('{"title": "x", "target_ind": [-1]}', r"trn.json, line 3: label -1 is not among"),
        (
            '{"title": "x", "target_ind": ["0"]}',
            r"trn.json, line 3: target_ind must be a list of label numbers",
        ),
    ],
)
def test_a_bad_line_is_named(folder: Path, line: str, message: str) -> None:
    spoil(folder / "trn.json", 3, line)
    with pytest.raises(WaywordError, match=message):
        xmc_world(folder)


def test_a_broken_label_is_named(folder: Path) -> None:
    spoil(folder / "lbl.json", 2, '{"uid": "B02", "title"')
    with pytest.raises(WaywordError, match=r"lbl.json, line 2: not a line of JSON"):
        xmc_world(folder)


def test_two_labels_with_one_uid_are_named(folder: Path) -> None:
    spoil(folder / "lbl.json", 2, '{"uid": "B01", "title": "again"}')
    with pytest.raises(WaywordError, match=r"lbl.json: uid 'B01' stands in 2 lines"):
        xmc_world(folder)


def test_a_cut_off_archive_is_an_error_that_names_it(folder: Path) -> None:
    whole = gzip.compress((folder / "trn.json").read_bytes())
    (folder / "trn.json.gz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(WaywordError, match=r"trn.json.gz, line \d+"):
        xmc_world(folder)


def test_bytes_that_are_no_text_are_an_error(folder: Path) -> None:
    (folder / "trn.json").write_bytes(b'{"title": "\xff", "target_ind": []}\n')
    with pytest.raises(WaywordError, match=r"trn.json, line 1"):
        xmc_world(folder)


def test_half_a_character_does_not_break(folder: Path) -> None:
    spoil(folder / "lbl.json", 1, r'{"uid": "B01", "title": "hose \ud83d"}')
    spoil(folder / "trn.json", 1, r'{"title": "hose \ud83d 30m", "target_ind": [0]}')
    assert "hose 30m" in xmc_world(folder).queries.to_pylist()


def test_nothing_to_search_for_is_an_error(folder: Path) -> None:
    (folder / "trn.json").write_text('{"title": "x", "target_ind": []}\n')
    with pytest.raises(WaywordError, match="nothing to search for"):
        xmc_world(folder)


def test_a_line_without_end_is_an_error(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xmc, "LONGEST_LINE", 1000)
    (folder / "trn.json.gz").write_bytes(gzip.compress(b'{"title": "' + b"x" * 2000))
    with pytest.raises(WaywordError, match=r"trn.json.gz, line 1: longer than 1,000 characters"):
        xmc_world(folder)
