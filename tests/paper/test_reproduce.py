"""The whole reproduction on a small world built so that the outcome is known: orders, cache, spread, same bytes."""

import csv
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import built
import numpy as np
import pytest

from wayword.engines import tables
from wayword.errors import WaywordError
from wayword.paper import results as measured_results
from wayword.paper.experiments import EXPERIMENTS, encoders
from wayword.paper.experiments.comparisons import other_order
from wayword.paper.experiments.paper_numbers import ORDERS
from wayword.paper.reproduce import reproduce
from wayword.paper.results import Results
from wayword.paper.stages import LABELS, CandidateSet, load_list, of_labels
from wayword.progress import Progress
from wayword.simulation.worlds import WORLDS
from wayword.store.artefact import report_of
from wayword.store.workspace import Workspace

CLICKS = 40_000
NAME = f"built-{CLICKS}-quick-seed"
TIMES = ("time_steps", "time_encoders")
"""Tables of what was measured with a clock."""


@dataclass
class Told(Progress):
    """Remembers which stages were made and which were found."""

    made: list[str] = field(default_factory=list)
    found: list[str] = field(default_factory=list)

    def end(self, stage: str, *, reused: bool, seconds: float) -> None:  # noqa: ARG002
        (self.found if reused else self.made).append(stage)


@dataclass(frozen=True)
class Run:
    """A finished reproduction."""

    out: Path
    told: Told

    @property
    def workspace(self) -> Workspace:
        return Workspace.open(self.out / "workspace" / f"{NAME}-0")

    def results(self, experiment: str) -> Results:
        return Results.load(self.workspace.folder(experiment.replace("-", "_")))

    def table(self, name: str) -> list[dict[str, str]]:
        with (self.out / "tables" / f"{name}.csv").open(encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))


def run(out: Path, only: tuple[str, ...] = (), seeds: int = 1) -> Run:
    told = Told()
    written = reproduce("built", out=out, clicks=CLICKS, quick=True, only=only, seeds=seeds, reporter=told)
    assert written == out / "report.html"
    return Run(out, told)


def from_cache(whole: Run, out: Path, only: list[str], seeds: int = 1) -> Told:
    """Some experiments into another folder, from the workspace of a whole run, which is left as it was."""
    told = Told()
    place = whole.out / "workspace"
    manifests = {path: path.read_bytes() for path in place.glob("*/manifest.json")}
    artefacts = set(place.glob("*/artefacts/*"))
    reproduce(
        "built", out=out, clicks=CLICKS, quick=True, workspace=place, only=only, seeds=seeds, reporter=told
    )
    assert set(place.glob("*/artefacts/*")) == artefacts
    for path, manifest in manifests.items():
        path.write_bytes(manifest)
    return told


@pytest.fixture(scope="module", autouse=True)
def known_world() -> Iterator[None]:
    """The command knows the built world by name."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(WORLDS, "built", built.built_world)
        yield


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Every experiment, on two seeds."""
    return run(tmp_path_factory.mktemp("whole"), seeds=2)


def hard_share(found: Results) -> float:
    """The share of the test clicks that are on a hard document: the oracle has 1 for the others and 6 for these."""
    return (found.estimates["oracle", 1].value - 1) / (built.HARD - 1)


def test_the_policies_are_in_the_order_that_the_world_was_built_for(whole: Run) -> None:
    found = whole.results("core")
    h = hard_share(found)
    assert h == pytest.approx(1 / 7, abs=0.03)
    values = {
        name: found.estimates[name, 1].value
        for name in ("random", "retriever", "unbiased", "oracle", "ceiling")
    }
    assert values["retriever"] == pytest.approx(1.0, abs=0.02)
    best = (1 - h) / built.EASY + built.HARD * h
    assert values["unbiased"] == pytest.approx(best, rel=0.05)
    assert values["ceiling"] == pytest.approx(best, abs=1e-9)
    assert values["random"] < values["retriever"] < values["unbiased"] < values["oracle"]
    for better, worse in ORDERS["core"]:
        assert found.differences[better, worse, 1].low > 0


@pytest.mark.parametrize("variant", LABELS)
def test_every_label_puts_first_what_it_must(whole: Run, variant: str) -> None:
    workspace = whole.workspace
    texts = tables.read(workspace.folder("rankings"), "queries")["text"].to_pylist()
    listed = load_list(workspace.folder(of_labels(variant)), variant).top(1)
    first = [texts[q].split(" ")[1] for q in listed.query]
    share = sum(kind in built.FIRST[variant] for kind in first) / len(first)
    assert share > 0.75, (variant, {kind: first.count(kind) for kind in set(first)})


def test_correcting_for_position_wins_where_it_must(whole: Run) -> None:
    labels, propensities = whole.results("label-ablations"), whole.results("propensity-ablations")
    assert labels.differences["unbiased", "biased", 1].low > 0
    assert labels.differences["prescient@5", "prescient@1", 1].low > 0
    assert propensities.differences["unbiased", "misspecified@0.5", 1].low > 0
    verdicts = {row["The paper found"]: row["Verdict"] for row in whole.table("paper_orders")}
    assert verdicts["Unbiased > Biased"] == "as in the paper"
    assert verdicts["Misspecified (0.5) > Misspecified (2)"] == "the other way round"


def test_what_is_shown_is_what_was_measured(whole: Run) -> None:
    found = whole.results("core")
    for row in whole.table("core"):
        policy = {"PECOS": "retriever", "Most popular": "popular"}.get(row["Policy"], row["Policy"].lower())
        for k in (1, 5, 10):
            if row[f"Utility@{k}"]:
                assert float(row[f"Utility@{k}"]) == found.estimates[policy, k].value
                assert float(row[f"Utility@{k} low"]) == found.estimates[policy, k].low
    ways = {row["Policy"]: float(row["Way to ceiling @1"]) for row in whole.table("core")}
    assert (ways["Random"], ways["Ceiling"]) == (0.0, 1.0)


def test_sizes_are_parts_of_the_log_and_all_of_it_is_the_core_ranker(whole: Run) -> None:
    rows = whole.table("training_size")
    searches = [int(row["Searches"]) for row in rows]
    assert searches == sorted(searches)
    assert searches[1] == pytest.approx(searches[-1] / 10, rel=0.4)
    assert float(rows[-1]["Utility@1"]) == whole.results("core").estimates["unbiased", 1].value


def test_the_context_experiment_tests_the_same_searches(whole: Run) -> None:
    found, core = whole.results("context"), whole.results("core")
    assert found.searches == core.searches
    for policy in ("retriever", "unbiased", "ceiling", "oracle", "logged"):
        assert found.estimates[policy, 1].value == pytest.approx(core.estimates[policy, 1].value, rel=1e-9), (
            policy
        )


def test_guardrails_at_the_ends_of_the_dial_are_those_of_its_policies(whole: Run) -> None:
    read = json.loads((whole.workspace.folder("guardrails") / "guardrails.json").read_text())["metrics"]
    assert read["0.0"] == read["unbiased"]
    assert read["1.0"] == read["popular"]
    assert 0 <= read["random"]["MRR@10"] <= read["retriever"]["MRR@10"] <= 1


def test_a_sample_of_contexts_is_measured_on_its_own_searches(whole: Run, tmp_path: Path) -> None:
    workspace = whole.workspace
    at = {stage: workspace.folder(stage) for stage in ("rankings", "contexts", "propensity", "tests")}
    everything = CandidateSet.load(at["tests"])
    few = everything.of_contexts(everything.contexts[::3])
    measured = [
        measured_results.measure(tmp_path, at, {"retriever": m.candidates}, m) for m in (everything, few)
    ]
    instances = tables.read(at["contexts"], "instances").to_pylist()
    kept = [i for i in instances if i["split"] == "test" and i["context"] in set(few.contexts.tolist())]
    assert len(measured[1].own) == len(kept) < len(measured[0].own)
    assert measured[1].own.tolist() == [1.0] * len(kept)
    assert measured[1].lists["retriever"].sum() < measured[0].lists["retriever"].sum()


def test_encoders_are_compared_on_the_same_searches(whole: Run) -> None:
    found = whole.results("encoders")
    assert found.estimates["logged", 1].value == 1.0
    assert found.estimates["light", 1].value > found.estimates["retriever", 1].value
    installed = encoders.TRANSFORMER in encoders.models()
    assert (("minilm", "light", 1) in found.differences) == installed
    text = (whole.out / "report.md").read_text(encoding="utf-8")
    assert ("The transformer is not installed here" in text) == (not installed)


def test_statistics_by_arithmetic(whole: Run) -> None:
    facts = {row["Quantity"]: float(row["Value"]) for row in whole.table("statistics_world")}
    nouns = len(built.NOUNS)
    assert facts["Queries in the universe"] == 4 * nouns
    assert facts["Documents"] == 3 * nouns
    assert facts["Density of the graph"] == pytest.approx(6 * nouns / (12 * nouns**2))
    assert facts["B, largest ratio"] == built.HARD
    assert facts["K"] == 20
    rate = (1 + 1 / built.HARD) / sum(1 / k for k in range(1, built.DEPTH + 1))
    assert facts["Click rate"] == pytest.approx(rate)


def test_the_spread_has_every_seed(whole: Run) -> None:
    seeds = [Workspace.open(whole.out / "workspace" / f"{NAME}-{n}") for n in (0, 1)]
    values = [Results.load(w.folder("core")).estimates["unbiased", 1].value for w in seeds]
    assert values[0] != values[1]
    row = next(row for row in whole.table("seeds") if row["Policy"] == "Unbiased")
    assert float(row["Mean @1"]) == pytest.approx(sum(values) / 2)


def texts(out: Path) -> dict[str, str]:
    """Every table and figure but those of the clock."""
    files = [
        *(out / "tables").glob("*.csv"),
        *(out / "tables").glob("*.md"),
        *(out / "figures").glob("*.svg"),
    ]
    return {file.name: file.read_text(encoding="utf-8") for file in files if file.stem not in TIMES}


def test_a_second_run_does_nothing_and_writes_the_same_page(whole: Run) -> None:
    before = {name: (whole.out / name).read_bytes() for name in ("report.html", "report.md")}
    again = run(whole.out, seeds=2)
    assert again.told.made == []
    assert {name: (whole.out / name).read_bytes() for name in before} == before


def test_one_experiment_alone_leaves_the_others_in_the_workspace(whole: Run, tmp_path: Path) -> None:
    told = from_cache(whole, tmp_path, ["label-ablations"])
    assert told.made == []
    assert sorted(path.stem for path in (tmp_path / "tables").glob("*.csv")) == [
        "label_ablations",
        "label_ablations_differences",
        "label_ablations_labels",
        "origin",
        "time_steps",
    ]


@pytest.mark.slow
def test_a_fresh_run_gives_the_same_numbers_to_the_last_digit(whole: Run, tmp_path: Path) -> None:
    fresh = run(tmp_path / "fresh")
    expected = {name: text for name, text in texts(whole.out).items() if not name.startswith("seeds")}
    assert texts(fresh.out) == expected


def test_an_unknown_experiment_is_refused_before_any_work(tmp_path: Path) -> None:
    with pytest.raises(WaywordError, match="Did you mean 'label-ablations'"):
        run(tmp_path / "none", only=("labels-ablation",))
    assert not (tmp_path / "none").exists()
    with pytest.raises(WaywordError, match="has no parts"):
        reproduce(f"xmc:{tmp_path}", out=tmp_path / "none", only=["context"])


def test_the_lead_says_that_quick_is_a_trial_and_how_popular_completion_does(whole: Run) -> None:
    text = (whole.out / "report.md").read_text(encoding="utf-8")
    lead = text[: text.index("## Who leads")]
    assert "A quick trial, not to be quoted" in lead
    assert "the ranker and most popular completion: +" in lead
    assert "is on no page that they see" in lead
    values = whole.results("core").estimates
    assert f"{values['unbiased', 1].value:.2f} for the utility-aware ranker" in lead
    assert f"{values['popular', 1].value:.2f} for most popular completion" in lead


def test_the_markdown_has_the_numbers_of_the_csv(whole: Run) -> None:
    text = (whole.out / "report.md").read_text(encoding="utf-8")
    for row in whole.table("core"):
        value, low, high = (float(row[f"Utility@1{end}"]) for end in ("", " low", " high"))
        assert f"{value:.3f} ({low:.3f}–{high:.3f})" in text


def test_what_labels_tell_apart_by_arithmetic(whole: Run) -> None:
    labels, context = np.array([1.0, 0, 0, 5]), np.array([0, 0, 0, 1], np.int32)
    assert other_order(labels, 0 * labels, context) == 2 / 3
    rows = {row["Label"]: row for row in whole.table("label_ablations_labels")}
    assert float(rows["Unbiased"]["Pairs in another order than Unbiased"]) == 0.0
    assert float(rows["Prescient@1"]["Pairs in another order than Unbiased"]) > 0.0


def test_the_time_of_every_stage_is_kept_with_it(whole: Run) -> None:
    steps = {row["Step"]: float(row["Seconds"]) for row in whole.table("time_steps")}
    assert {"world", "part_world", "ranker_unbiased", "part_ranker_both", "core", "theory"} <= steps.keys()
    assert report_of(whole.workspace.folder("core"))["seconds"] == steps["core"]


def test_theory_alone_needs_no_log(tmp_path: Path) -> None:
    told = run(tmp_path, only=("theory",)).told
    assert told.made == ["theory"]
    assert [path.name for path in (tmp_path / "workspace").iterdir() if path.is_dir()] == [f"{NAME}-0"]


def test_seeds_repeat_what_is_asked_for(whole: Run, tmp_path: Path) -> None:
    told = from_cache(whole, tmp_path, ["core"], seeds=2)
    assert told.made == []
    assert "label_ablations" not in told.found
    assert "Of 8 comparisons" in (tmp_path / "report.md").read_text(encoding="utf-8")


def test_every_experiment_has_its_section(whole: Run) -> None:
    page = (whole.out / "report.html").read_text(encoding="utf-8")
    for name in (*EXPERIMENTS, "seeds", "time"):
        assert f'id="{name}"' in page, name
