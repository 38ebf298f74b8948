"""Wayword in process: how long answers, opening and building take. Each function wants a process of its own."""

import gc
import json
import shutil
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from pathlib import Path

import made_index
import numpy as np
import peers
from apart import peak, resident
from numpy.typing import NDArray
from typed_texts import TypedTexts

from wayword.completion.completion import Completion
from wayword.index.index import Index
from wayword.index.versions import ROOT
from wayword.pipeline import load_policies
from wayword.request import ANY
from wayword.serving.completer import Completer
from wayword.serving.parameters import SERVED
from wayword.serving.policy_completer import PolicyCompleter
from wayword.store.strings import Strings

K = 10
TURN = 200
OURS = "Wayword"
WARM_UP = 1000
COSTS = "costs.json"
Nanoseconds = NDArray[np.int64]


def made(folder: Path, queries: int, seed: int) -> Path:
    """The folder of an index over so many queries, and beside it what it cost; both are kept from an earlier run."""
    known = json.loads((folder / COSTS).read_text(encoding="utf-8")) if (folder / COSTS).exists() else {}
    if not known:
        shutil.rmtree(folder / ROOT, ignore_errors=True)
    asked, started = made_index.queries(queries, seed), time.monotonic()
    version = made_index.make(folder, asked, seed)
    if version.name != known.get("version"):
        seconds = time.monotonic() - started
        costs = {"version": version.name, "seconds": seconds, "gigabytes": peak() / 1024}
        (folder / COSTS).write_text(json.dumps(costs), encoding="utf-8")
    return version


def answers(index: Path, known: int, unknown: int) -> dict[str, Nanoseconds]:
    """Of each call, by the kind of text."""
    drawn = TypedTexts(index)
    asked = {
        "known": drawn.known(WARM_UP + known),
        "as typed": drawn.as_typed(WARM_UP + known),
        "misspelt": drawn.misspelt(WARM_UP // 10 + unknown // 2),
        "new words": drawn.with_new_words(WARM_UP // 10 + unknown // 2),
    }
    completer = Completer.open(index.parent)
    warm = {kind: WARM_UP if kind in ("known", "as typed") else WARM_UP // 10 for kind in asked}
    for kind, texts in asked.items():
        each(lambda prefix: completer.complete(prefix, K), texts[: warm[kind]])
    return {
        kind: each(lambda prefix: completer.complete(prefix, K), texts[warm[kind] :])
        for kind, texts in asked.items()
    }


def beside(index: Path, typed: list[str], names: Sequence[str]) -> dict[str, Nanoseconds]:
    """Of each call of Wayword and of some peers over the same queries, in turns of `TURN` texts: what disturbs the
    machine disturbs all of them."""
    texts, popularity = list(Strings.load(index, "texts")), np.load(index / "popularity.npy")
    completer = Completer.open(index.parent)
    ask: dict[str, Callable[[str], object]] = {OURS: lambda prefix: completer.complete(prefix, K)}
    with ExitStack() as stack:
        for name in names:
            peer = stack.enter_context(closing(peers.PEERS[name](texts, popularity)))
            ask[name] = lambda prefix, peer=peer: peer.complete(prefix, K)  # type: ignore[misc]
        each(ask[OURS], typed[:WARM_UP])
        turns = [typed[first : first + TURN] for first in range(0, len(typed), TURN)]
        times = [{name: each(complete, turn) for name, complete in ask.items()} for turn in turns]
    return {name: np.concatenate([turn[name] for turn in times]) for name in ask}


def each(complete: Callable[[str], object], texts: list[str]) -> Nanoseconds:
    """Nanoseconds of each call; the garbage collector is on, as in production."""
    clock, found = time.perf_counter_ns, np.zeros(len(texts), np.int64)
    for place, prefix in enumerate(texts):
        started = clock()
        complete(prefix)
        found[place] = clock() - started
    return found


def opening(index: Path) -> float:
    """Seconds."""
    started = time.perf_counter()
    Index.open(index)
    return time.perf_counter() - started


def as_peer(index: Path, typed: list[str], mode: str) -> peers.Cost:
    """What a peer is measured by; building is told by `made`."""
    gc.collect()
    before = resident()
    completer = Completer.open(index.parent)
    found = peers.timed(lambda prefix: completer.complete(prefix, K, mode=mode), typed)
    return peers.Cost(0.0, resident() - before, found)


def one_by_one(
    workspace: Path, texts: list[str], policy: str = SERVED, mode: str = ANY
) -> tuple[Nanoseconds, list[list[str]]]:
    """Answers of the index, or of a policy that is computed for each request: what each took, and the queries."""
    complete: Callable[[str], list[Completion]]
    if policy == SERVED:
        served = Completer.open(workspace)
        complete = lambda prefix: served.complete(prefix, K, mode=mode)  # noqa: E731
    else:
        computed = PolicyCompleter.open(workspace, load_policies)
        complete = lambda prefix: computed.complete(prefix, K, policy=policy, mode=mode)  # noqa: E731
    each(complete, texts[: WARM_UP // 10])
    lists: list[list[Completion]] = []
    found = each(lambda prefix: lists.append(complete(prefix)), texts)
    return found, [[one.query for one in completions] for completions in lists]
