"""A run whose propensities are given, or estimated from what its searches showed."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from made_impressions import one_sentence

from commands import wayword
from shop import CLICKS, make_world
from wayword import pipeline
from wayword.config import Config
from wayword.engines import tables
from wayword.errors import ConfigError, LogError, WaywordError
from wayword.logs.impressions import TWICE
from wayword.plan import Inputs
from wayword.progress import Progress
from wayword.propensity.stage import ESTIMATE
from wayword.serving.completer import Completer
from wayword.simulation.simulate import write_world
from wayword.store.artefact import read_object
from wayword.store.stage import Stage
from wayword.store.workspace import Workspace

ALPHA = 0.5


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """People look at rank k as k^-0.5, where the default assumes 1/k."""
    out = tmp_path_factory.mktemp("data")
    return write_world(make_world(), clicks=CLICKS, alpha=ALPHA, swaps=0.5, out=out)


def settings(**propensity: Any) -> Config:
    return Config.parse({"evaluation": {"bootstrap": 50}, "propensity": propensity})


def run(data: Path, out: Path, config: Config, **other: Any) -> Workspace:
    return pipeline.run(data / "clicks.parquet", data / "rankings.parquet", out=out, config=config, **other)


@pytest.fixture(scope="module")
def estimated(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    out = tmp_path_factory.mktemp("estimated") / "w"
    return run(data, out, settings(source="log"), impressions=data / "impressions.parquet")


def curve(workspace: Workspace) -> pa.Table:
    return tables.read(workspace.folder("propensity"), "propensity")


def test_the_law_by_which_people_look_is_found_in_what_they_were_shown(estimated: Workspace) -> None:
    table = curve(estimated)
    assert table["rank"].to_pylist() == list(range(1, 9))
    assert table.slice(0, 1).to_pylist() == [{"rank": 1, "p": 1.0, "low": 1.0, "high": 1.0}]
    rank, p, low, high = (table[name].to_numpy()[1:] for name in ("rank", "p", "low", "high"))
    error = np.log(high / low) / (2 * 1.96)
    assert np.all(np.abs(np.log(p) + ALPHA * np.log(rank)) < 4.5 * error)
    assert np.all(error < 0.2)
    assert abs(estimated.report("propensity")["alpha"] - ALPHA) < 0.15  # α = 1 is far off
    said = estimated.report("propensity")["summary"]
    assert said.startswith("Propensities are estimated from the impressions (likelihood): p[2] = 0.")
    assert said.endswith("`wayword propensity` shows more.")


def test_how_it_was_estimated_is_kept(estimated: Workspace) -> None:
    kept = read_object(estimated.folder("propensity") / ESTIMATE)
    assert kept["method"] == "likelihood"
    assert kept["extrapolated_after_rank"] == 8
    assert [row["p"] for row in kept["propensity"]] == curve(estimated)["p"].to_pylist()


@pytest.mark.slow
def test_what_is_served_and_evaluated_is_what_the_same_table_gives_if_it_is_given(
    data: Path, estimated: Workspace, tmp_path: Path
) -> None:
    """Only the key of the stage tells the two runs apart."""
    shown = data / "impressions.parquet"
    given = pq.ParquetFile(estimated.folder("propensity") / "propensity.parquet").read()
    path = tmp_path / "p.parquet"
    pq.write_table(
        given.set_column(1, "p", pa.array(given["p"].to_numpy() * 0.3)).select(["rank", "p"]), path
    )
    told = run(data, tmp_path / "w", settings(source="file", file=str(path)), impressions=shown)
    assert curve(told)["p"].to_numpy() == pytest.approx(curve(estimated)["p"].to_numpy())
    assumed = run(data, tmp_path / "assumed", settings(), impressions=shown)
    for stage, name, column in (
        ("estimates", "estimates", "value"),
        ("estimates", "sessions", "value"),
    ):
        one, same, other = (
            tables.read(workspace.folder(stage), name)[column].to_numpy()
            for workspace in (estimated, told, assumed)
        )
        assert one == pytest.approx(same, rel=1e-6, nan_ok=True)
        assert not np.allclose(one, other, rtol=1e-3, equal_nan=True)
    one, same, other = (Completer.open(w).complete("la", k=5) for w in (estimated, told, assumed))
    assert [c.query for c in one] == [c.query for c in same]
    assert [c.score for c in one] == pytest.approx([c.score for c in same], rel=1e-4)
    assert [c.score for c in one] != pytest.approx([c.score for c in other], rel=1e-4)


def test_a_given_table_is_hashed_and_its_oddities_are_said(
    data: Path, estimated: Workspace, tmp_path: Path
) -> None:
    path = tmp_path / "p.csv"

    def stage() -> Stage:
        inputs = Inputs.at(data / "clicks.parquet", data / "rankings.parquet")
        return pipeline.stages(settings(source="file", file=str(path)), inputs, Progress())["propensity"]

    path.write_text("rank,p\n1,1\n2,0.4\n4,0.6\n")
    first = stage()
    (tmp_path / "new").mkdir()
    report = first.fill(tmp_path / "new", {"rankings": estimated.folder("rankings")})
    assert report["notes"] == [
        f"{path} lacks ranks 3, at which the log has results; expected a row for each: they are interpolated until you "
        "add them.",
        f"p rises in {path} to rank 4; expected less attention further down: correct it, unless the layout draws "
        "attention there.",
    ]
    assert all(map(one_sentence, report["notes"]))
    assert "Ranks 5–8 have the law's p." in report["summary"]
    assert tables.read(tmp_path / "new", "propensity")["p"].to_pylist()[1] == 0.4
    path.write_text("rank,p\n1,1\n2,0.4\n4,0.2\n")
    assert stage().inputs != first.inputs


def test_only_an_estimate_and_the_evaluation_depend_on_impressions(data: Path) -> None:
    files = (data / "clicks.parquet", data / "rankings.parquet")
    inputs = Inputs.at(*files, impressions=data / "impressions.parquet")
    for source, known in (("power", False), ("log", True)):
        planned = pipeline.stages(settings(source=source), inputs, Progress())
        after = {name for name, stage in planned.items() if "impressions" in stage.after}
        assert after == {"estimates", *(("propensity",) if known else ())}


def test_no_impressions_are_one_error_before_any_work(data: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r'Found propensity.source = "log" and no impressions'):
        run(data, tmp_path / "w", settings(source="log"))
    assert not (tmp_path / "w").exists()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"judged": True, "impressions": "impressions.parquet"}, "only a click log has impressions"),
        ({"first_rank": 0}, "Found first_rank = 0 and no impressions"),
        ({"first_rank": 2, "impressions": "impressions.parquet"}, "Found first_rank = 2; expected 0 or 1"),
        ({"impressions": "nowhere.parquet"}, "There is no file"),
    ],
)
def test_what_does_not_fit_is_refused(data: Path, tmp_path: Path, options: dict[str, Any], said: str) -> None:
    if "impressions" in options:
        options = {**options, "impressions": data / options["impressions"]}
    with pytest.raises(WaywordError, match=said):
        run(data, tmp_path / "w", settings(), **options)
    assert not (tmp_path / "w").exists()


@pytest.mark.parametrize(
    ("propensity", "said"),
    [
        ({"source": "file"}, "without propensity.file"),
        ({"file": "p.csv"}, 'with source = "power"; set source = "file" to use it'),
        ({"source": "clicks"}, "expected one of 'power', 'file', 'log'"),
    ],
)
def test_settings_that_contradict_are_refused(propensity: dict[str, str], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        settings(**propensity)


def without(column: str) -> Any:
    return lambda table: table.drop_columns([column])


def of_clicked_searches(table: pa.Table) -> pa.Table:
    """What searches with a click showed."""
    return table.filter(pc.is_in(table["search_id"], table.filter(table["clicked"])["search_id"]))


BAD: list[tuple[Any, str]] = [
    (without("clicked"), "lacks the column clicked"),
    (lambda t: t.slice(0, 0), "it has columns but no row"),
    (lambda t: t.filter(t["clicked"]), "no impression without a click"),
    (of_clicked_searches, "expected also the searches without a click"),
    (lambda t: t.set_column(4, "clicked", pa.array([False] * len(t))), "Found no click"),
    (lambda t: t.set_column(3, "rank", pa.array(np.array(t["rank"]) - 1)), "--first-rank 0"),
    (
        lambda t: t.set_column(3, "rank", pa.array(np.array(t["rank"]) + 1)),
        "Found ranks from 2 on; expected rank 1 too",
    ),
    (
        lambda t: t.set_column(3, "rank", pa.array(9 - np.array(t["rank"]))),
        "Found p that rises with the rank",
    ),
]


@pytest.mark.parametrize(("change", "said"), BAD, ids=[said for _, said in BAD])
def test_impressions_that_tell_nothing_are_one_clear_error(
    data: Path, tmp_path: Path, change: Any, said: str
) -> None:
    table = pq.read_table(data / "impressions.parquet")
    pq.write_table(change(table), tmp_path / "shown.parquet")
    with pytest.raises(LogError, match=said) as error:
        run(data, tmp_path / "w", settings(source="log"), impressions=tmp_path / "shown.parquet", force=True)
    assert one_sentence(str(error.value)) or "shown.parquet" in str(error.value)


ACCEPTED: dict[str, tuple[Any, str]] = {
    "duplicates": (lambda t: pa.concat_tables([t, t]), TWICE),
    "never shown": (
        lambda t: t.filter(pc.invert(pc.is_in(t["rank"], pa.array([3, 4], t["rank"].type)))),
        "Never shown: ranks 3–4, though others are down to 8; expected all",
    ),
}


@pytest.mark.parametrize("name", ACCEPTED)
def test_impressions_with_an_oddity_that_harms_nothing_are_used_and_it_is_said(
    data: Path, estimated: Workspace, tmp_path: Path, name: str
) -> None:
    change, said = ACCEPTED[name]
    path = tmp_path / "shown.parquet"
    pq.write_table(change(pq.read_table(data / "impressions.parquet")), path)
    inputs = Inputs.at(data / "clicks.parquet", data / "rankings.parquet", impressions=path)
    stages = pipeline.stages(settings(source="log"), inputs, Progress())
    at = {"rankings": estimated.folder("rankings"), "impressions": tmp_path / "i"}
    notes = []
    for stage, out in (("impressions", at["impressions"]), ("propensity", tmp_path / "p")):
        out.mkdir()
        report = stages[stage].fill(out, at)
        notes += report.get("notes", [])
        notes += [f"{count:,} {what}." for what, count in report.items() if what == TWICE and count]
    (note,) = [note for note in notes if said in note]
    assert one_sentence(note)
    p = tables.read(tmp_path / "p", "propensity")["p"].to_numpy()
    assert p == pytest.approx(curve(estimated)["p"].to_numpy(), rel=0.25 if name == "never shown" else 1e-9)


def test_pages_that_never_change_are_refused(tmp_path: Path) -> None:
    still = write_world(make_world(), clicks=500, swaps=0.0, out=tmp_path / "data")
    with pytest.raises(LogError, match="Found no query with a document that was shown at two ranks"):
        run(still, tmp_path / "w", settings(source="log"), impressions=still / "impressions.parquet")


@pytest.mark.slow
def test_the_command_takes_ranks_from_0_and_says_what_it_found(data: Path, tmp_path: Path) -> None:
    table = pq.read_table(data / "impressions.parquet")
    from_0 = pa.array(table["rank"].to_numpy() - 1)
    pq.write_table(table.set_column(3, "rank", from_0), tmp_path / "shown.parquet")
    (tmp_path / "w.toml").write_text('[propensity]\nsource = "log"\n[evaluation]\nbootstrap = 50\n')
    told = wayword(
        *["run", "--log", data / "clicks.parquet", "--rankings", data / "rankings.parquet"],
        *["--impressions", tmp_path / "shown.parquet", "--first-rank", 0],
        *["--config", tmp_path / "w.toml", "--out", tmp_path / "w"],
    )
    assert (told.code, told.out) == (0, b""), told.err
    clicks, searches = 4000, len(pq.read_table(data / "clicks.parquet"))
    assert f"Impressions: {8 * searches:,} of {searches:,} searches, {clicks:,} of them clicked;" in told.err
    assert "Propensities are estimated from the impressions (likelihood): p[2] = 0." in told.err
    assert "`wayword propensity` shows more." in told.err
