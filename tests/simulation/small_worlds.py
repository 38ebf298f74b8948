"""A catalogue small enough to reckon with by hand, and the worlds made of it."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from wayword.simulation.catalogue import KINDS
from wayword.simulation.world import World
from wayword.simulation.worlds.debian import debian_world
from wayword.simulation.worlds.packages import packages_world
from wayword.simulation.worlds.xmc import xmc_world

PACKAGES: dict[str, tuple[str, str, dict[str, list[str]]]] = {
    "mpv": ("Video player for the console", "video", {"recommends": ["yt-dlp"], "suggests": ["vlc"]}),
    "vlc": ("Multimedia player and video streamer", "video", {"depends": ["libav"], "suggests": ["mpv"]}),
    "yt-dlp": ("Downloader of video from the web", "web", {"enhances": ["mpv", "vlc"], "depends": ["mpv"]}),
    "mutt": ("Mail reader for the console", "mail", {"suggests": ["gnupg", "vim"], "recommends": ["gnupg"]}),
    "thunderbird": ("Mail and calendar with a mail reader", "mail", {"suggests": ["gnupg", "libav"]}),
    "vim": ("Text editor", "editors", {"suggests": ["mutt"]}),
    "emacs": ("Text editor, mail reader and more", "editors", {"suggests": ["mutt", "gnupg"]}),
    "gnupg": ("Privacy guard", "utils", {}),
    "gnupg-doc": ("Privacy guard: documentation", "utils", {"suggests": ["gnupg"]}),
    "libav": ("Library for video", "libs", {"depends": ["gnupg"]}),
    "old-mutt": ("mail reader for the console", "mail", {"depends": ["vim"], "suggests": ["mutt"]}),
}


def small_catalogue() -> pa.Table:
    """`PACKAGES` as a catalogue."""
    names = sorted(PACKAGES)
    rows = [PACKAGES[name] for name in names]
    lists = {kind: [[names.index(t) for t in row[2].get(kind, [])] for row in rows] for kind in KINDS}
    return pa.table(
        {
            "package": names,
            "title": [row[0] for row in rows],
            "section": [row[1] for row in rows],
            **{kind: pa.array(column, pa.list_(pa.int32())) for kind, column in lists.items()},
        }
    )


def fake_pecos(
    documents: pa.Table,  # noqa: ARG001
    relevant: pa.Table,
    queries: Sequence[str],
    *,
    depth: int,
    **_: Any,
) -> pa.Table:
    """Stand in for the PECOS ranker, an optional install: the documents of the pairs, in a turn that depends on the
    query."""
    names = sorted(set(relevant["document"].to_pylist()))
    rows = []
    for query in queries:
        start = len(query) % len(names)
        turned = (names[start:] + names[:start])[:depth]
        rows += [{"query": query, "document": name, "rank": r} for r, name in enumerate(turned, start=1)]
    return pa.Table.from_pylist(
        rows, schema=pa.schema([("query", pa.string()), ("document", pa.string()), ("rank", pa.int32())])
    )


def write_xmc(folder: Path) -> Path:
    """A data set in the repository's raw format."""
    labels = [
        ("B01", "Garden hose"),
        ("B02", "Hose reel"),
        ("B03", ""),
        ("B04", "Garden chair"),
        ("B05", "Table"),
    ]
    products = [
        ("Garden hose 30m", [0, 1]),
        ("garden HOSE, 30m", [3]),
        ("Garden chair", [3, 0, 2]),
        ("", [0]),
        ("Folding table", [4]),
        ("Reel", [1, 1]),
        ("Nothing known", []),
    ]
    folder.mkdir(parents=True, exist_ok=True)
    lines = [json.dumps({"uid": uid, "title": title}) for uid, title in labels]
    (folder / "lbl.json").write_text("\n".join(lines) + "\n")
    rows = [
        {
            "uid": f"P{n}",
            "title": title,
            "content": "",
            "target_ind": targets,
            "target_rel": [1.0] * len(targets),
        }
        for n, (title, targets) in enumerate(products)
    ]
    (folder / "trn.json").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


WORLDS: dict[str, Callable[[Path], World]] = {
    "packages": lambda _: packages_world(small_catalogue(), depth=5),
    "debian": lambda _: debian_world(small_catalogue(), depth=5),
    "debian-pecos": lambda _: debian_world(small_catalogue(), ranker=fake_pecos, depth=4),
    "xmc": lambda folder: xmc_world(write_xmc(folder), depth=3),
    "xmc-pecos": lambda folder: xmc_world(write_xmc(folder), labels=3, ranker=fake_pecos, depth=3),
}


def small_world(name: str, folder: Path) -> World:
    """One of `WORLDS`; the folder is for those that are read from files."""
    return WORLDS[name](folder)
