"""What is left to do: announced once a fit was measured, remembered over runs, and shown as time left."""

import io
import re
from pathlib import Path

import pytest
from rich.console import Console

from wayword.progress import Bars, Progress
from wayword.reproduction.schedule import Schedule, cost


class Said(Progress):
    """Keeps what a schedule tells."""

    def __init__(self) -> None:
        self.notes: list[str] = []
        self.overall_said: list[tuple[float, float, float]] = []
        self.expected: dict[str, float | None] = {}

    def begin(self, stage: str, *, expected: float | None = None) -> None:
        self.expected[stage] = expected

    def note(self, text: str) -> None:
        self.notes.append(text)

    def overall(self, done: float, total: float, seconds_left: float) -> None:
        self.overall_said.append((done, total, seconds_left))


def test_the_time_left_follows_how_fast_this_machine_is(tmp_path: Path) -> None:
    said = Said()
    schedule = Schedule(said, tmp_path / "times.json")
    schedule.expect(["retriever", "ranker_unbiased", "ranker_biased", "core"])
    schedule.begin("retriever")
    schedule.end("retriever", reused=False, seconds=2 * cost("retriever"))
    schedule.begin("ranker_unbiased")
    assert said.expected["ranker_unbiased"] == pytest.approx(2 * cost("ranker_unbiased"))
    schedule.end("ranker_unbiased", reused=False, seconds=2 * cost("ranker_unbiased"))
    done, total, left = said.overall_said[-1]
    assert total - done == pytest.approx(cost("ranker_biased") + cost("core"))
    assert left == pytest.approx(2 * (total - done))
    assert said.notes == [
        f"One fit took {2 * cost('ranker_unbiased'):.0f} s; 1 more are planned. "
        f"All that is left: about {left / 60:.0f} minutes."
    ]


def test_what_was_kept_says_nothing_about_speed_and_needs_no_plan(tmp_path: Path) -> None:
    said = Said()
    schedule = Schedule(said, tmp_path / "times.json")
    schedule.expect(["ranker_unbiased", "ranker_biased"])
    schedule.end("ranker_unbiased", reused=True, seconds=0.1)
    assert said.notes == []
    assert said.overall_said[-1][2] == pytest.approx(cost("ranker_biased"))


def test_times_are_remembered_and_a_broken_file_is_only_forgotten(tmp_path: Path) -> None:
    file = tmp_path / "times.json"
    Schedule(Progress(), file).record("core-0123456789abcdef", 1.5)
    again = Schedule(Progress(), file)
    assert again.artefacts["core-0123456789abcdef"]["seconds"] == 1.5
    assert again.artefacts["core-0123456789abcdef"]["peak_bytes"] > 1e6
    for broken in ("", "[1]", '{"core": 3}', '{"core": {"seconds": "x", "peak_bytes": 1}}', "\x00"):
        file.write_text(broken)
        assert Schedule(Progress(), file).artefacts == {}


def test_a_long_step_without_a_count_shows_the_time_left_on_a_terminal(tmp_path: Path) -> None:
    out = io.StringIO()
    with Bars(Console(file=out, force_terminal=True, width=80)).shown() as bars:
        schedule = Schedule(bars, tmp_path / "times.json")
        schedule.expect(["retriever", "core"])
        schedule.begin("retriever")
        bars._bars.refresh()
        schedule.end("retriever", reused=False, seconds=100.0)
        bars._bars.refresh()
    drawn = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", out.getvalue())
    assert re.search(r"retriever.*0:0\d:\d\d left", drawn)
    assert re.search(r"all .*0:00:0\d left", drawn)
