"""`xmc:PATH`: a folder in the raw format of the Extreme Classification Repository (Appendix B).

`trn.json` holds one JSON object per line with `title` and `target_ind`, the line numbers (from 0) in
`lbl.json` of its labels; that holds one object per line with `uid` and `title`. Either may be gzipped.
Titles are queries, labels are documents; only the most frequent labels are kept.
"""

import gzip
import json
import zlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from operator import itemgetter
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from wayword.errors import WaywordError
from wayword.progress import SILENT, Progress
from wayword.rankings.document_ranker import DocumentRanker, bm25
from wayword.simulation.world import World
from wayword.simulation.worlds.related_packages import pairs_world
from wayword.text import normalise

LABELS = 50_000
LONGEST_LINE = 1 << 24
"""Characters of a line of a file; a longer one is refused rather than read."""


@dataclass(frozen=True)
class XmcData:
    """Content of the two files: `targets[i]` are the labels of `titles[i]` (normalised, not yet distinct)."""

    labels: pa.Table
    titles: list[str]
    targets: list[list[int]]
    untitled: int
    """Number of lines of trn.json with an empty title, which are skipped."""


def xmc_world(
    folder: Path | str,
    *,
    labels: int = LABELS,
    ranker: DocumentRanker = bm25,
    depth: int = 100,
    progress: Progress = SILENT,
) -> World:
    """Build the world from a folder, with a document ranker over label titles."""
    data = read_xmc(Path(folder))
    rows, columns = _edges(data)
    kept = _most_frequent(columns, data.labels.num_rows, labels)
    pairs = _kept_pairs(data, rows, columns, kept)
    if not pairs.num_rows:
        raise WaywordError(f"No title in {folder} has a label: there is nothing to search for.")
    return pairs_world(
        pairs,
        data.labels.filter(pa.array(kept)).combine_chunks(),
        ranker=ranker,
        fields=("title",),
        depth=depth,
        notes=_notes(data),
        progress=progress,
    )


def _notes(data: XmcData) -> tuple[str, ...]:
    return (f"Skipped {data.untitled:,} lines of trn.json without a title.",) if data.untitled else ()


def read_xmc(folder: Path) -> XmcData:
    """Read and check both files; an error names the file and the line."""
    labels, training_file = _read_labels(_find(folder, "lbl.json")), _find(folder, "trn.json")
    titles, targets, untitled = [], [], 0
    for line, row in _rows(training_file, "title", "target_ind"):
        title = normalise(row["title"] or "")
        _check_targets(row["target_ind"], labels.num_rows, training_file, line)
        if title:
            titles.append(title)
            targets.append(row["target_ind"])
        else:
            untitled += 1
    return XmcData(labels, titles, targets, untitled)


def _read_labels(path: Path) -> pa.Table:
    rows = [(str(row["uid"]), row["title"] or "") for _, row in _rows(path, "uid", "title")]
    uid, times = max(Counter(uid for uid, _ in rows).items(), key=itemgetter(1), default=("", 0))
    if times > 1:
        raise WaywordError(f"{path}: uid {uid!r} stands in {times} lines; expected one line per label.")
    columns = {
        "document": [_writable(uid) for uid, _ in rows],
        "title": [_writable(title) for _, title in rows],
    }
    return pa.table(columns, schema=pa.schema([("document", pa.string()), ("title", pa.string())]))


def _writable(text: str) -> str:
    """Replace lone surrogates, which JSON can hold and UTF-8 cannot."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _find(folder: Path, name: str) -> Path:
    for path in (folder / f"{name}.gz", folder / name):
        if path.is_file():
            return path
    raise WaywordError(f"Found neither {name}.gz nor {name} in {folder}; expected a raw data set.")


def _rows(path: Path, *keys: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the line numbers and objects of a JSON Lines file; every object must have the keys."""
    with _open(path) as lines:
        number = 0
        try:
            for number, line in enumerate(iter(lambda: lines.readline(LONGEST_LINE + 1), ""), start=1):
                if len(line) > LONGEST_LINE:
                    raise WaywordError(f"{path}, line {number}: longer than {LONGEST_LINE:,} characters.")
                row = json.loads(line)
                if not isinstance(row, dict) or not all(key in row for key in keys):
                    raise WaywordError(f"{path}, line {number}: expected an object with {', '.join(keys)}.")
                if not isinstance(row["title"], str | None):
                    raise WaywordError(f"{path}, line {number}: a title is text, not {row['title']!r:.60}.")
                yield number, row
        except (ValueError, OSError, EOFError, zlib.error) as problem:
            at = number if isinstance(problem, json.JSONDecodeError) else number + 1
            raise WaywordError(f"{path}, line {at}: not a line of JSON ({problem}).") from problem


def _open(path: Path) -> IO[str]:
    return gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8")


def _check_targets(targets: Any, count: int, path: Path, line: int) -> None:
    if not isinstance(targets, list) or not all(type(target) is int for target in targets):
        raise WaywordError(
            f"{path}, line {line}: target_ind must be a list of label numbers, not {targets!r:.60}."
        )
    outside = next((target for target in targets if not 0 <= target < count), None)
    if outside is not None:
        raise WaywordError(
            f"{path}, line {line}: label {outside} is not among the {count:,} lines of lbl.json."
        )


def _edges(data: XmcData) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return every (title, label) of the data as two arrays of numbers."""
    lengths = np.fromiter(map(len, data.targets), np.int64, len(data.targets))
    columns = np.fromiter(chain.from_iterable(data.targets), np.int64, int(lengths.sum()))
    return np.repeat(np.arange(len(data.targets)), lengths), columns


def _most_frequent(columns: NDArray[np.int64], count: int, keep: int) -> NDArray[np.bool_]:
    """Mark the `keep` most frequent labels, ties by number; never a label without a title.

    >>> _most_frequent(np.array([2, 2, 0, 1]), 4, 2).tolist()
    [True, False, True, False]
    """
    frequency = np.bincount(columns, minlength=count)
    kept = np.zeros(count, np.bool_)
    kept[np.argsort(-frequency, kind="stable")[:keep]] = True
    return kept & (frequency > 0)


def _kept_pairs(
    data: XmcData,
    rows: NDArray[np.int64],
    columns: NDArray[np.int64],
    kept: NDArray[np.bool_],
) -> pa.Table:
    rows, columns = rows[kept[columns]], columns[kept[columns]]
    titles = pa.array(data.titles, pa.string())
    pairs = pa.table(
        {
            "query": titles.take(pa.array(rows)),
            "document": data.labels["document"].combine_chunks().take(pa.array(columns)),
        }
    )
    distinct = pairs.group_by(["query", "document"], use_threads=False).aggregate([])
    return distinct.sort_by([("query", "ascending"), ("document", "ascending")])
