"""The files of a German shop as they come out of its systems: a click log, its products, and what its search returns.

People want articles with a law (one look per search, at rank k with probability 1/(k+1)); around it is what such files
have: latin-1, semicolons, a line above the header, positions from 0, rows that are there twice, a bot, empty queries,
queries in any case, a line of totals at the end, times and prices in the local form.
"""

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np

TYPES = {
    "Fernseher": ("43 Zoll", "55 Zoll", "65 Zoll"),
    "Kaffeemaschine": ("mit Mahlwerk", "für Pads", "mit Glaskanne"),
    "Küchenwaage": ("digital", "mechanisch"),
    "Wasserkocher": ("Edelstahl", "Glas"),
    "Bügeleisen": ("Dampf", "Reise"),
    "Bohrmaschine": ("Akku 18 V", "mit Kabel"),
    "Gartenschlauch": ("20 m", "50 m"),
    "Rasenmäher": ("Akku 36 V", "Benzin"),
    "Kopfhörer": ("Bluetooth", "mit Kabel"),
    "Lampe": ("Schreibtisch", "Stehleuchte", "Außen"),
    "Büroregal": ("Eiche", "Metall"),
    "Koffer": ("Hartschale", "Kabinengröße"),
}
COLOURS = ("schwarz", "weiß", "grün", "rot")
SYNONYMS = {
    "tv": "Fernseher",
    "kaffeevollautomat": "Kaffeemaschine",
    "waage": "Küchenwaage",
    "headset": "Kopfhörer",
}
LOG_COLUMNS = ("Suchbegriff", "Artikelnummer", "Position", "Zeitstempel", "Kunde", "Gerät", "Preis")
START = datetime(2026, 10, 1)


@dataclass(frozen=True)
class Article:
    """A product: its number has leading zeros, as in many a shop."""

    number: str
    title: str
    price: float
    available: bool


@dataclass(frozen=True)
class Event:
    """A search, with what was clicked at which position from 0, or without a click."""

    query: str
    article: Article | None
    position: int | None
    time: datetime
    customer: str
    device: str


def articles() -> list[Article]:
    """The catalogue: every type in each kind and colour."""
    rng = np.random.default_rng(7)
    titles = [
        f"{kind} {name} {colour}" for name, kinds in TYPES.items() for kind in kinds for colour in COLOURS
    ]
    return [
        Article(
            f"{4711 + 13 * place:07d}",
            title,
            float(np.round(rng.lognormal(4.5, 1.2), 2)),
            rng.random() > 0.05,
        )
        for place, title in enumerate(titles)
    ]


def results(query: str, catalogue: Sequence[Article], depth: int = 24) -> list[Article]:
    """What the shop's search returns: articles with most of the words, the cheaper ones first."""
    words = {SYNONYMS.get(word, word).lower() for word in query.lower().split()}
    score = {a.number: sum(word in a.title.lower() for word in words) for a in catalogue}
    found = [a for a in catalogue if score[a.number]]
    return sorted(found, key=lambda a: (-score[a.number], a.price))[:depth]


def queries() -> list[str]:
    """What people search, the most frequent first by no rule."""
    named = [f"{name} {more}" for name, kinds in TYPES.items() for more in ("", *kinds, *COLOURS)]
    rng = np.random.default_rng(11)
    return [
        str(text).strip().lower()
        for text in rng.permutation([*named, *SYNONYMS, "regal", "garten", "schlauch 50 m"])
    ]


def events(searches: int = 6000, seed: int = 3) -> list[Event]:
    """Searches of people: each wants one of the articles that fit, and clicks it if it is looked at."""
    rng = np.random.default_rng(seed)
    catalogue, texts = articles(), queries()
    popularity = 1 / np.arange(1, len(texts) + 1) ** 0.8
    chosen = rng.choice(len(texts), searches, p=popularity / popularity.sum())
    liking = {a.number: rng.gamma(0.3) for a in catalogue}
    shown = {text: results(text, catalogue) for text in texts}
    made = []
    for number, place in enumerate(chosen):
        text, page = texts[place], shown[texts[place]]
        article = position = None
        if page:
            weights = np.array([liking[a.number] for a in page])
            wanted = int(rng.choice(len(page), p=weights / weights.sum()))
            if rng.random() < 1 / (wanted + 1):
                article, position = page[wanted], wanted
        form = (text, text.title(), text.capitalize(), f" {text} ")[rng.choice(4, p=(0.7, 0.2, 0.05, 0.05))]
        time = START + timedelta(minutes=int(number * 60 * 24 * 30 / searches), seconds=int(rng.integers(60)))
        customer = f"K{rng.integers(searches // 4):05d}"
        made.append(
            Event(form, article, position, time, customer, ("Handy", "Tablet", "PC")[rng.integers(3)])
        )
    return made


def log_rows(found: Sequence[Event], *, first: int = 0, seed: int = 5) -> list[list[str]]:
    """The rows of the log, with duplicates, empty queries and a bot."""
    rng = np.random.default_rng(seed)
    rows = []
    for event in found:
        price = f"{event.article.price:,.2f}".translate(str.maketrans(",.", ".,")) if event.article else ""
        row = [
            event.query if rng.random() > 0.01 else "",
            event.article.number if event.article else "",
            "" if event.position is None else str(event.position + first),
            event.time.strftime("%d.%m.%Y %H:%M:%S"),
            event.customer,
            event.device,
            price,
        ]
        rows += [row] * (2 if rng.random() < 0.03 else 1)
    return rows + bot_rows(first)


def bot_rows(first: int = 0) -> list[list[str]]:
    """A price robot: 300 searches in a few minutes, always the first result."""
    catalogue = articles()
    rows = []
    for number in range(300):
        text = queries()[number % 40]
        if page := results(text, catalogue):
            time = (START + timedelta(days=9, seconds=number)).strftime("%d.%m.%Y %H:%M:%S")
            rows.append([text, page[0].number, str(first), time, "K99999", "PC", ""])
    return rows


def as_csv(rows: Sequence[Sequence[str]], header: Sequence[str], separator: str = ";") -> str:
    """Rows as people's programs write them."""
    text = io.StringIO()
    writer = csv.writer(text, delimiter=separator, lineterminator="\r\n")
    writer.writerow(header)
    writer.writerows(rows)
    return text.getvalue()


def write_log(path: Path, searches: int = 6000) -> Path:
    """The log: latin-1, with a line above the header and totals below."""
    rows = log_rows(events(searches))
    text = as_csv(rows, LOG_COLUMNS)
    path.write_bytes(
        f"Suchprotokoll Export 31.10.2026\r\n\r\n{text}\r\nSumme;{len(rows)};;;;;\r\nEnde des Exports\r\n".encode(
            "latin-1"
        )
    )
    return path


def write_products(path: Path) -> Path:
    """The products: latin-1, with texts of several lines, prices in the local form and stock in words."""
    rows = []
    for article in articles():
        price = f"{article.price:,.2f}".translate(str.maketrans(",.", ".,"))
        about = f'Unser "{article.title}":\nMit 2 Jahren Garantie; Versand frei.'
        rows.append([article.number, article.title, about, price, "ja" if article.available else "nein"])
    header = ("Artikelnummer", "Bezeichnung", "Beschreibung", "Preis", "Verfügbar")
    path.write_bytes(as_csv(rows, header).encode("latin-1"))
    return path


def write_results(path: Path, first: int = 0) -> Path:
    """What the shop's search returns for each query, positions from 0."""
    catalogue = articles()
    rows = [
        [text, str(place + first), article.number]
        for text in queries()
        for place, article in enumerate(results(text, catalogue))
    ]
    path.write_bytes(as_csv(rows, ("Suchbegriff", "Position", "Artikelnummer")).encode("latin-1"))
    return path
