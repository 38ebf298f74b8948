"""Commands: data on stdout, trouble on stderr, exit code 2 for what the user can mend."""

import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from commands import Finished, wayword
from runs import Made
from wayword.completion.policies import NAMES
from wayword.pipeline import load_policies
from wayword.progress import Bars
from wayword.report.estimates import SHOWN, estimates_of
from wayword.report.verdict import verdict_of
from wayword.request import MODES
from wayword.serving.policy_completer import PolicyCompleter
from wayword.store.workspace import Workspace
from wayword.text import normalise

COMMANDS = ("simulate", "run", "ubi", "evaluate", "complete", "demo", "config")


def _mistake(told: Finished) -> str:
    """What a command that failed said, properly."""
    assert (told.code, told.out) == (2, b""), told
    assert "Traceback" not in told.err
    return " ".join(told.err.split())


# --- help and mistakes


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_an_example(command: str) -> None:
    told = wayword(command, "--help")
    assert (told.code, told.err) == (0, "")
    assert f"Example: wayword {command}" in " ".join(told.out.decode().split())
    assert max(map(len, told.out.decode().splitlines())) <= 80


def test_help_lists_every_command_and_the_version_is_one_line() -> None:
    listed = wayword("--help").out.decode()
    assert all(command in listed for command in COMMANDS)
    assert wayword("--version").out.startswith(b"wayword ")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nonsense"], "No such command 'nonsense'"),
        (["complete", "."], "Missing argument 'PREFIX'"),
        (["complete", ".", "v", "-k", "0"], "Invalid value for '-k'"),
        (["complete", ".", "v", "-k", "many"], "Invalid value for '-k'"),
        (["complete", ".", "-v"], "No such option: -v"),
        (["simulate", "packages"], "Missing option '--out'"),
        (["simulate", "packages", "--out", "x", "--clicks", "0"], "Invalid value for '--clicks'"),
        (["simulate", "packages", "--out", "x", "--seed", "-1"], "Invalid value for '--seed'"),
        (["simulate", "nowhere", "--out", "x"], "nowhere"),
        (["simulate", "packages", "--out", "x", "--part", "70"], "Found part = 70.0; expected a probability"),
        (["simulate", "xmc:x", "--out", "x", "--part", "0.7"], "cannot have a column `part`"),
        (["simulate", "packages", "--out", "x", "--swaps", "30"], "Found swaps = 30.0; expected a share"),
        (["simulate", "packages", "--out", "x", "--alpha", "-1"], "Invalid value for '--alpha'"),
        (["simulate", "packages", "--out", "x", "--people", "lenent"], "Did you mean 'lenient'?"),
        (
            ["simulate", "packages", "--out", "x", "--people", "mix", "--clicks", "9"],
            "cannot be used with --people",
        ),
        (
            ["simulate", "packages", "--out", "x", "--people", "mix", "--part", "0.7"],
            "cannot be used with --people",
        ),
        (
            ["simulate", "packages", "--out", "x", "--people", "mix", "--swaps", "0.3"],
            "cannot be used with --people",
        ),
        (["simulate", "packages", "--out", "x", "--people", "mix", "--lists-shown", "0"], "'--lists-shown'"),
        (["simulate", "packages", "--out", "x", "--lists-shown", "9"], "needs --people KIND"),
        (["simulate", "packages", "--out", "x", "--lists", "w"], "needs --people KIND"),
        (["run", "--out", "x"], "Missing option '--log'"),
        (["run", "--log", "none.parquet", "--rankings", "none.parquet", "--out", "x"], "none.parquet"),
        (["run", "--log", "none.parquet", "--out", "x"], "neither rankings nor documents"),
        (["run", "--log", "none.parquet", "--config", "none.toml", "--out", "x"], "none.toml"),
    ],
)
def test_a_mistake_is_told_on_stderr_with_exit_code_2(
    arguments: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert said in _mistake(wayword(*arguments))
    assert not (tmp_path / "x").exists()


def test_a_wrong_question_to_a_workspace_is_told_on_stderr(undisturbed: Made) -> None:
    ask = ["complete", undisturbed.path, "v"]
    assert "Found policy 'best'; expected one of" in _mistake(wayword(*ask, "--policy", "best"))
    assert "Found --context shop; expected NAME=VALUE." in _mistake(wayword(*ask, "--context", "shop"))
    assert "context columns are: none" in _mistake(wayword(*ask, "--context", "shop=x"))
    for asked in (ask, ["evaluate", undisturbed.path], ["evaluate", undisturbed.path, "--json"]):
        told = wayword(*asked, "--mode", "exact")
        assert _mistake(told) == "error: Found mode 'exact'; expected one of any, prefix."
        assert told.err.count("\n") == 1


def test_a_setting_that_does_not_exist_is_told_before_any_work(world: Path, tmp_path: Path) -> None:
    (tmp_path / "w.toml").write_text("[ranker]\nround = 3\n")
    told = wayword(
        *["run", "--log", world / "clicks.parquet", "--rankings", world / "rankings.parquet"],
        *["--config", tmp_path / "w.toml", "--out", tmp_path / "w"],
    )
    assert "Did you mean 'rounds'?" in _mistake(told)
    assert not (tmp_path / "w").exists()


# --- evaluate


def test_evaluate_json_has_exactly_the_promised_rows(undisturbed: Made) -> None:
    told = wayword("evaluate", undisturbed.path, "--json")
    assert (told.code, told.err) == (0, "")
    rows = json.loads(told.out)
    assert all(tuple(row) == SHOWN for row in rows)
    single = ("logged", "oracle")
    expected = {("utility", p, k) for p in NAMES for k in ((1,) if p in single else (1, 5, 10))}
    lists = [p for p in NAMES if p not in single]
    expected |= {
        (metric, p, k) for metric in ("list_utility", "mrr", "success") for p in lists for k in (1, 5, 10)
    }
    expected |= {(metric, p, 10) for metric in ("found", "keystrokes", "taken") for p in lists}
    assert {(row["metric"], row["policy"], row["k"]) for row in rows} == expected
    assert len(rows) == len(expected)
    assert {"logged", "random", "popular", "retriever", "unbiased", "expected", "wayword", "oracle"} == set(
        NAMES
    )
    for row in rows:
        assert row["low"] <= row["value"] <= row["high"]
        assert row["n"] > 0
    assert [row["value"] for row in rows if row["policy"] == "logged"] == [1.0]


def test_evaluate_begins_with_the_verdict(undisturbed: Made) -> None:
    told = wayword("evaluate", undisturbed.path)
    assert (told.code, told.err) == (0, "")
    said = " ".join(told.out.decode().split())
    known = verdict_of(Workspace.open(undisturbed.path))
    assert said.startswith(known["sentence"])
    assert all(flip["sentence"] in said for flip in known["flips"])
    assert "keystrokes" in said
    assert "Utility@10" not in said


def test_evaluate_compares_two_policies(undisturbed: Made) -> None:
    ask = ["evaluate", undisturbed.path, "--json", "--compare"]
    one, other = (json.loads(wayword(*ask, *pair).out)["verdict"] for pair in _PAIRS)
    assert one["found"]["value"] == pytest.approx(-other["found"]["value"], abs=1e-12)
    assert one["keystrokes"]["ratio"] == pytest.approx(1 / other["keystrokes"]["ratio"])
    assert {one["better"], other["better"]} in ({"expected"}, {"random"}, {"equal"}, {"mixed"}, {"unknown"})
    refused = _mistake(wayword(*ask, "expected", "best"))
    assert "Found 'best'; expected policies that were evaluated: " in refused


_PAIRS = ("expected", "random"), ("random", "expected")


def test_evaluate_by_slice_says_what_many_slices_mean(undisturbed: Made) -> None:
    told = wayword("evaluate", undisturbed.path, "--slice", "frequency")
    assert (told.code, told.err) == (0, "")
    assert "slices: among many, some differ by chance" in " ".join(told.out.decode().split())
    refused = _mistake(wayword("evaluate", undisturbed.path, "--slice", "device"))
    assert refused == "error: Found --slice device; expected prefix-length, frequency."


def test_an_estimate_below_its_threshold_fails_the_command(undisturbed: Made) -> None:
    ask = ["evaluate", undisturbed.path, "--fail-below"]
    assert wayword(*ask, "wayword:utility@1=0").code == 0
    told = wayword(*ask, "logged:utility@1=1", "--fail-below", "logged:utility@1=1.01")
    assert (told.code, told.err) == (1, "logged:utility@1 is 1, below 1.01.\n")
    assert told.out
    assert "expected POLICY:METRIC@K=VALUE" in _mistake(wayword(*ask, "wayword:found"))
    several = wayword(*ask, "wayword:utility=0.5")
    assert several.code == 2
    assert "expected one of wayword:utility@1, wayword:utility@5" in " ".join(several.err.split())


def test_evaluate_prints_all_tables_within_80_columns(undisturbed: Made) -> None:
    told = wayword("evaluate", undisturbed.path, "--all")
    assert (told.code, told.err) == (0, "")
    lines = told.out.decode().splitlines()
    assert max(map(len, lines)) <= 80
    assert all(any(name in line for line in lines) for name in NAMES)
    assert "Utility@10" in told.out.decode()
    assert "List utility@10" in told.out.decode()
    assert b"\x1b" not in told.out


@pytest.mark.parametrize("mode", MODES)
def test_evaluate_tells_the_mode_that_was_asked_for(undisturbed: Made, mode: str) -> None:
    told = wayword("evaluate", undisturbed.path, "--json", "--mode", mode)
    assert (told.code, told.err) == (0, "")
    workspace = Workspace.open(undisturbed.path)
    assert json.loads(told.out) == estimates_of(workspace, None, mode=mode)
    judged = json.loads(wayword("evaluate", undisturbed.path, "--json", "--verdict", "--mode", mode).out)
    assert judged == {"verdict": verdict_of(workspace, mode=mode), "slices": []}
    table = wayword("evaluate", undisturbed.path, "--mode", mode)
    assert (table.code, table.err) == (0, "")
    assert f"mode {mode}" in " ".join(table.out.decode().split())
    assert max(map(len, table.out.decode().splitlines())) <= 80


def test_the_modes_differ_and_any_is_the_usual_one(undisturbed: Made) -> None:
    usual, anything, onward = (
        wayword("evaluate", undisturbed.path, "--json", *mode).out
        for mode in ((), ("--mode", "any"), ("--mode", "prefix"))
    )
    assert usual == anything != onward


# --- complete


@pytest.mark.parametrize("options", [(), ("--policy", "expected"), ("--policy", "popular")])
def test_in_mode_prefix_every_completion_goes_on_from_the_text(
    undisturbed: Made, options: tuple[str, ...]
) -> None:
    ask = ["complete", undisturbed.path, "vi", "--json", "-k", "20", *options]
    (onward,), (anything,) = (_answers(wayword(*ask, "--mode", mode).out) for mode in ("prefix", "any"))
    texts = [normalise(c["query"]) for c in onward["completions"]]
    assert texts
    assert all(text.startswith("vi") and text != "vi" for text in texts)
    if "popular" not in options:
        assert any(not normalise(c["query"]).startswith("vi") for c in anything["completions"])


def _answers(out: bytes) -> list[Any]:
    return [json.loads(line) for line in out.decode("utf-8").splitlines()]


LINES = [
    b"video",
    b"",
    b"  VIDEO-pl ",
    b"v" * 10_000,
    b"vid\0eo",
    b"a\x07b\x1b[31m",
    b"one\rtwo",
    "مرحبا بالعالم".encode(),
    "👩‍👩‍👧 ok".encode(),
    b"\xff\xfe broken \xc3",
    b"\xed\xa0\x80",
    b"--help",
    b"-v",
    b"-",
    "e\u0301\u2028x\u0085y".encode(),
]


@pytest.mark.parametrize("end", [b"\n", b"\r\n"], ids=["newline", "Windows"])
@pytest.mark.parametrize("last", [True, False], ids=["ended", "unended"])
def test_one_json_object_per_line_whatever_is_typed(end: bytes, last: bool, undisturbed: Made) -> None:
    told = wayword(
        "complete", undisturbed.path, "-", "-k", "4", stdin=end.join(LINES) + (end if last else b"")
    )
    assert (told.code, told.err) == (0, "")
    answers = [json.loads(line) for line in told.out.decode("utf-8").split("\n")[:-1]]
    texts = [line.decode("utf-8", "replace") for line in LINES]
    assert [answer["prefix"] for answer in answers] == texts
    completer = PolicyCompleter.open(undisturbed.path, load_policies)
    for answer, text in zip(answers, texts, strict=True):
        assert list(answer) == ["prefix", "completions"]
        expected = [
            {"query": c.query, "score": c.score, "source": c.source} for c in completer.complete(text, 4)
        ]
        assert answer["completions"] == expected
        assert all(c["score"] > 0 for c in answer["completions"])


def test_a_line_without_end_is_not_read_whole(undisturbed: Made) -> None:
    told = wayword("complete", undisturbed.path, "-", stdin=b"video\n" + b"v" * (2 << 20))
    assert told.code == 2
    assert (
        told.err
        == "error: Found a line of more than 1,048,576 bytes on stdin; expected one typed text per line.\n"
    )


def test_many_lines_are_each_answered_once(undisturbed: Made) -> None:
    typed = [f"{letter}{i % 7}" if i % 3 else letter for i in range(300) for letter in "abcdefghij"]
    told = wayword("complete", undisturbed.path, "-", "-k", "1", stdin="\n".join(typed).encode())
    assert [answer["prefix"] for answer in _answers(told.out)] == typed


def test_no_line_no_answer(undisturbed: Made) -> None:
    told = wayword("complete", undisturbed.path, "-")
    assert (told.code, told.out, told.err) == (0, b"", "")


def test_one_prefix_as_json_is_the_same_object(undisturbed: Made) -> None:
    alone = wayword("complete", undisturbed.path, "video", "--json")
    assert alone.out == wayword("complete", undisturbed.path, "-", stdin=b"video\n").out
    (answer,) = _answers(alone.out)
    plain = wayword("complete", undisturbed.path, "video").out.decode().splitlines()
    assert [line.split(maxsplit=1)[1] for line in plain] == [c["query"] for c in answer["completions"]]


def test_a_prefix_that_begins_with_a_dash_comes_after_two_dashes(undisturbed: Made) -> None:
    for prefix in ("-v", "--help", "--json"):
        (answer,) = _answers(wayword("complete", undisturbed.path, "--json", "--", prefix).out)
        assert answer["prefix"] == prefix
    assert "wayword complete workspace -- -v" in " ".join(wayword("complete", "--help").out.decode().split())


def test_a_prefix_without_completion_is_no_error(undisturbed: Made) -> None:
    told = wayword("complete", undisturbed.path, "no such thing", "--policy", "popular")
    assert (told.code, told.out) == (0, b"")
    assert told.err == "No completion for 'no such thing'.\n"


@pytest.mark.parametrize("typed", ["\u4e0d\u77e5\u9053", "\u2603"])
def test_a_text_that_nothing_is_like_is_no_error(undisturbed: Made, typed: str) -> None:
    told = wayword("complete", undisturbed.path, typed)
    assert (told.code, told.out) == (0, b"")
    assert told.err == f"No completion for {typed!r}.\n"


# --- as a program of its own


def _program(*arguments: str | Path | bytes, **options: Any) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        [sys.executable, "-m", "wayword", *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        **options,
    )


def test_a_program_may_ask_line_by_line_and_a_closed_pipe_ends_quietly(undisturbed: Made) -> None:
    with _program("complete", undisturbed.path, "-") as program:
        assert program.stdin
        assert program.stdout
        assert program.stderr
        for prefix in ("video", "mail"):
            program.stdin.write(prefix.encode() + b"\n")
            program.stdin.flush()
            assert json.loads(program.stdout.readline())["prefix"] == prefix
        program.stdout.close()
        try:
            program.stdin.write(b"v\n" * 10_000)
            program.stdin.close()
        except BrokenPipeError:
            pass
        assert program.wait(60) in (0, 1)
        assert program.stderr.read() == b""


def test_bytes_that_are_no_text_are_answered_in_valid_utf_8_in_any_language(undisturbed: Made) -> None:
    environment = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    with _program(
        "complete", os.fspath(undisturbed.path), "--json", b"\xff\xed\xa0\x80", env=environment
    ) as program:
        out, err = program.communicate(timeout=60)
    assert (program.returncode, err) == (0, b"")
    answer = json.loads(out.decode("utf-8"))
    assert answer == {"prefix": "\ufffd" * 4, "completions": []}


def test_a_full_output_is_said_clearly() -> None:
    with Path("/dev/full").open("wb") as full:
        told = subprocess.run(
            [sys.executable, "-m", "wayword", "config"], stdout=full, stderr=subprocess.PIPE, check=False
        )
    assert told.returncode == 2
    assert told.stderr.startswith(b"error: The disk is full")


def test_config_prints_settings_that_config_reads(tmp_path: Path) -> None:
    from wayword.config import Config

    (tmp_path / "w.toml").write_bytes(wayword("config").out)
    assert Config.load(tmp_path / "w.toml") == Config()


# --- demo and progress


def test_the_demo_shows_policies_completions_and_what_to_type_next(tmp_path: Path) -> None:
    told = wayword("demo", "--out", tmp_path / "demo", "--clicks", "500")
    assert told.code == 0, told.err
    text = told.out.decode()
    assert "than most popular completion" in " ".join(text.split())
    assert "keystrokes" in text
    assert "ceiling" in text
    assert "most popular" in text
    assert "Next:" in text
    assert f"wayword complete {tmp_path / 'demo' / 'workspace'} video -k 5" in text
    assert f"wayword serve {tmp_path / 'demo' / 'workspace'}" in text
    table = [line for line in text.splitlines() if line.startswith(("│", "┃", "├", "┏"))]
    assert max(map(len, table)) <= 80
    answers = wayword("complete", tmp_path / "demo" / "workspace", "v")
    assert answers.code == 0


def test_progress_that_nobody_watches_is_plain_lines() -> None:
    out = io.StringIO()
    with Bars(Console(file=out, width=80)).shown() as bars:
        bars.note("something " * 20)
        for stage in ("log", "ranker"):
            bars.begin(stage)
            bars.advance(1, 2)
            bars.end(stage, reused=stage == "log", seconds=1.25)
        bars.finish([])
    assert out.getvalue().splitlines() == [
        "note: " + "something " * 20,
        "log: unchanged",
        "ranker: 1.2 s",
        "Nothing has changed since the last run: no work was done.",
    ]


def test_progress_on_a_terminal_shows_the_time_left_only_while_there_is_any() -> None:
    out = io.StringIO()
    with Bars(Console(file=out, force_terminal=True, width=80)).shown() as bars:
        bars.begin("ranker")
        bars.end("ranker", reused=False, seconds=1.25)
    last = out.getvalue().rsplit("\n", 2)[-2]
    assert "1.2 s" in last
    assert "left" not in last
