"""Which column of a table is what: guessed by the usual names, or given as `--map query=search_term`."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from wayword.errors import LogError
from wayword.logs.importers.names import CONTEXTS, ROLES, forms, has_part, means_place, simple

REQUIRED = ("query", "document", "rank")


@dataclass(frozen=True)
class Mapped:
    """The column of each role, the context columns (name in the log by name in the file), and what was guessed."""

    roles: Mapping[str, str]
    contexts: Mapping[str, str]
    guessed: Mapping[str, str]
    unused: Sequence[str]
    notes: Sequence[str]

    @property
    def option(self) -> str:
        """The options that say the same."""
        return " ".join(
            f"--map {role}={quoted(name)}" for role, name in [*self.roles.items(), *self.contexts.items()]
        )


def parse(pairs: Sequence[str]) -> dict[str, str]:
    """The values of `--map`.

    >>> parse(["query=search_term", "rank=position"])
    {'query': 'search_term', 'rank': 'position'}
    """
    found: dict[str, str] = {}
    for pair in pairs:
        role, equals, name = pair.partition("=")
        if not (role.strip() and equals and name.strip()):
            raise LogError(
                f"Found --map {pair}; expected COLUMN_OF_THE_LOG=COLUMN_OF_THE_FILE, such as query=search_term."
            )
        found[role.strip()] = name.strip()
    return found


def find(
    names: Sequence[str],
    given: Mapping[str, str],
    *,
    source: str,
    ranked: bool = True,
    proposal: Callable[[Sequence[str]], str] = lambda _: "",
) -> Mapped:
    """The columns of a table: the given ones, and for others those with usual names; an error if that is ambiguous.

    Without `ranked` no rank is needed. The error ends with the `proposal` for missing columns.
    """
    _check_given(names, given, source=source)
    exact = {name.lower(): name for name in names}
    chosen = {role: exact[name.lower()] for role, name in given.items()}
    free = [name for name in names if name not in chosen.values()]
    guessed: dict[str, str] = {}
    doubtful: dict[str, list[str]] = {}
    notes: dict[str, Sequence[str]] = {}
    for role in ROLES:
        if role in chosen or role in ("clock", "results"):  # their values must tell
            continue
        fitting = listed(role, ROLES[role], [name for name in free if name not in guessed.values()])
        if len(fitting) > 1 and role in REQUIRED:
            doubtful[role] = fitting
        elif fitting:
            guessed[role] = fitting[0]
            if len(fitting) > 1:
                notes[role] = fitting[1:]
    roles = chosen | guessed
    contexts = {role: name for role, name in roles.items() if role not in ROLES}
    contexts |= {name: name for name in free if name not in roles.values() and simple(name) in CONTEXTS}
    required = REQUIRED[:1] if "results" in roles else REQUIRED if ranked else REQUIRED[:2]
    missing = [role for role in required if role not in roles and role not in doubtful]
    if "clicked" not in roles and "action" not in roles and missing == ["rank"] and not doubtful:
        raise LogError(_rankless(names, source=source))
    if doubtful or "query" in missing or "document" in missing:
        raise LogError(_ambiguous(names, missing, doubtful, source=source) + proposal(missing))
    unused = [name for name in names if name not in roles.values() and name not in contexts.values()]
    roles = {role: name for role, name in roles.items() if role in ROLES}
    guessed |= {n: f for n, f in contexts.items() if n not in given}
    return Mapped(roles, contexts, guessed, unused, _notes(guessed, notes, unused))


def _notes(
    guessed: Mapping[str, str], others: Mapping[str, Sequence[str]], unused: Sequence[str]
) -> list[str]:
    """What a person should know about guessed columns."""
    notes = [
        f"{role} is taken from {guessed[role]}; {', '.join(left)} could be meant as well"
        for role, names in others.items()
        if (left := [name for name in names if name in unused])
    ]
    return notes + [
        f"{name} seems to be the page of a result list. If {guessed.get('rank', 'the rank')} begins anew on each page, "
        "the ranks are wrong: export the rank within the whole list"
        for name in unused
        if means_place(name)
    ]


def quoted(name: str) -> str:
    """A name as an argument of a command."""
    return name if re.fullmatch(r"[\w.$-]+", name) else "'" + name.replace("'", "'\\''") + "'"


def listed(role: str, usual: tuple[str, str], names: Sequence[str]) -> list[str]:
    """The columns that may have a role, the likeliest first: one named like it, else those with the usual names, else
    those with a part of one."""
    names = [
        name for name in names if not name.startswith("_") or "." in name
    ]  # of an engine, such as _index
    for name in names:
        if name.lower() == role:
            return [name]
    for known in map(str.split, usual):
        places = {name: place for name in names for place, form in enumerate(known) if form in forms(name)}
        if places:
            return sorted(places, key=lambda name: places[name])
    return [name for name in names if has_part(name, role)]


def _check_given(names: Sequence[str], given: Mapping[str, str], *, source: str) -> None:
    known = {name.lower() for name in names}
    if missing := [name for name in given.values() if name.lower() not in known]:
        raise LogError(
            f"{source} has no column {', '.join(missing)} (given by --map).\n  found: {', '.join(names)}\n"
            "Give the name of one of these columns."
        )


def _rankless(names: Sequence[str], *, source: str) -> str:
    return (
        f"{source}: no column says at which rank (position) a clicked document was shown, which is needed to correct "
        f"for where people look.\n  found: {', '.join(names)}\n"
        "Give --map rank=COLUMN if one of these is it; else --rankings FILE, what your search returns (query, "
        "document, rank): each click then has the rank that its document has there. If a column lists the documents "
        "that the search returned, the best first (d1;d2;d3), give --map results=COLUMN."
    )


def _ambiguous(
    names: Sequence[str], missing: Sequence[str], doubtful: Mapping[str, Sequence[str]], *, source: str
) -> str:
    lines = [f"{source}: it is not clear which columns are meant.", f"  found: {', '.join(names)}"]
    for role, fitting in doubtful.items():
        options = " or ".join(f"--map {role}={quoted(name)}" for name in fitting)
        lines.append(f"  {role}: {' and '.join(fitting)} could be it; give {options}")
    if missing:
        lines.append(f"  {', '.join(missing)}: no column has a usual name")
        lines.append("Give " + " ".join(f"--map {role}=COLUMN" for role in missing) + ".")
    if "document" in missing:
        lines.append("A column that lists what a search returned (d1;d2;d3) is --map results=COLUMN.")
    return "\n".join(lines)
