"""`wayword acceptance` on a workspace and the lists of simulated people."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from commands import wayword
from shop import CONFIG, make_world
from wayword.completion.acceptance import FEATURES, PRIOR, Acceptance
from wayword.pipeline import run
from wayword.simulation.people_log import write_people


@pytest.fixture(scope="module")
def typed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The log of people in a small shop, and a run on it."""
    folder = tmp_path_factory.mktemp("typed")
    data = write_people(make_world(), people="lenient", lists_shown=4000, out=folder / "data")
    run(data / "clicks.parquet", data / "rankings.parquet", out=folder / "workspace", config=CONFIG)
    return folder


def some_rows(folder: Path, rows: int, name: str) -> Path:
    table = pq.read_table(folder / "data/completions.parquet").slice(0, rows)
    pq.write_table(table, folder / name)
    return folder / name


def test_it_prints_parameters_reliability_and_what_more_lists_would_give(typed: Path, tmp_path: Path) -> None:
    out = tmp_path / "acceptance.json"
    done = wayword("acceptance", typed / "workspace", typed / "data/completions.parquet", "--out", out)
    assert done.code == 0, done.err
    text = done.out.decode()
    assert "4,00" in text.splitlines()[0]
    for part in (
        *FEATURES,
        "kept",
        "careless",
        "strict",
        "reading 10",
        "prior",
        "Held-out lists",
        "constant rates",
        "about",
    ):
        assert part in " ".join(text.split())
    model = Acceptance.load(out)
    assert model.reading[0] == pytest.approx(0.9, abs=0.1)  # what these people read
    saved = json.loads(out.read_text())
    assert saved["learned"]
    assert len(saved["parameters"]) == len(FEATURES) + 13
    assert all(one["low"] <= one["value"] <= one["high"] for one in saved["parameters"])


def test_json_is_what_is_saved(typed: Path, tmp_path: Path) -> None:
    out = tmp_path / "acceptance.json"
    done = wayword(
        "acceptance", typed / "workspace", typed / "data/completions.parquet", "--json", "--out", out
    )
    assert json.loads(done.out) == json.loads(out.read_text())


@pytest.mark.parametrize("rows", [0, 10])
def test_with_ten_events_or_none_the_prior_stays(typed: Path, tmp_path: Path, rows: int) -> None:
    out = tmp_path / "acceptance.json"
    done = wayword("acceptance", typed / "workspace", some_rows(typed, rows, "few.parquet"), "--out", out)
    assert done.code == 0, done.err
    assert "the prior stays" in " ".join(done.out.decode().split())
    assert Acceptance.load(out).coefficients.tolist() == PRIOR.coefficients.tolist()


def test_a_context_column_has_constants_of_its_own(typed: Path) -> None:
    table = pq.read_table(typed / "data/completions.parquet")
    device = pa.array([("phone", "desktop")[hash(name) % 2] for name in table["typing_session"].to_pylist()])
    pq.write_table(table.append_column("device", device), typed / "device.parquet")
    done = wayword("acceptance", typed / "workspace", typed / "device.parquet", "--by", "device", "--json")
    names = [one["name"] for one in json.loads(done.out)["parameters"]]
    assert {"constant, phone", "constant, desktop"} <= set(names)
    refused = wayword("acceptance", typed / "workspace", typed / "device.parquet", "--by", "colour")
    assert refused.code == 2
    assert "lacks the column colour" in refused.err


def test_what_is_no_such_table_is_said(typed: Path) -> None:
    refused = wayword("acceptance", typed / "workspace", typed / "data/rankings.parquet")
    assert refused.code == 2
    assert "lacks the columns typing_session" in refused.err
    missing = wayword("acceptance", typed / "workspace", typed / "nowhere.parquet")
    assert (missing.code, "There is no file" in missing.err) == (2, True)
