"""How a report was made: what to type to make it again, and with what it was made."""

import shlex
import sys
from collections.abc import Sequence
from importlib import metadata

from wayword import __version__
from wayword.reproduction.presets import Preset
from wayword.reproduction.report.exhibits import Column, Section, Table, Text
from wayword.store.stage import threads

NAME = "origin"
LIBRARIES = (
    "duckdb",
    "libpecos",
    "matplotlib",
    "numpy",
    "pyarrow",
    "scikit-learn",
    "scipy",
    "tantivy",
    "xgboost",
)


def section(chosen: Preset, seed: int, seeds: int, only: Sequence[str]) -> Section:
    """The command, the settings that are not the defaults, and the versions."""
    settings = chosen.settings
    used = (
        f"{chosen.clicks:,} clicks; the retriever's log is passed through {settings.prefixes.passes} times, it learns "
        "from "
        f"{f'at most {settings.retriever.max_instances:,}' if settings.retriever.max_instances else 'all'} samples and "
        f"proposes {settings.retriever.candidates} candidates; the ranker learns from {settings.ranker.share:.0%} of "
        f"its searches, all of their contexts, in {settings.ranker.rounds} rounds."
    )
    return Section(
        NAME,
        "How this report was made",
        (
            Text(f"`{command(chosen, seed, seeds, only)}`"),
            Text(used),
            Table("origin", "Versions", (Column("What"), Column("Version")), tuple(_versions())),
        ),
    )


def command(chosen: Preset, seed: int, seeds: int, only: Sequence[str]) -> str:
    """What to type.

    >>> from wayword.reproduction.presets import preset
    >>> command(preset("packages", quick=True), 0, 3, ["core"])
    'wayword reproduce --world packages --clicks 6000 --quick --only core --seed 0 --seeds 3 --out DIR'
    """
    words = ["wayword", "reproduce", "--world", chosen.world, "--clicks", str(chosen.clicks)]
    words += ["--quick"] * chosen.quick
    words += [word for name in only for word in ("--only", name)]
    words += ["--seed", str(seed), "--seeds", str(seeds), "--out", "DIR"]
    return shlex.join(words)


def _versions() -> list[tuple[str, str]]:
    found = [("wayword", __version__), ("Python", sys.version.split()[0]), ("cores", str(threads()))]
    for name in LIBRARIES:
        try:
            found.append((name, metadata.version(name)))
        except metadata.PackageNotFoundError:
            found.append((name, "not installed"))
    return found
