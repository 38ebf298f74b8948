"""What is written is executed: the Python of README and docs, the commands they name, links, versions."""

import doctest
import importlib.util
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import pyarrow.parquet as pq
import pytest

import wayword
from wayword.completion.acceptance import FEATURES, PRIOR
from wayword.logs.checks import LOG_CHECKS, SEARCH_CHECKS

ROOT = Path(__file__).parent.parent
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "examples").rglob("*.md")),
]
COMMANDS = (
    "simulate",
    "check",
    "run",
    "refresh",
    "rankings",
    "ubi",
    "import",
    "acceptance",
    "propensity",
    "evaluate",
    "report",
    "index",
    "export",
    "serve",
    "complete",
    "reproduce",
    "demo",
    "config",
)


def blocks(page: Path, language: str) -> list[str]:
    """The code blocks of a page in a language."""
    return re.findall(rf"```{language}\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL)


def script_named(name: str) -> ModuleType:
    """A module of the folder `scripts`."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "scripts" / f"{name}.py")
    assert spec
    assert spec.loader
    script = importlib.util.module_from_spec(spec)
    sys.modules[name] = script
    spec.loader.exec_module(script)
    return script


@pytest.mark.slow
def test_the_readmes_python_runs_in_under_ten_lines(tmp_path: Path) -> None:
    (code,) = blocks(ROOT / "README.md", "python")
    assert len([line for line in code.splitlines() if line.strip()]) < 10
    script = tmp_path / "example.py"
    script.write_text(code, encoding="utf-8")
    done = subprocess.run([sys.executable, script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert "logged 1 1.0" in lines
    assert any(re.fullmatch(r"expected 5 \d\.\d+", line) for line in lines)
    assert any(re.fullmatch(r"popular 10 \d\.\d+", line) for line in lines)
    # logged at 1; popular, expected and the served policy at 1, 5 and 10; at most five completions
    assert 10 < len(lines) <= 10 + 5


def test_the_readme_is_short_and_shows_the_page_and_its_use_before_any_benchmark() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 200
    places = [
        text.index(part) for part in ("docs/images/page.png", "## Use it on your log", "docs/benchmarks.md")
    ]
    assert places == sorted(places)


def test_the_page_of_benchmarks_names_scripts_that_exist() -> None:
    named = re.findall(
        r"python (benchmarks/\w+\.py)", (ROOT / "docs/benchmarks.md").read_text(encoding="utf-8")
    )
    assert len(set(named)) >= 5
    assert all((ROOT / script).exists() for script in named)


@pytest.mark.slow
def test_the_python_of_serving_runs_and_what_it_decides_is_served(tmp_path: Path) -> None:
    (code,) = blocks(ROOT / "docs/serving.md", "python")
    more = """
import time
time.sleep(0.3)
assert first.query not in [c.query for c in completer.complete("video", k=10)]
pinned, best = completer.complete("vid", k=2)
assert pinned == wayword.Completion("video editor", best.score, "pinned")
"""
    script = tmp_path / "example.py"
    script.write_text(code + more, encoding="utf-8")
    done = subprocess.run([sys.executable, script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 3


@pytest.mark.slow
def test_the_demo_gives_the_numbers_of_the_benchmarks(tmp_path: Path) -> None:
    """Equal text vectors on every processor; what trees make of them may differ by this much."""
    tolerance = 0.005
    command = [sys.executable, "-m", "wayword", "demo", "--out", str(tmp_path / "demo")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = {
        (row["policy"], row["k"]): row["value"] for row in wayword.estimates(tmp_path / "demo" / "workspace")
    }
    text = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    table = text.partition("| what it is |")[2].partition("\n\n")[0]
    printed = {}
    for line in table.splitlines()[2:]:
        policy, *cells = (cell.strip(" *") for cell in line.strip("|").split("|"))
        for k, cell in zip((1, 5, 10), cells, strict=False):
            if number := re.match(r"\d\.\d+", cell):
                printed[policy, k] = float(number[0])
    assert {policy for policy, _ in printed} >= {"popular", "unbiased", "expected", "ceiling"}
    assert {key: found[key] for key in printed} == pytest.approx(printed, abs=tolerance)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_an_example_and_a_place_in_the_docs(command: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "wayword", command, "--help"], capture_output=True, text=True, check=True
    )
    assert f"wayword {command}" in done.stdout
    assert any(f"wayword {command}" in page.read_text(encoding="utf-8") for page in PAGES)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([^)#]+)", page.read_text(encoding="utf-8"))
    missing = [link for link in links if "://" not in link and not (page.parent / link).exists()]
    assert not missing


def test_the_page_of_settings_is_what_the_source_says() -> None:
    script = script_named("write_configuration")
    assert script.PAGE.read_text(encoding="utf-8") == script.page(), "run scripts/write_configuration.py"


def check_examples(page: Path) -> int:
    """How many examples a page has; each gives what the page says."""
    code = "".join(blocks(page, "python"))
    example = doctest.DocTestParser().get_doctest(code, {}, page.name, None, None)
    said: list[str] = []
    done = doctest.DocTestRunner().run(example, out=said.append)
    assert not done.failed, "".join(said)
    return done.attempted


def test_the_example_of_demand_gives_what_the_page_says() -> None:
    assert check_examples(ROOT / "docs/demand.md") > 10


def test_the_example_of_check_gives_what_the_page_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert check_examples(ROOT / "docs/check.md") == 11
    done = subprocess.run(
        [sys.executable, "-m", "wayword", "check", "clicks.csv"], capture_output=True, text=True, check=False
    )
    (shown,) = blocks(ROOT / "docs/check.md", "console")
    command, *lines = shown.partition("…")[0].splitlines()
    assert (command, done.returncode) == ("$ wayword check clicks.csv", 1)
    assert done.stdout.splitlines()[: len(lines)] == lines


def test_the_page_of_check_names_every_finding() -> None:
    page = (ROOT / "docs/check.md").read_text(encoding="utf-8").partition("## What is found")[2]
    source = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "src/wayword/check").glob("*.py"))
    named = set(re.findall(r'Finding\(\s*"(\w+)"', source)) | {
        check.name for check in (*LOG_CHECKS, *SEARCH_CHECKS)
    }
    assert named - {"rankings", "rankings_columns", "rankings_file", "split", "search_rows"} <= set(
        re.findall(r"`(\w+)`", page)
    )


def test_the_example_of_people_gives_what_the_page_says() -> None:
    assert check_examples(ROOT / "docs/worlds.md") == 13


def test_the_example_of_propensity_gives_what_the_page_says() -> None:
    assert check_examples(ROOT / "docs/propensity.md") == 8


def test_the_example_of_recency_gives_what_the_page_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert check_examples(ROOT / "docs/recency.md") == 10


def test_the_examples_of_rankings_give_what_the_page_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = ROOT / "docs/rankings.md"
    monkeypatch.chdir(tmp_path)
    assert check_examples(page) == 14
    (commands,) = (block for block in blocks(page, "sh") if "--from sqlite" in block)
    done = subprocess.run(
        ["bash", "-euc", f'wayword() {{ "{sys.executable}" -m wayword "$@"; }}\n{commands}'],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    columns = ["query", "document", "rank"]
    one, two = (
        pq.read_table(tmp_path / f"{name}.parquet").select(columns) for name in ("rankings", "sqlite")
    )
    assert one.to_pylist() == two.to_pylist()


def test_the_prior_of_acceptance_is_what_the_page_says() -> None:
    page = ROOT / "docs/acceptance.md"
    assert check_examples(page) == 7
    rows = dict(
        re.findall(
            r"^\| `(\w+)` \| [^|]* \| ([−\d.]+) \|", page.read_text(encoding="utf-8"), flags=re.MULTILINE
        )
    )
    found = {name: float(value.replace("−", "-")) for name, value in rows.items()}
    assert found == dict(zip(FEATURES, PRIOR.coefficients.tolist(), strict=True))


def test_the_events_of_the_page_give_the_log_that_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "events").mkdir()
    (events,) = blocks(ROOT / "docs/ubi.md", "json")
    (tmp_path / "events/ubi.ndjson").write_text(events, encoding="utf-8")
    assert check_examples(ROOT / "docs/ubi.md") == 12


def test_the_table_of_the_page_gives_the_log_that_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (table,) = blocks(ROOT / "docs/import.md", "csv")
    (tmp_path / "shop.csv").write_text(table, encoding="latin-1")
    assert check_examples(ROOT / "docs/import.md") == 7


def test_the_picture_of_demand_shows_the_utilities_of_its_example() -> None:
    picture = (ROOT / "docs/images/demand.svg").read_text(encoding="utf-8")
    for utility in (1.0 * 1 + 0.6 / 2 + 0.2 / 4, 0.6 * 1 + 1.0 / 2, 0.2 * 1 + 1.0 / 2 + 0.6 / 4):
        assert f">{utility:.2f}</text>" in picture


def test_version_and_changelog_agree() -> None:
    sections = re.findall(
        r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), flags=re.MULTILINE
    )
    assert next(name for name in sections if name != "Unreleased") == wayword.__version__


def test_the_door_is_small() -> None:
    assert len(wayword.__all__) <= 11
    assert all(getattr(wayword, name) is not None for name in wayword.__all__)


def test_no_file_names_a_registry() -> None:
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    assert "://" not in lock
    assert re.search(r"^libpecos==", lock, flags=re.MULTILINE)


LOCKS = sorted(path.name for path in ROOT.glob("requirements*.lock"))


@pytest.mark.parametrize("name", LOCKS)
def test_every_locked_requirement_has_an_exact_version_and_a_hash(name: str) -> None:
    entries = re.findall(
        r"^[a-z0-9](?:.*\\\n)*.*", (ROOT / name).read_text(encoding="utf-8"), flags=re.MULTILINE
    )
    assert entries
    for entry in entries:
        assert re.match(
            r"[a-z0-9.-]+==[^ ]+ (?:; .* )?\\\n(?: {4}--hash=sha256:[0-9a-f]{64}(?: \\\n|$))+$", entry
        ), entry


def test_the_locks_agree_and_hold_all_that_is_installed_by_name() -> None:
    def versions(name: str) -> dict[str, set[str]]:
        found: dict[str, set[str]] = {}
        text = (ROOT / name).read_text(encoding="utf-8")
        for package, version in re.findall(r"^([a-z0-9.-]+)==([^ \n]+)", text, flags=re.MULTILINE):
            found.setdefault(package, set()).add(version)
        return found

    main, bert = versions("requirements.lock"), versions("requirements-bert.lock")
    assert {name: main[name] for name in main.keys() & bert.keys()} == {
        name: bert[name] for name in main.keys() & bert.keys()
    }
    given = versions("requirements-bert.txt") | versions("requirements-torch-cpu.lock")
    assert given.items() <= bert.items()
    assert versions("requirements-uv.txt") == versions("requirements-uv.lock")
    spark, client = versions("requirements-spark.lock"), main["pyspark-client"]
    assert versions("requirements-spark.txt") == spark
    assert {one.rpartition(".")[0] for one in spark["pyspark"]} == {one.rpartition(".")[0] for one in client}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert project["build-system"]["requires"] == [f"hatchling=={version}" for version in main["hatchling"]]
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    installs = [line for line in makefile.splitlines() if re.search(r"pip\b.* (?:install|sync) ", line)]
    assert len(installs) == 5
    assert all("--require-hashes" in line or "--no-build-isolation" in line for line in installs)


LESSER = {"psycopg", "psycopg-binary"}
"""Under the LGPL, of an extra; imported and not contained."""


def test_the_page_of_licences_is_that_of_the_installed_packages_and_none_is_under_the_gpl() -> None:
    script = script_named("write_licences")
    page = script.FILE.read_text(encoding="utf-8")
    found = script.table()
    assert {"numpy", "duckdb", "xgboost"} <= found.keys()
    for name, (licence, _) in found.items():
        assert f"| {name} | {licence} |" in page, "run scripts/write_licences.py"
        offered = re.split(r" OR |[()]", licence)
        forbidden = [re.search("GPL|General Public", one) for one in offered if one.strip(" AND")]
        assert not all(forbidden) or name in LESSER, name
        assert licence != "not declared", name


def test_the_example_of_refresh_gives_what_the_page_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert check_examples(ROOT / "docs/refresh.md") == 14
