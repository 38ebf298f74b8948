"""Which column of a table is what: guessed by the usual names, or given as `--map query=search_term`."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from wayword.errors import LogError

ROLES: dict[str, tuple[str, str]] = {
    "query": (
        "query searchterm searchterms searchquery searchstring searchtext searchphrase searchkeyword searchkeywords "
        "searchword querytext querystring userquery searchedterm searchedquery suchbegriff suchanfrage suchwort "
        "queryexpression termederecherche requete consulta",
        "q keyword keywords term terms phrase search suche recherche text",
    ),
    "document": (
        "document documentid docid itemid productid sku asin articleid objectid clickeddocument clickedid clickeditem "
        "clickedproduct clickedsku productsku itemsku listingid resultid contentid entityid documentuid",
        "doc item product article pid artikel artikelnummer artnr produkt produktid produit result url clickurl "
        "clickedurl target gtin ean isbn",
    ),
    "rank": (
        "rank position clickrank clickposition clickedposition clickedrank itemrank resultposition resultrank "
        "itemposition productposition serpposition listposition",
        "pos index ordinal slot place platz rang posicion itemindex",
    ),
    "search_id": (
        "searchid queryid searchqueryid searchuid searchqueryuid queryuid qid searchrequestid serpid",
        "requestid",
    ),
    "session": ("sessionid session", "sid visitid visit sessid"),
    "user": (
        "user userid visitorid clientid customerid anonid usertoken userpseudoid memberid shopperid anonymousid",
        "uid visitor customer cookie cookieid deviceid kunde kundennummer kundenid account accountid",
    ),
    "time": (
        "time timestamp datetime eventtime eventtimestamp clicktime querytime searchtime servertime servertimestamp "
        "occurredat createdat clickedat searchedat loggedat",
        "ts date zeit zeitpunkt zeitstempel datum created day",
    ),
    "prefix": ("prefix typedprefix typedtext", "typed"),
    "weight": ("weight", ""),
    "clicked": ("clicked isclicked isclick wasclicked", "click"),
    "action": ("action eventtype eventname actiontype actionname interaction interactiontype", "event type"),
}
"""The usual names of each column, without case, spaces and signs; the second ones count where there is none of the
first."""
CONTEXTS = [
    "device",
    "devicetype",
    "devicecategory",
    "platform",
    "locale",
    "language",
    "lang",
    "country",
    "region",
    "market",
    "site",
    "shop",
    "store",
    "storeid",
    "channel",
]
"""Columns that are context by their name: known before people type."""
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


def find(names: Sequence[str], given: Mapping[str, str], *, source: str) -> Mapped:
    """The columns of a table: the given ones, and for others those with usual names; an error if that is ambiguous."""
    _check_given(names, given, source=source)
    exact = {name.lower(): name for name in names}
    chosen = {role: exact[name.lower()] for role, name in given.items()}
    free = [name for name in names if name not in chosen.values()]
    guessed: dict[str, str] = {}
    doubtful: dict[str, list[str]] = {}
    notes = []
    for role in ROLES:
        if role in chosen:
            continue
        fitting = _fitting(role, [name for name in free if name not in guessed.values()])
        if len(fitting) > 1 and role in REQUIRED:
            doubtful[role] = fitting
        elif fitting:
            guessed[role] = fitting[0]
            if len(fitting) > 1:
                notes.append(
                    f"{role} is taken from {fitting[0]}; {', '.join(fitting[1:])} could be meant as well"
                )
    roles = chosen | guessed
    contexts = {role: name for role, name in roles.items() if role not in ROLES}
    contexts |= {name: name for name in free if name not in roles.values() and simple(name) in CONTEXTS}
    missing = [role for role in REQUIRED if role not in roles and role not in doubtful]
    if "clicked" not in roles and "action" not in roles and (missing or doubtful):
        raise LogError(_ambiguous(names, missing, doubtful, source=source))
    if doubtful or "query" in missing or "document" in missing:
        raise LogError(_ambiguous(names, missing, doubtful, source=source))
    unused = [name for name in names if name not in roles.values() and name not in contexts.values()]
    roles = {role: name for role, name in roles.items() if role in ROLES}
    return Mapped(
        roles, contexts, guessed | {n: f for n, f in contexts.items() if n not in given}, unused, notes
    )


def simple(name: str) -> str:
    """A name without case and signs; of a nested field, its last part.

    >>> simple("Search Term"), simple("_source.event.Product-ID")
    ('searchterm', 'productid')
    """
    return re.sub(r"[^a-z0-9]", "", name.rpartition(".")[2].lower())


def quoted(name: str) -> str:
    """A name as an argument of a command."""
    return name if re.fullmatch(r"[\w.$-]+", name) else "'" + name.replace("'", "'\\''") + "'"


def _fitting(role: str, names: Sequence[str]) -> list[str]:
    """The columns that may have a role, the likeliest first: one named like it, else those with the usual names."""
    for name in names:
        if name.lower() == role:
            return [name]
    for known in map(str.split, ROLES[role]):
        places = {name: place for name in names for place, form in enumerate(known) if form in _forms(name)}
        if places:
            return sorted(places, key=lambda name: places[name])
    return []


def _forms(name: str) -> tuple[str, str]:
    """The last part of a name, and of a nested field its last two.

    >>> _forms("click.product.id"), _forms("Product ID")
    (('id', 'productid'), ('productid', 'productid'))
    """
    return simple(name), simple("".join(name.split(".")[-2:]))


def _check_given(names: Sequence[str], given: Mapping[str, str], *, source: str) -> None:
    known = {name.lower() for name in names}
    if missing := [name for name in given.values() if name.lower() not in known]:
        raise LogError(
            f"{source} has no column {', '.join(missing)} (given by --map).\n  found: {', '.join(names)}\n"
            "Give the name of one of these columns."
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
    return "\n".join(lines)
