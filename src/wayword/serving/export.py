"""Export: the served lists as files for engines that are already there, for those who want no new service.

Engines complete by what begins alike, Wayword by where queries lead: "mpv" may be the best completion of "video". So an
entry is made for each typed text and each of its completions, and found by the text with a `;` after it, which ends it:
what is looked up for "vid" begins with "vid;" and never with "video;". Every key of a file has as many `;`, the last at
its end, so none begins with another. Weights fall along a list, so the order is Wayword's.
"""

import hashlib
import json
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from wayword.completion.completion import Completion
from wayword.errors import WaywordError
from wayword.progress import SILENT, Progress
from wayword.serving.completer import Served
from wayword.store.artefact import to_disk

END, WRITTEN = ";", "%3B"
"""What ends a part of a key, and how it is written within one."""
LONGEST = 1000
"""Bytes that an entry of an engine may be found by; Lucene refuses more, in Solr the file with it."""
TELL_EVERY = 10_000


@dataclass(frozen=True)
class Entry:
    """A typed text, what is known of the context that it was typed in, and the list that is served for it."""

    typed: str
    context: dict[str, str]
    completions: list[Completion]
    columns: tuple[str, ...] = ()
    """All that the index knows, in their order."""

    @property
    def key(self) -> str:
        """What it is looked up by: the text and the value of every column, nothing where it is not known, each ended.

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
    """Write the lists of all known texts of at least so many characters; how many there were. All or nothing."""
    if form not in FORMS:
        raise WaywordError(f"Found the form {form!r}; expected one of {', '.join(FORMS)}.")
    if not out.name or "\0" in out.name:
        raise WaywordError(f"Found {str(out)!r}; expected the name of a file.")
    lines, written = FORMS[form], 0
    new = out.with_name(f".{out.name}.new")
    try:
        with new.open("w", encoding="utf-8") as file:
            for entry in entries(served, k, mode, shortest, reporter or SILENT):
                file.writelines(f"{line}\n" for line in lines(entry))
                written += 1
        to_disk(new)
        new.replace(out)
    except OSError as problem:
        raise WaywordError(f"Cannot write {out}: {problem.strerror}.") from problem
    finally:
        with suppress(OSError):
            new.unlink()
    return written


def entries(served: Served, k: int, mode: str, shortest: int, reporter: Progress) -> Iterator[Entry]:
    """What is served for every known text, in their order, pinned ones too; none without a completion."""
    known, columns = served.known(), tuple(served.index.columns.values)
    for done, (typed, context) in enumerate(known):
        if done % TELL_EVERY == 0:
            reporter.advance(done, len(known))
        if len(typed) >= shortest and (
            found := served.complete(typed, k, context=context or None, mode=mode)
        ):
            yield Entry(typed, context, found, columns)


def _json_lines(entry: Entry) -> Iterator[str]:
    completions = [{"query": c.query, "score": c.score, "source": c.source} for c in entry.completions]
    context = {"context": entry.context} if entry.context else {}
    yield json.dumps({"prefix": entry.typed, **context, "completions": completions}, ensure_ascii=False)


def _bulk(entry: Entry) -> Iterator[str]:
    """The bulk format: a line that names the document, a line that is it."""
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
    """White space and control characters, of which engines keep some for themselves, are one space.

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
