"""Each example, run as its README says: what is printed is what the page shows."""

import shutil
from pathlib import Path

import pytest

import readme_commands
from readme_commands import Done, Step
from real_engines import postgres

EXAMPLES = Path(__file__).parent.parent / "examples"


def followed(name: str, folder: Path, **environment: str) -> Path:
    """Follow the README of an example in a copy of it, which is returned."""
    shutil.copytree(EXAMPLES, folder / "examples", ignore=shutil.ignore_patterns("__pycache__"))
    own = folder / "examples" / name
    page = own / "README.md"
    done = readme_commands.run(page, own, **environment)
    failed = [one for one in done if one.code or not one.as_said]
    assert not failed, "\n".join(
        f"$ {one.step.command}\n{one.printed}\nexit code {one.code}; the page says\n{one.step.said}"
        for one in failed
    )
    assert len(done) == len(readme_commands.steps(page.read_text(encoding="utf-8")))
    return own


@pytest.mark.slow
def test_events_of_a_site_become_completions(tmp_path: Path) -> None:
    own = followed("ubi", tmp_path)
    assert "<html" in (own / "report.html").read_text(encoding="utf-8")


@pytest.mark.slow
def test_a_shop_in_postgresql_is_refreshed_at_night(tmp_path: Path) -> None:
    with postgres() as shop:
        own = followed("postgres", tmp_path, SHOP=shop)
    assert "<html" in (own / "report.html").read_text(encoding="utf-8")
    assert not (own / "until").exists()


def test_a_page_is_compared_with_what_is_printed(tmp_path: Path) -> None:
    page = tmp_path / "README.md"
    page.write_text(
        "```console\n$ echo one \\\n  two\none two\n$ X=1; printf 'a\\nb\\nc\\n'\na\n…\n$ echo $X >&2\n2\n```\n"
        "```console\n$ false\n$ echo never\n```\n"
    )
    done = readme_commands.run(page, tmp_path)
    assert [(one.printed, one.code, one.as_said) for one in done] == [
        ("one two\n", 0, True),
        ("a\nb\nc\n", 0, True),
        ("1\n", 0, False),
        ("", 1, True),
    ]


@pytest.mark.parametrize(
    ("said", "printed", "same"),
    [
        ("a … c", "a b\nb c\n", True),
        ("a …", "a", False),
        ("…\nend", "1\n2\nend  ", True),
        ("[a]", "a", False),
        ("", "a", False),
    ],
)
def test_an_ellipsis_stands_for_anything(said: str, printed: str, same: bool) -> None:
    assert Done(Step("true", said), printed, 0).as_said == same
