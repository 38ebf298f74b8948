"""`wayword propensity` on a file of impressions."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from commands import wayword
from wayword.simulation.result_pages import World, draw

RANKS = np.arange(1.0, 11.0)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pages = draw(np.random.default_rng(0), RANKS**-0.5, searches=5000, world=World(queries=200))
    out = tmp_path_factory.mktemp("impressions") / "impressions.parquet"
    pq.write_table(pages.table(), out)
    return out


def test_it_prints_and_writes_the_curve_with_its_assumptions(path: Path, tmp_path: Path) -> None:
    out = tmp_path / "propensity.parquet"
    done = wayword("propensity", path, "--out", out)
    assert done.code == 0, done.err
    text = " ".join(done.out.decode().split())
    for part in (
        "rank",
        "from",
        "█",
        "Fitted power law",
        "50,000 impressions in 5,000 searches",
        "within a week",
    ):
        assert part in text
    table = pq.read_table(out)
    assert table.column_names == ["rank", "p", "low", "high"]
    assert table["p"].to_numpy()[:5] == pytest.approx(RANKS[:5] ** -0.5, rel=0.25)
    same = json.loads(wayword("propensity", "estimate", path, "--json").out)
    assert [row["p"] for row in same["propensity"]] == table["p"].to_pylist()
    assert same["counts"] == {"rows": 50_000, "impressions": 50_000}


def test_ranks_from_0_are_the_same_with_first_rank_0(path: Path, tmp_path: Path) -> None:
    rows = pq.read_table(path)
    shifted = rows.set_column(rows.column_names.index("rank"), "rank", pa.array(rows["rank"].to_numpy() - 1))
    pq.write_table(shifted, tmp_path / "shifted.parquet")
    one = wayword("propensity", path, "--json", "--monotone").out
    assert (
        wayword("propensity", tmp_path / "shifted.parquet", "--json", "--monotone", "--first-rank", 0).out
        == one
    )
    refused = wayword("propensity", tmp_path / "shifted.parquet")
    assert refused.code == 2
    assert "`--first-rank 0` where the first is 0" in refused.err


def test_compare_draws_the_curves_and_recommends_one(path: Path, tmp_path: Path) -> None:
    done = wayword("propensity", "compare", path, "--figure", tmp_path / "curves.svg")
    assert done.code == 0, done.err
    assert "Recommended: likelihood" in done.out.decode()
    assert "all-pairs" in (tmp_path / "curves.svg").read_text()


def test_plan_says_what_to_swap(tmp_path: Path) -> None:
    world = World(queries=200, period_noise=0, search_noise=0, drift=0)
    pages = draw(np.random.default_rng(0), RANKS**-1.0, searches=5000, world=world)
    pq.write_table(pages.table(), tmp_path / "fixed.parquet")
    refused = wayword("propensity", tmp_path / "fixed.parquet")
    assert refused.code == 2
    assert "`wayword propensity plan` says which ranks to swap" in refused.err
    done = wayword("propensity", "plan", tmp_path / "fixed.parquet", "--share", 0.1)
    assert done.code == 0, done.err
    text = " ".join(done.out.decode().split())
    assert "1 and 2" in text
    assert f"days at the {5000 / (9 * 7):.0f} a day of this log" in text
    planned = json.loads(wayword("propensity", "plan", tmp_path / "fixed.parquet", "--json").out)
    assert len(planned["swaps"]) == 9


def test_rows_that_are_there_twice_are_said_once_and_change_nothing(path: Path, tmp_path: Path) -> None:
    table = pq.read_table(path)
    pq.write_table(pa.concat_tables([table, table]), tmp_path / "twice.parquet")
    done = wayword("propensity", tmp_path / "twice.parquet")
    assert done.code == 0, done.err
    text = " ".join(done.out.decode().split())
    assert (
        text.count("50,000 of 100,000 rows repeat another one, and count once; expected one row per result")
        == 1
    )
    once, twice = (
        json.loads(wayword("propensity", file, "--json").out)["propensity"]
        for file in (path, tmp_path / "twice.parquet")
    )
    assert once == twice


def test_ranks_counted_from_the_bottom_are_refused_in_one_line(path: Path, tmp_path: Path) -> None:
    table = pq.read_table(path)
    upside_down = pa.array(11 - table["rank"].to_numpy())
    place = table.column_names.index("rank")
    pq.write_table(table.set_column(place, "rank", upside_down), tmp_path / "rising.parquet")
    done = wayword("propensity", tmp_path / "rising.parquet", "--out", tmp_path / "p.parquet")
    assert (done.code, done.out) == (2, b"")
    (said,) = [line for line in done.err.splitlines() if line.startswith("error: ")]
    assert "Found p that rises with the rank by more than chance, from 1 at rank 1 to" in said
    assert "check that `rank` counts from the top of the page" in said
    assert not (tmp_path / "p.parquet").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--method", "guess"), "Found --method 'guess'; expected one of likelihood, chain, all-pairs, em."),
        (("--period", "year"), "Found --period 'year'; expected one of none, day, week, month."),
        (("--trust-bias",), "Found trust bias with the method likelihood; only the method em models it."),
    ],
)
def test_bad_options_are_refused(path: Path, options: tuple[str, ...], message: str) -> None:
    done = wayword("propensity", path, *options)
    assert (done.code, done.out) == (2, b"")
    assert message in " ".join(done.err.split())
