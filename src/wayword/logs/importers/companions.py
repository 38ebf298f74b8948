"""The tables beside a log, under any names of columns: documents (products) and rankings (what the engine returns).

They are written as `documents.parquet` (document, title, available and further columns) and `rankings.parquet` (query,
document, rank from 1). Where their documents are the log's but for leading zeros or case, they get its form.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from wayword.engines.duck import DuckDB
from wayword.errors import LogError
from wayword.logs.importers import records, sources, values
from wayword.logs.importers.columns import listed
from wayword.logs.importers.job import CLICKS, rows_of
from wayword.logs.importers.literals import quote, text
from wayword.logs.importers.names import ROLES, simple
from wayword.logs.importers.sources import Source
from wayword.logs.ubi.schema import DEEPEST_RANK

DOCUMENTS = "documents.parquet"
TITLE = (
    "title titel producttitle productname itemname articlename documenttitle produktname produkttitel "
    "bezeichnung "
    "produktbezeichnung artikelbezeichnung artikelname designation libelle libelleproduit nomproduit "
    "nomduproduit titre "
    "nombreproducto nombredelproducto titulo nomeprodotto titolo descrizionearticolo productnaam "
    "artikelnaam nazwa "
    "nazwaproduktu tytul nomeproduto nomedoproduto produktnamn nazev nazevproduktu 商品名 商品名称 название "
    "наименование",
    "name nom nombre nome naam namn label description beschreibung denominazione omschrijving opis "
    "descripcion text",
)
AVAILABLE = (
    "available availability isavailable instock stock stockstatus verfugbar verfugbarkeit lieferbar "
    "lagerbestand bestand "
    "auflager disponible disponibilite enstock disponibilidad existencias disponibile disponibilita "
    "giacenza voorraad "
    "opvoorraad beschikbaar dostepny dostepnosc stan disponivel estoque lager skladem",
    "status quantity qty menge anzahl active aktiv",
)
YES = (
    "true t 1 1.0 yes y ja j oui o si sí s sim tak da ano verfügbar lieferbar sofort auf lager am lager "
    "vorrätig available "
    "in stock instock in_stock active aktiv online disponible en stock disponibile op voorraad dostępny x"
)
NO = (
    "false f 0 0.0 no n nein non nee não nie ne nicht verfügbar ausverkauft vergriffen unavailable out of"
    " stock outofstock "
    "out_of_stock sold out inactive inaktiv offline discontinued indisponible rupture rupture de stock "
    "agotado "
    "no disponible esaurito non disponibile uitverkocht niet op voorraad niedostępny esgotado"
)
_PHRASES = {
    YES: ("auf lager", "am lager", "in stock", "en stock", "op voorraad", "sofort lieferbar"),
    NO: (
        "nicht verfügbar",
        "nicht lieferbar",
        "nicht auf lager",
        "out of stock",
        "sold out",
        "rupture de stock",
        "en rupture",
        "no disponible",
        "non disponibile",
        "niet op voorraad",
    ),
}
SAME, ALIKE = 0.5, 0.8
"""Documents are given the log's form if fewer than `SAME` of those clicked are there as they are, and at least `ALIKE`
but for leading zeros and case."""


@dataclass(frozen=True)
class Written:
    """A table that was written: how it was understood, its rows, and notes."""

    path: Path
    taken_as: str
    rows: int
    notes: tuple[str, ...]


def documents(path: Path, out: Path, mapping: Mapping[str, str], *, encoding: str | None = None) -> Written:
    """Write the table of documents into the folder `out`."""
    usual = {"document": ROLES["document"], "title": TITLE, "available": AVAILABLE}
    with _Table(path, encoding) as table:
        roles = table.roles(usual, ("document", "title"), mapping)
        further = [
            name
            for name in table.names
            if name not in roles.values() and simple(name) not in (*usual, "name")
        ]
        kept = {f"further {n}": name for n, name in enumerate(further)}
        rows = table.rows({**roles, **kept})
        stock = f", {_stock()} AS available, available AS stated" if "available" in roles else ""
        more = "".join(f", {quote(alias)} AS {quote(name)}" for alias, name in kept.items())
        table.engine.step(
            "described",
            f"""SELECT document, trim(title) AS title{stock}{more} FROM (
                  SELECT *, row_number() OVER () AS n FROM ({rows})) WHERE document IS NOT NULL AND trim(title) <> ''
                QUALIFY row_number() OVER (PARTITION BY document ORDER BY n) = 1 ORDER BY n""",
        )
        unclear = _unclear(table.engine) if stock else []
        target = out / DOCUMENTS
        log = _aligned(table.engine, "described", out / CLICKS)
        without = " EXCLUDE (stated)" if stock else ""
        table.engine.copy(f"SELECT *{without} FROM described", target)
        return table.written(target, "documents", roles, [*unclear, *log])


def rankings(path: Path, out: Path, mapping: Mapping[str, str], *, encoding: str | None = None) -> Written:
    """Write the table of rankings into the folder `out`."""
    usual = {role: ROLES[role] for role in ("query", "document", "rank")}
    with _Table(path, encoding) as table:
        roles = table.roles(usual, tuple(usual), mapping)
        table.engine.step(
            "listed",
            f"""SELECT query, document, CAST(rank AS INTEGER) AS rank, n FROM (
                  SELECT trim(query) AS query, document, TRY_CAST({values.rank("rank")} AS DOUBLE) AS rank,
                         row_number() OVER () AS n FROM ({table.rows(roles)}))
                WHERE query <> '' AND document IS NOT NULL AND rank = floor(rank)
                  AND rank BETWEEN 0 AND {DEEPEST_RANK}""",
        )
        first = rows_of(table.engine, "SELECT min(rank) AS rank FROM listed")[0]["rank"]
        notes = [f"{path}: positions begin at 0: 1 is added to all"] if first == 0 else []
        table.engine.step(
            "ranked",
            f"""SELECT query, document, CAST(rank + {int(first == 0)} AS INTEGER) AS rank FROM listed
                QUALIFY row_number() OVER (PARTITION BY query, document ORDER BY rank, n) = 1
                    AND row_number() OVER (PARTITION BY query, rank ORDER BY n) = 1 ORDER BY query, rank""",
        )
        notes += _aligned(table.engine, "ranked", out / CLICKS)
        target = out / "rankings.parquet"
        table.engine.copy("SELECT * FROM ranked", target)
        return table.written(target, "rankings", roles, notes)


class _Table:
    """A file, read as texts by an engine of its own."""

    def __init__(self, path: Path, encoding: str | None) -> None:
        self.path = path
        self._folder = TemporaryDirectory(prefix="wayword-table-")
        self.engine = DuckDB()
        source: Source | None = sources.read(path, 0, Path(self._folder.name), given=encoding, partial=False)
        if source is None:
            raise LogError(f"{path} is empty: it has 0 bytes. Expected a table.")
        self._source = source
        self._records = records.of(self.engine, [source])

    def __enter__(self) -> "_Table":
        return self

    def __exit__(self, *_: object) -> None:
        self.engine.close()
        self._folder.cleanup()

    @property
    def names(self) -> list[str]:
        """The columns."""
        names = self._records.names
        return [name for name in names if not any(other.startswith(f"{name}.") for other in names)]

    def roles(
        self, usual: Mapping[str, tuple[str, str]], needed: tuple[str, ...], given: Mapping[str, str]
    ) -> dict[str, str]:
        """The column of each role: the given one, else the first by its usual names."""
        found: dict[str, str] = {}
        exact = {name.lower(): name for name in self.names}
        for role, known in usual.items():
            free = [name for name in self.names if name not in found.values()]
            if role in given and given[role].lower() not in exact:
                raise LogError(
                    f"{self.path} has no column {given[role]} (given by --map).\n  found: {', '.join(self.names)}"
                )
            fitting = [exact[given[role].lower()]] if role in given else listed(role, known, free)
            if fitting:
                found[role] = fitting[0]
        if missing := [role for role in needed if role not in found]:
            options = " ".join(f"--map {self._kind(usual)}.{role}=COLUMN" for role in missing)
            raise LogError(
                f"{self.path}: no column has a usual name for {', '.join(missing)}.\n  found: {', '.join(self.names)}\n"
                f"Give {options}."
            )
        return found

    @staticmethod
    def _kind(usual: Mapping[str, object]) -> str:
        return "documents" if "title" in usual else "rankings"

    def rows(self, fields: Mapping[str, str]) -> str:
        """SQL for the rows with some columns."""
        self._records.replaced = {"document": f"nullif(trim({values.present('document')}), '')"}
        return self._records.relation(dict(fields), counting=True)

    def written(self, target: Path, kind: str, roles: Mapping[str, str], notes: list[str]) -> Written:
        """What was written, and how many lines were no rows."""
        rows = rows_of(self.engine, f"SELECT count(*) AS n FROM read_parquet({text(str(target))})")[0]["n"]
        read = max(1, self._source.lines)
        rejected, places = self._records.rejected({0: read})
        if not rows:
            target.unlink()
            raise LogError(
                f"{self.path}: none of the rows can be used. Are these the right columns? {dict(roles)}"
            )
        if rejected:
            notes = [*notes, f"{self.path}: {rejected:,} broken lines left out, such as {places[0]}"]
        said = " ".join(f"--map {kind}.{role}={name}" for role, name in roles.items())
        return Written(target, f"{kind}: {self.path} ({said})", rows, (*self._source.notes, *notes))


def _stock() -> str:
    """SQL for whether a document can be had; null if its value does not say."""
    stated = "lower(trim(available))"

    def among(words: str) -> str:
        return "(" + ", ".join(text(word) for word in (*words.split(), *_PHRASES[words])) + ")"

    number = "TRY_CAST(replace(available, ',', '.') AS DOUBLE)"
    return f"""CASE WHEN {stated} IN {among(NO)} THEN false WHEN {stated} IN {among(YES)} THEN true
                    WHEN {number} IS NOT NULL THEN {number} > 0 ELSE true END"""


def _unclear(engine: DuckDB) -> list[str]:
    """A note about values that do not say whether a document can be had."""
    known = "(" + ", ".join(text(w) for words in (YES, NO) for w in (*words.split(), *_PHRASES[words])) + ")"
    rows = rows_of(
        engine,
        f"""SELECT stated, count(*) AS n FROM described WHERE trim(stated) <> '' AND lower(trim(stated)) NOT IN {known}
              AND TRY_CAST(replace(stated, ',', '.') AS DOUBLE) IS NULL
            GROUP BY stated ORDER BY n DESC, stated LIMIT 3""",
    )
    if not rows:
        return []
    shown = ", ".join(f"{row['stated']!r} ({row['n']:,})" for row in rows)
    return [f"available: {shown} is neither yes nor no; these documents count as available"]


def _aligned(engine: DuckDB, table: str, clicks: Path) -> list[str]:
    """Give documents the form that they have in the log; a note if it was another, or if they are others."""
    if not clicks.exists():
        return []
    engine.step(
        "clicked",
        f"SELECT DISTINCT document FROM read_parquet({text(str(clicks))}) WHERE document IS NOT NULL",
    )
    key = "ltrim(lower(trim({})), '0')"
    share = rows_of(
        engine,
        f"""SELECT avg(CAST(document IN (SELECT document FROM {table}) AS INTEGER)) AS same,
                   avg(CAST({key.format("document")} IN (SELECT {key.format("document")} FROM {table}) AS INTEGER))
                   AS alike
            FROM clicked""",
    )[0]
    if share["same"] is None or share["same"] >= SAME:
        return []
    if share["alike"] < ALIKE:
        return [
            f"only {share['same']:.0%} of the clicked documents are in this table. Is its column of documents the one "
            "that the log has?"
        ]
    engine.step(
        table,
        f"""SELECT t.* REPLACE (coalesce(c.document, CASE WHEN (SELECT bool_or(document LIKE '0_%') FROM clicked)
                                     THEN t.document ELSE ltrim(t.document, '0') END) AS document) FROM {table} AS t
            LEFT JOIN (SELECT {key.format("document")} AS key, min(document) AS document FROM clicked GROUP BY key) AS c
            ON c.key = {key.format("t.document")}""",
    )
    return ["documents are written as in the log (leading zeros, case)"]
