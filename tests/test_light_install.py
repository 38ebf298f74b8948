"""Without any extra, and quick to import."""

import subprocess
import sys
from pathlib import Path

EXTRAS = (
    "pecos",
    "torch",
    "transformers",
    "pyspark",
    "pysail",
    "pandas",
    "granian",
    "starlette",
    "matplotlib",
    "glin_profanity",
    "psycopg",
)
HEAVY = ("xgboost", "sklearn", "duckdb", "tantivy", "pyarrow", "numpy", "scipy", "rich", "typer")
BLOCK = f"""
import sys
from importlib.machinery import PathFinder
find = PathFinder.find_spec
def find_unless_extra(name, path=None, target=None):
    return None if name.partition(".")[0] in {EXTRAS!r} else find(name, path, target)
PathFinder.find_spec = find_unless_extra
"""
"""A Python in which no extra is installed."""


def _python(code: str, *arguments: str | Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, timeout=120, check=False
    )


def test_import_wayword_imports_nothing_heavy() -> None:
    told = _python(f"import sys, wayword; print([m for m in {HEAVY + EXTRAS!r} if m in sys.modules])")
    assert (told.stdout, told.stderr) == ("[]\n", "")


def test_every_name_of_the_door_opens() -> None:
    told = _python(BLOCK + "import wayword\nprint(all(getattr(wayword, name) for name in wayword.__all__))")
    assert (told.stdout, told.stderr) == ("True\n", "")


def test_postgres_without_its_extra_says_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "search.sql").write_text("SELECT %(query)s")
    main = BLOCK + "from wayword.cli.main import main\nmain()"
    at = ("--endpoint", "postgresql:///shop", "--template", tmp_path / "search.sql")
    told = _python(main, "rankings", "--from", "postgres", *at, "--queries", "log.csv", "--out", "r.parquet")
    assert told.returncode == 2
    assert "`--from postgres` needs the extra 'postgres'" in told.stderr


def test_the_help_imports_nothing_heavy() -> None:
    code = f"import sys, wayword.cli.main\nprint([m for m in {HEAVY[:5]!r} if m in sys.modules])"
    assert _python(code).stdout == "[]\n"


def test_a_light_install_runs_and_completes(world: Path, tmp_path: Path) -> None:
    (tmp_path / "w.toml").write_text("[ranker]\nrounds = 3\nmax_contexts = 100\n[features]\ndimensions = 2\n")
    main = BLOCK + "from wayword.cli.main import main\nmain()"
    run = ("run", "--log", world / "clicks.parquet", "--rankings", world / "rankings.parquet")
    for paper, expected in (
        ((), []),
        (
            ("--paper",),
            [
                "note: PECOS is not installed: candidates are the most popular completions. "
                "`pip install '.[pecos]'` adds it."
            ],
        ),
    ):
        ran = _python(main, *run, "--config", tmp_path / "w.toml", "--out", tmp_path / "w", *paper)
        assert (ran.returncode, ran.stdout) == (0, ""), ran.stderr
        assert [line for line in ran.stderr.splitlines() if "PECOS" in line] == expected
    page = tmp_path / "report.html"
    told = _python(main, "report", tmp_path / "w", "--out", page)
    assert (told.returncode, told.stdout) == (0, ""), told.stderr
    assert "Wayword on your log" in page.read_text(encoding="utf-8")
    code = "import wayword\nprint(len(wayword.Completer.open(sys.argv[1]).complete('v', 3)))"
    assert _python(BLOCK + code, tmp_path / "w").stdout == "3\n"


def test_a_reproduction_asks_for_its_extras_before_any_work(tmp_path: Path) -> None:
    for extras, missing in ((EXTRAS, "report"), (("pecos",), "pecos")):
        block = BLOCK.replace(repr(EXTRAS), repr(extras))
        told = _python(
            block + "from wayword.cli.main import main\nmain()",
            "reproduce",
            "--quick",
            "--out",
            tmp_path / "out",
        )
        assert told.returncode == 2
        assert f"pip install '.[{missing}]'" in told.stderr
        assert not (tmp_path / "out").exists()


def test_asking_for_pecos_without_it_says_how_to_get_it(world: Path, tmp_path: Path) -> None:
    (tmp_path / "w.toml").write_text('[retriever]\nmodel = "pecos"\n')
    told = _python(
        BLOCK + "from wayword.cli.main import main\nmain()",
        *("run", "--log", world / "clicks.parquet", "--rankings", world / "rankings.parquet"),
        *("--config", tmp_path / "w.toml", "--out", tmp_path / "w", "--paper"),
    )
    assert told.returncode == 2
    assert "pip install '.[pecos]'" in told.stderr
    assert not (tmp_path / "w").exists()
