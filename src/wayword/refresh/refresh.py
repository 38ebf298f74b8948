"""Refresh a workspace: add new searches, learn again what they touch, build the next version of the index, compare it
with the current one, and promote it if it is not worse.

The artefacts are those of a run, made from those of the workspace: the same stages follow each other, and the manifest
is swapped at the end. A version that is not promoted leaves the workspace as it was.
"""

import shutil
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from wayword.completion import stage as completion
from wayword.config import Config, IndexConfig, PropensityConfig
from wayword.demand.artefact import RELEVANCE
from wayword.engines import Engine, tables
from wayword.errors import ConfigError, LogError, WorkspaceError
from wayword.index import versions
from wayword.index.build import SETTINGS, USED
from wayword.index.build import build as build_index
from wayword.index.versions import ROOT
from wayword.progress import SILENT, Progress
from wayword.propensity import stage as propensity
from wayword.rankings import availability
from wayword.rankings.availability import STAGE as AVAILABILITY
from wayword.refresh import contexts, demand, intentions, new_searches, numbering
from wayword.refresh.comparison import Decision, compare_versions
from wayword.refresh.touched import earlier_lists, touched_queries
from wayword.store.artefact import RECEIPT, report_of
from wayword.store.input_file import InputFile
from wayword.store.memory import limit_of_tables
from wayword.store.stage import Folders, Report, Stage
from wayword.store.workspace import Build, Workspace, building

Promote = Literal["if-better", "always", "never"]
UNRANKED = (
    "clicks from queries without a ranking",
    "clicks on documents that no ranking contains",
)
PAPER = ("retriever", "ranker")
"""Stages that a refresh leaves out: they are not served."""
ACCEPTANCE = "acceptance"
FEW_SEARCHES = 1_000_000
"""Up to so many searches of the log, one thread makes the tables: several spend more on waiting than they gain."""
AS_THEY_ARE = ("worth",)
"""Stages that stay those of the last full run."""


@dataclass(frozen=True)
class Refreshed:
    """The outcome of a refresh."""

    decision: Decision
    candidate: str
    """The version that was built."""
    current: str
    """The version that is served now."""
    counts: dict[str, int] = field(default_factory=dict)
    full_run_due: str = ""
    """Why a full run is due; empty if it is not."""

    @property
    def lines(self) -> list[str]:
        """What was learned, how the versions compare, and the decision, in words."""
        n, verdict = self.counts, self.decision.verdict
        if not n:
            return [f"Nothing is new: {self.decision.reason}. The current version is {self.current}."]
        known = f" ({n['searches known already']:,} more were known)" if n["searches known already"] else ""
        unranked = sum(n[name] for name in UNRANKED)
        lines = [
            f"{n['new searches']:,} new searches with {n['new clicks']:,} clicks{known}; they touch "
            f"{n['touched queries']:,} of {n['queries']:,} queries. "
            f"{n['lists'] - n['copied lists']:,} of {n['lists']:,} lists were computed again.",
            f"The newest {n['searches held out']:,} searches are held out of both versions; the next refresh learns "
            f"from them. This one learned from the {n['searches held out before']:,} that were held out before.",
        ]
        if unranked:
            lines.append(
                f"{unranked:,} clicks are of queries or documents without a ranking and teach nothing yet: get "
                "rankings of these queries and give them with --rankings."
            )
        lines += [verdict.sentence] if verdict else []
        what = (
            "is current now" if self.decision.promoted else f"is not promoted; {self.current} stays current"
        )
        lines.append(f"The next version {self.candidate} {what}: {self.decision.reason}.")
        if not self.decision.promoted:
            lines.append(
                "Its searches were not added to the workspace: give them again with the next ones, or with --promote "
                "always."
            )
        if self.full_run_due:
            lines.append(
                f"A full run is due, which learns all models anew (`wayword run`): {self.full_run_due}."
            )
        return lines

    def as_object(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        return {
            **self.decision.as_object(),
            "candidate": self.candidate,
            "current": self.current,
            "counts": self.counts,
            "full_run_due": self.full_run_due,
        }


@dataclass(frozen=True)
class Inputs:
    """The files of a refresh, opened."""

    logs: list[InputFile]
    rankings: list[InputFile]
    completions: InputFile | None = None

    @property
    def digests(self) -> dict[str, list[str]]:
        """The hashes of their contents."""
        shown = [self.completions] if self.completions else []
        given = {"logs": self.logs, "rankings": self.rankings, "completions": shown}
        return {name: [file.digest for file in files] for name, files in given.items()}


def refresh(
    workspace: Path | str,
    logs: Sequence[Path | str],
    rankings: Sequence[Path | str] = (),
    *,
    completions: Path | str | None = None,
    promote: Promote = "if-better",
    reporter: Progress = SILENT,
) -> Refreshed:
    """Add the searches of new logs to a workspace; see the top of the file.

    `rankings` has the result lists of new queries, or newer ones of known queries; `completions` are lists that people
    were shown in these searches, for a workspace that was made with such lists. Logs that were added before are
    skipped.
    """
    path = Path(workspace)
    Workspace.open(path)  # an error before anything is written
    with building(path, reporter) as build:
        opened = Workspace.open(path)
        _check(opened, completions)
        known = opened.report("log").get(new_searches.PARTS, ())
        given = [InputFile(Path(log)) for log in logs]
        inputs = Inputs(
            [file for file in given if file.digest not in known],
            [InputFile(Path(file)) for file in rankings],
            InputFile(Path(completions)) if completions else None,
        )
        for file in given:
            if file.digest in known:
                reporter.note(f"{file} was added by an earlier refresh and is skipped.")
        served = versions.current(path / ROOT)
        if not inputs.logs:
            return Refreshed(Decision(False, "there is no new log"), served.name, served.name)
        small = opened.report("log")["searches"] < FEW_SEARCHES
        with tables.tables_on(_one_thread) if small else nullcontext():
            return _refreshed(build, opened, inputs, served, promote, reporter)


def _one_thread() -> Engine:
    from wayword.engines.duck import DuckDB  # late: a command that is refused needs none

    return DuckDB(threads=1, memory=limit_of_tables())


def roll_back(workspace: Path | str) -> tuple[str, str]:
    """Make the version current that was served before; return the names of the new and the former current version."""
    root = Workspace.open(workspace).path / ROOT
    earlier, served = versions.previous(root), versions.current(root).name
    if earlier is None:
        raise WorkspaceError(
            f"{root} has no version that was served before {served}. `wayword index WORKSPACE --versions` lists those "
            "that there are, `--use VERSION` serves one."
        )
    versions.point(root, earlier)
    return earlier, served


def _check(workspace: Workspace, completions: Path | str | None) -> None:
    """Raise an error for a workspace that cannot be refreshed."""
    if completions is not None and ACCEPTANCE not in workspace.manifest["stages"]:
        raise ConfigError(
            f"{workspace.path} was made without lists shown, so they cannot be added. Run `wayword run --completions`."
        )
    if workspace.report("estimates")["depends"]["measure"]["variant"] != "unbiased":
        raise ConfigError(f"{workspace.path} was learned from judgments; only a click log can be refreshed.")
    if not (workspace.folder("demand") / f"{RELEVANCE}.values.npy").exists():
        raise WorkspaceError(
            f"{workspace.path} was made by an earlier version of Wayword, which did not keep what a refresh goes on "
            "from. Run `wayword run` once more."
        )


def _refreshed(
    build: Build, opened: Workspace, inputs: Inputs, served: Path, promote: Promote, reporter: Progress
) -> Refreshed:
    settings = opened.config
    before = {name: opened.folder(name) for name in opened.manifest["stages"]}
    build.reuse(opened, *(name for name in AS_THEY_ARE if name in before))
    for name, stage in stages(settings, inputs, opened, before, reporter).items():
        build.stage(name, stage)
    at, made = build.folders, build.workspace(settings.saved())
    touched = touched_queries(before, at)
    counts = _counts(at, int(touched.sum()))
    root = build.path / ROOT
    if _built_from(served, made):  # an earlier refresh was ended between promotion and the end
        candidate, decision = served, Decision(True, "it had been promoted before")
    else:
        config = _index_settings(served, settings)
        with reporter.stage("index"):
            earlier = earlier_lists(opened, served, config, before, at, touched)
            candidate, _ = build_index(made, config, reporter, current=False, earlier=earlier)
        with reporter.stage("comparison"):
            decision = Decision.of(compare_versions(at, candidate, served, settings), promote)
    counts |= {name: n for name, n in report_of(candidate).items() if name in ("lists", "copied lists")}
    if decision.promoted:
        if candidate != served:
            versions.point(root, candidate.name)
        build.finish(settings.saved())
        versions.prune(root, settings.index.versions)
    elif promote == "if-better":
        versions.discard(root, candidate.name)
    current = candidate if decision.promoted else served
    due = full_run_due(report_of(at["log"]), settings)
    return Refreshed(decision, candidate.name, current.name, counts, due)


def stages(
    settings: Config, inputs: Inputs, opened: Workspace, before: Folders, reporter: Progress
) -> dict[str, Stage]:
    """The stages of a refresh, in order."""
    source, files = settings.propensity, settings.completion
    curve = InputFile(Path(source.file)) if source.source == "file" else None
    corrections = InputFile(Path(files.variants)) if files.variants else None
    started = {"refreshed": opened.manifest["stages"], "files": inputs.digests}

    def follows(*tables: str) -> dict[str, Any]:
        return {**started, **settings.of_stage(*tables)}

    shown = (
        {ACCEPTANCE: _acceptance_stage(before, inputs, follows(), reporter)} if ACCEPTANCE in before else {}
    )
    supplied = ("rankings", "contexts", "propensity", *shown)

    return {
        "log": Stage(
            {**follows("log"), "refresh": msgspec.to_builtins(settings.refresh)},
            lambda new, _: new_searches.write(
                new, before["log"], inputs.logs, settings.log, settings.refresh
            ),
            files=tuple(inputs.logs),
        ),
        "rankings": Stage(
            follows("rankings"),
            lambda new, at: numbering.write(
                new,
                at,
                before["rankings"],
                settings.rankings,
                exported=inputs.rankings,
                source=", ".join(map(str, inputs.logs)),
            ),
            after=("log",),
            files=tuple(inputs.rankings),
        ),
        "contexts": Stage(
            follows("prefixes"),
            lambda new, at: contexts.write(new, at, before, settings.prefixes),
            after=("log", "rankings"),
        ),
        "propensity": Stage(
            follows("propensity"),
            lambda new, at: _propensity(new, at, before, source, curve),
            after=("rankings",),
            files=(curve,) if curve else (),
        ),
        **shown,
        **_availability(before, follows()),
        "demand": Stage(
            follows("demand"),
            lambda new, at: demand.write(new, at, before, "unbiased"),
            after=supplied,
        ),
        "completion": Stage(
            follows("prefixes", "completion"),
            lambda new, at: completion.write(
                new,
                at,
                settings.prefixes,
                settings.completion,
                corrections=corrections,
                learned=_learned(at, before),
                progress=reporter,
            ),
            after=(*supplied, "demand"),
            files=(corrections,) if corrections else (),
        ),
        "estimates": Stage(
            follows("evaluation"), lambda new, _: _earlier_estimates(new, before["estimates"])
        ),
    }


def _availability(before: Folders, depends: dict[str, Any]) -> dict[str, Stage]:
    """The stage availability, if the workspace has it: documents that are new can be had."""
    if AVAILABILITY not in before:
        return {}

    def move(new: Path, at: Folders) -> Report:
        documents = numbering.moved(before["rankings"], at["rankings"], "documents", "document_id")
        mask = np.ones(report_of(at["rankings"])["documents"], np.bool_)
        mask[documents] = availability.load(before[AVAILABILITY], len(documents))
        return availability.save(new, mask)

    return {AVAILABILITY: Stage(depends, move, after=("rankings",))}


def _learned(at: Folders, before: Folders) -> completion.Learned:
    """What the stage completion learned, in present numbers."""
    number = numbering.moved(before["rankings"], at["rankings"], "queries", "text")
    return completion.Learned.read(before["completion"], number, report_of(at["rankings"])["queries"])


def _acceptance_stage(before: Folders, inputs: Inputs, depends: dict[str, Any], reporter: Progress) -> Stage:
    return Stage(
        depends,
        lambda new, at: intentions.write(new, at, before, inputs.completions, reporter),
        after=("rankings", "propensity"),
        files=(inputs.completions,) if inputs.completions else (),
    )


def _propensity(
    new: Path, at: Folders, before: Folders, config: PropensityConfig, given: InputFile | None
) -> Report:
    """The propensities of all ranks; those that were estimated from impressions stay as they are."""
    if config.source != "log":
        return propensity.write(new, at, config, given)
    table = tables.read(before["propensity"], "propensity")
    ranks = pc.unique(
        pa.chunked_array([*_ranks(at["rankings"], "rankings"), *_ranks(at["rankings"], "numbered_clicks")])
    )
    unknown = ranks.filter(pc.invert(pc.is_in(ranks, value_set=table["rank"].combine_chunks())))
    if len(unknown):
        raise LogError(
            f"The new searches and rankings have {len(unknown):,} ranks without a propensity, such as "
            f"{unknown[0].as_py()}; expected those of the impressions that propensities were estimated from. Run "
            "`wayword run` with impressions of these ranks."
        )
    for file in before["propensity"].iterdir():
        if file.name != RECEIPT:
            shutil.copyfile(file, new / file.name)
    return report_of(before["propensity"])


def _ranks(folder: Path, name: str) -> list[pa.Array]:
    return tables.read(folder, name, "rank")["rank"].drop_null().chunks


def _earlier_estimates(new: Path, before: Path) -> Report:
    """Copy the estimates of the earlier log: `wayword evaluate` makes new ones, because something else is served.

    The ceiling is left out: it is of the earlier test searches, in their numbers.
    """
    report = report_of(before)
    for file in before.iterdir():
        if not file.name.startswith("ceiling") and file.name != RECEIPT:
            shutil.copyfile(file, new / file.name)
    left_out = ("impressions", *PAPER)
    return {**report, "after": [stage for stage in report["after"] if stage not in left_out]}


def _index_settings(served: Path, settings: Config) -> IndexConfig:
    """The settings with which the current version was built: `wayword index --config` may have given others."""
    known = report_of(served).get(SETTINGS)
    return settings.index if known is None else msgspec.convert(known, IndexConfig)


def _built_from(version: Path, made: Workspace) -> bool:
    """Whether a version of the index was built from these artefacts."""
    known = report_of(version).get("stages", {})
    return all(known.get(stage) == made.manifest["stages"][stage] for stage in USED)


def _counts(at: Folders, touched: int) -> dict[str, int]:
    log, ranked = report_of(at["log"]), report_of(at["rankings"])
    names = ("new searches", "new clicks", "searches known already", "searches held out before")
    return {
        "lists": 0,
        "copied lists": 0,
        **{name: log[name] for name in names},
        "searches held out": log["searches for test"],
        "searches": log["searches"],
        **{name: ranked.get(name, 0) for name in UNRANKED},
        "queries": ranked["queries"],
        "touched queries": touched,
    }


def full_run_due(log: Report, settings: Config) -> str:
    """Why a full run is due, or nothing."""
    share = log[new_searches.ADDED] / max(log["searches"], 1)
    if share >= settings.refresh.full_share:
        return f"{share:.0%} of the log's searches were added by refreshes"
    if log[new_searches.REFRESHES] >= settings.refresh.full_after:
        return f"{log[new_searches.REFRESHES]} refreshes since the last one"
    return ""
