"""Export: the served lists as files for existing engines, instead of a new service.

Engines complete a prefix, Wayword orders queries by where they lead: "mpv" may be the best completion of "video". So
there is an entry for each typed text and each of its completions, keyed by the text with a `;` as its end: the key of
"vid" is "vid;", which "video;" does not begin with. Every key of a file has as many `;`, the last at its end, so none
is the beginning of another. Weights decrease along a list, so the order is Wayword's.
"""

import hashlib
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from wayword.completion.completion import Completion
from wayword.errors import WaywordError
from wayword.progress import SILENT, Progress
from wayword.serving.completer import Served
from wayword.store.artefact import replacing

END, WRITTEN = ";", "%3B"
"""The end of a part of a key, and its escaped form within a part."""
LONGEST = 1000
"""Bytes of a key: Lucene refuses longer ones, and Solr then refuses the whole file."""
TELL_EVERY = 10_000


@dataclass(frozen=True)
class Entry:
    """A typed text, its context, and the list that is served for it."""

    typed: str
    context: dict[str, str]
    completions: list[Completion]
    columns: tuple[str, ...] = ()
    """All context columns of the index, in order."""

    @property
    def key(self) -> str:
        """The key: the text and the value of every column, empty where it is not known, each with its end.

        >>> Entry("tv", {"device": "phone"}, [], ("shop", "device")).key
        'tv;;phone;'
        >>> Entry("tv", {}, [], ("shop", "device")).key
        'tv;;;'
        """
        parts = [self.typed, *(self.context.get(column, "") for column in self.columns)]
        return "".join(_plain(part).replace(END, WRITTEN) + END for part in parts)


def export(
    served: Served,
    out: Path,
    form: str,
    *,
    k: int = 10,
    mode: str = "any",
    shortest: int = 1,
    reporter: Progress | None = None,
) -> int:
    """Write the lists of all known texts of at least `shortest` characters, all or nothing; returns their number."""
    if form not in FORMS:
        raise WaywordError(f"Found the form {form!r}; expected one of {', '.join(FORMS)}.")
    if not out.name or "\0" in out.name:
        raise WaywordError(f"Found {str(out)!r}; expected the name of a file.")
    lines, written = FORMS[form], 0
    try:
        with replacing(out) as file:
            for entry in entries(served, k, mode, shortest, reporter or SILENT):
                file.writelines(f"{line}\n" for line in lines(entry))
                written += 1
    except OSError as problem:
        raise WaywordError(f"Cannot write {out}: {problem.strerror}.") from problem
    return written


def entries(served: Served, k: int, mode: str, shortest: int, reporter: Progress) -> Iterator[Entry]:
    """The served list of every known or pinned text, sorted; empty lists are left out."""
    known, columns = served.known(), tuple(served.index.columns.values)
    for done, (typed, context) in enumerate(known):
        if done % TELL_EVERY == 0:
            reporter.advance(done, len(known))
        if len(typed) < shortest:
            continue
        if completions := served.complete(typed, k, context=context or None, mode=mode):
            yield Entry(typed, context, completions, columns)


def _json_lines(entry: Entry) -> Iterator[str]:
    completions = [{"query": c.query, "score": c.score, "source": c.source} for c in entry.completions]
    context = {"context": entry.context} if entry.context else {}
    yield json.dumps({"prefix": entry.typed, **context, "completions": completions}, ensure_ascii=False)


def _bulk(entry: Entry) -> Iterator[str]:
    """The bulk format: an action line and a document line."""
    for weight, one in _weighted(entry) if _fits(entry.key) else ():
        name = hashlib.sha256(f"{entry.key}\n{one.query}".encode()).hexdigest()[:32]
        yield json.dumps({"index": {"_id": name}})
        yield json.dumps(
            {"query": one.query, "completion": {"input": [entry.key], "weight": weight}}, ensure_ascii=False
        )


def _solr(entry: Entry) -> Iterator[str]:
    """A file dictionary: term, weight and payload between tabs."""
    for weight, one in _weighted(entry):
        shown = _plain(one.query)
        if _fits(term := entry.key + shown):
            yield f"{term}\t{weight}\t{shown}"


def _fits(text: str) -> bool:
    return len(text.encode()) <= LONGEST


def _plain(text: str) -> str:
    """Replace white space and control characters, some of which engines reserve, by one space.

    >>> _plain("a\\tb\\0")
    'a b'
    """
    return re.sub(r"[\s\x00-\x1f\x7f-\x9f]+", " ", text).strip()


def _weighted(entry: Entry) -> Iterator[tuple[int, Completion]]:
    yield from zip(range(len(entry.completions), 0, -1), entry.completions, strict=True)


FORMS: dict[str, Callable[[Entry], Iterator[str]]] = {
    "jsonl": _json_lines,
    "elasticsearch": _bulk,
    "opensearch": _bulk,
    "solr": _solr,
}
