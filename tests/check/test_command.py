"""The command, its exit codes, and `run`, which checks first."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from faultless import Row, log, rankings, write

from commands import wayword
from wayword.config import Config
from wayword.errors import LogError
from wayword.pipeline import run
from wayword.progress import Progress

QUICK = Config.parse({"evaluation": {"bootstrap": 20, "sessions": 20}})


def files(folder: Path, rows: Sequence[Row]) -> tuple[Path, Path]:
    return write(folder / "log.csv", rows), write(folder / "rankings.csv", rankings())


def from_zero() -> list[Row]:
    return [row | {"rank": row["rank"] - 1} for row in log()]


def test_a_log_without_a_fault_exits_with_0_and_names_the_next_command(tmp_path: Path) -> None:
    given = files(tmp_path, log())
    done = wayword("check", *given)
    assert done.code == 0
    lines = done.out.decode().splitlines()
    assert lines[0].startswith("WARN  60 searches with a click") or lines[0].startswith("WARN  Only")
    assert "PASS  100 % of the clicks have the rank that the rankings give." in lines
    assert "0 FAIL, 1 WARN, 17 PASS." in done.err
    assert f"Next: wayword run --log {given[0]} --rankings {given[1]} --out workspace" in done.err


def test_a_failure_exits_with_1_and_says_what_to_do(tmp_path: Path) -> None:
    given = files(tmp_path, from_zero())
    done = wayword("check", *given)
    assert done.code == 1
    text = done.out.decode()
    assert f"FAIL  {given[0]} counts positions from 0: 120 rows have rank 0. Expected ranks from 1." in text
    assert "        line 2: search_id='s0', query='query 0', document='d0-1', rank='0'" in text
    assert f"      Do: Add 1 to every rank: `wayword import {given[0]} --first-rank 0 --out log`." in text
    assert text.count("FAIL") == 1


def test_json_has_all_findings(tmp_path: Path) -> None:
    done = wayword("check", *files(tmp_path, from_zero()), "--json")
    assert done.code == 1
    found = {one["name"]: one for one in json.loads(done.out)}
    assert (found["first_rank"]["level"], found["first_rank"]["count"]) == ("FAIL", 120)
    assert len(found["first_rank"]["examples"]) == 5
    assert found["rank_agreement"]["level"] == "PASS"


def test_thresholds_come_from_the_settings(tmp_path: Path) -> None:
    (tmp_path / "wayword.toml").write_text("[check]\nfew_test = 1\nenough_test = 1\n")
    done = wayword("check", *files(tmp_path, log()), "--config", tmp_path / "wayword.toml")
    assert (done.code, done.out.decode().count("WARN")) == (0, 0)


@pytest.mark.parametrize("arguments", [["none.csv"], ["log.xlsx"], ["log.csv", "--config", "none.toml"]])
def test_unusable_arguments_exit_with_2(arguments: list[str], tmp_path: Path) -> None:
    files(tmp_path, log())
    (tmp_path / "log.xlsx").write_bytes(b"PK")
    done = wayword("check", *(name if name.startswith("--") else tmp_path / name for name in arguments))
    assert (done.code, done.out) == (2, b"")
    assert done.err.startswith("error: ")


class Notes(Progress):
    """Remembers what is said."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def note(self, text: str) -> None:
        """See `Progress.note`."""
        self.said.append(text)


def moved(share: float) -> list[Row]:
    """The log with other documents at the logged ranks in a share of the rows."""
    rows = log()
    return [row | {"document": "d1-9"} if i < share * len(rows) else row for i, row in enumerate(rows)]


def test_run_stops_on_a_failure_and_force_goes_on(tmp_path: Path) -> None:
    given, out = files(tmp_path, moved(0.5)), tmp_path / "workspace"
    with pytest.raises(LogError, match=r"(?s)FAIL  50 % of the clicks \(300\).*--force"):
        run(*given, out=out, config=QUICK)
    assert not (out / "manifest.json").exists()
    notes = Notes()
    workspace = run(*given, out=out, config=QUICK, force=True, reporter=notes)
    assert workspace.report("rankings")["mismatched clicks"] == 300
    assert sum(one.startswith("check: 50 % of the clicks (300)") for one in notes.said) == 1
    with pytest.raises(LogError, match="300"):  # what was forced once is no permission
        run(*given, out=out, config=QUICK)


def test_run_notes_warnings_once(tmp_path: Path) -> None:
    given, notes = files(tmp_path, moved(0.1)), Notes()
    run(*given, out=tmp_path / "workspace", config=QUICK, reporter=notes)
    assert [one for one in notes.said if one.startswith("check: 10 % of the clicks (60)")]
    again = Notes()
    run(*given, out=tmp_path / "workspace", config=QUICK, reporter=again)
    assert again.said == []


def test_the_command_run_stops_with_2_and_one_click_below_the_rankings_does_not_stop_it(
    tmp_path: Path,
) -> None:
    (tmp_path / "quick.toml").write_text("[evaluation]\nbootstrap = 20\nsessions = 20\n")
    options = ["--out", tmp_path / "workspace", "--config", tmp_path / "quick.toml"]
    bad, ranked = files(tmp_path, from_zero())
    done = wayword("run", "--log", bad, "--rankings", ranked, *options)
    assert (done.code, "counts positions from 0" in done.err) == (2, True)
    rows = log()[:12]
    rows[0] |= {"rank": 5000, "document": "far"}
    rows[1] |= {"rank": 5000, "document": "d2-3"}
    done = wayword("run", "--log", write(tmp_path / "deep.csv", rows), "--rankings", ranked, *options)
    assert done.code == 0, done.err
    assert "2 clicks (17 %) are below the last rank" in done.err
