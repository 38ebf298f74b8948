"""The members of the family of sources, by name."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path

from wayword.errors import EngineError
from wayword.rankings.sources.bm25 import EmbeddedBm25
from wayword.rankings.sources.exported import Exported
from wayword.rankings.sources.msearch import MultiSearch
from wayword.rankings.sources.postgres import Postgres
from wayword.rankings.sources.solr import Solr
from wayword.rankings.sources.source import Options, Source
from wayword.rankings.sources.sqlite import Sqlite
from wayword.rankings.sources.url import Url


@dataclass(frozen=True)
class Member:
    """How a source is opened, and which options it needs and takes."""

    open: Callable[[Options], Source]
    needs: tuple[str, ...]
    takes: tuple[str, ...] = ()


_HTTP = ("credentials", "ca")
MEMBERS: Mapping[str, Member] = {
    "opensearch": Member(MultiSearch, ("endpoint", "index", "template"), ("json_path", *_HTTP)),
    "elasticsearch": Member(MultiSearch, ("endpoint", "index", "template"), ("json_path", *_HTTP)),
    "solr": Member(Solr, ("endpoint", "index"), ("template", "json_path", *_HTTP)),
    "postgres": Member(Postgres, ("endpoint", "template"), _HTTP),
    "sqlite": Member(Sqlite, ("endpoint", "template")),
    "url": Member(Url, ("endpoint", "json_path"), _HTTP),
    "bm25": Member(EmbeddedBm25, ("documents",), ("language",)),
}
FILE = Member(Exported, ())


def open_source(name: str, options: Options) -> Source:
    """Open the source of this name, or the table at this path; options that are missing or of no use are an error."""
    member = MEMBERS.get(name)
    if member is None:
        if not Path(name).is_file():
            raise EngineError(
                f"Found --from {name}; expected one of {', '.join(MEMBERS)}, or a file of query, document and rank."
            )
        _check("a file", FILE, options)
        return FILE.open(replace(options, endpoint=name))
    _check(name, member, options)
    return member.open(options)


def _check(name: str, member: Member, options: Options) -> None:
    known = ("timeout", *member.needs, *member.takes)
    given = [field.name for field in fields(options) if getattr(options, field.name)]
    if missing := [_option(one) for one in member.needs if one not in given]:
        raise EngineError(
            f"--from {name} needs {', '.join(missing)}. docs/rankings.md has an example of each engine."
        )
    if useless := [_option(one) for one in given if one not in known]:
        raise EngineError(f"Found {', '.join(useless)}, which --from {name} does not use. Leave it out.")


def _option(field: str) -> str:
    return f"--{field.replace('_', '-')}"
