"""The worlds that can be simulated, by name."""

import difflib
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from wayword.errors import WaywordError
from wayword.progress import SILENT, Progress
from wayword.rankings.document_ranker import RANKERS, DocumentRanker, ranker_named
from wayword.simulation.catalogue import load_catalogue
from wayword.simulation.world import World
from wayword.simulation.worlds.debian import DENSE, debian_world
from wayword.simulation.worlds.packages import packages_world
from wayword.simulation.worlds.xmc import LABELS, xmc_world

Rankers = Mapping[str, DocumentRanker]


def _packages(catalogue: pa.Table, *, rankers: Rankers, **options: Any) -> World:  # noqa: ARG001 (always BM25)
    return packages_world(catalogue, **options)


def _debian(catalogue: pa.Table, *, rankers: Rankers, ranker: str, **options: Any) -> World:
    return debian_world(catalogue, ranker=ranker_named(ranker, rankers), **options)


WORLDS: dict[str, Callable[..., World]] = {
    "packages": _packages,
    "debian": partial(_debian, ranker="bm25"),
    "debian-pecos": partial(_debian, ranker="pecos"),
    "debian-dense": partial(_debian, ranker="bm25", titles=DENSE),
}
"""Worlds made from a catalogue."""
XMC = "xmc:"


def check_name(name: str) -> None:
    """Raise `WaywordError` for a name that `open_world` does not know."""
    if name not in WORLDS and not (name.startswith(XMC) and name != XMC):
        raise WaywordError(_unknown(name))
    if name.startswith(XMC) and not Path(name.removeprefix(XMC)).is_dir():
        raise WaywordError(
            f"There is no folder {name.removeprefix(XMC)}; expected one with trn.json and lbl.json."
        )


def open_world(
    name: str,
    *,
    depth: int = 100,
    ranker: str | None = None,
    labels: int | None = None,
    titles: int | None = None,
    rankers: Rankers = RANKERS,
    progress: Progress = SILENT,
) -> World:
    """Build a world by name: one of `WORLDS`, or `xmc:PATH`, which alone takes `ranker` and `labels`.

    `titles` samples those of the worlds `debian…`. `rankers` are the document rankers by name.
    """
    if name.startswith(XMC) and name != XMC:
        return xmc_world(
            name.removeprefix(XMC),
            ranker=ranker_named(ranker or "bm25", rankers),
            labels=LABELS if labels is None else labels,
            depth=depth,
            progress=progress,
        )
    check_name(name)
    if ranker is not None or labels is not None:
        raise WaywordError(
            f"The world {name!r} has its own ranker and documents; only xmc:PATH takes these options."
        )
    sampled = {} if titles is None else {"titles": titles}
    return WORLDS[name](load_catalogue(), rankers=rankers, depth=depth, progress=progress, **sampled)


def _unknown(name: str) -> str:
    known = [*WORLDS, f"{XMC}PATH"]
    nearest = difflib.get_close_matches(name, known, n=1, cutoff=0.0)[0]
    return f"Unknown world {name!r}. Did you mean {nearest!r}? Known: {', '.join(known)}."
