"""Compilation in a second process, while the first prepares its data: a first run of the demo waits less.

The process learns from a log of a few searches, which calls the compiled functions that the demo calls, with the same
types. Numba's cache on disk hands them over; without a cache the demo compiles by itself, as it does what is not ready.
"""

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

TOPICS = ("video", "music", "photo", "mail", "game", "text")
KINDS = ("player", "editor", "library")
MISSPELT = "vidoe player"
"""A query that is compared with the right one."""
WORD = "player"
"""A query that is a word of others."""


@contextmanager
def compiling() -> Iterator[None]:
    """Compile in the background while the block runs."""
    with tempfile.TemporaryDirectory(prefix="wayword-") as scratch:
        command, null = [sys.executable, "-m", __name__, scratch], subprocess.DEVNULL
        process = subprocess.Popen(command, stdin=null, stdout=null, stderr=null)
        try:
            yield
        finally:
            process.kill()
            process.wait()


def needed() -> bool:
    """Return whether Numba has a cache, and the last of the functions that are compiled is not in it."""
    from wayword.index import record_bytes

    cache = record_bytes.fill.stats.cache_path  # type: ignore[attr-defined]
    return cache is not None and not any(Path(cache).glob("record_bytes.fill-*.nbi"))


def compile_all(folder: Path) -> None:
    """Learn from a small log in the folder, and evaluate all of Wayword's policies."""
    from wayword.config import Config
    from wayword.pipeline import load_policies, run
    from wayword.serving.policy_completer import PolicyCompleter

    log, documents = write_log(folder)
    config = Config.parse({"evaluation": {"compare": ["popular", "expected"], "bootstrap": 2}})
    learned = run(log, documents=documents, out=folder / "workspace", config=config)
    PolicyCompleter.open(learned, load_policies).complete("vid", 2)


def write_log(folder: Path) -> tuple[Path, Path]:
    """Write clicks on documents named after their topic and kind, and the documents; return the two paths."""
    names = [f"{topic}-{kind}" for topic in TOPICS for kind in KINDS]
    texts = {name: name.replace("-", " ") for name in names}
    clicks = [f"{i},{texts[name]},{name},1" for i, name in enumerate(names * 20)]
    clicks += [f"{len(clicks) + i},{query},{names[0]},1" for i, query in enumerate((MISSPELT, WORD))]
    log, documents = folder / "clicks.csv", folder / "documents.csv"
    log.write_text("\n".join(["search_id,query,document,rank", *clicks]))
    documents.write_text("\n".join(["document,title", *(f"{name},{text}" for name, text in texts.items())]))
    return log, documents


if __name__ == "__main__" and needed():
    compile_all(Path(sys.argv[1]))
