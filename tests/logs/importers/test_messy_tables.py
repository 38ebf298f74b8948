"""Tables as other people's programs write them: names in other languages, signs in numbers, lists in JSON, bots."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from wayword.errors import LogError, WaywordError
from wayword.logs.importers.read import ImportedLog, import_log

MOMENT = datetime(2026, 12, 31, 23, 59, tzinfo=UTC)


def table(
    folder: Path, text: str, *, encoding: str = "utf-8", name: str = "log.csv", **options: Any
) -> ImportedLog:
    (folder / name).write_bytes(text.encode(encoding))
    return import_log(folder / name, out=folder / "out", **options)


def rows(log: ImportedLog, *names: str) -> list[tuple[Any, ...]]:
    found = pq.read_table(log.folder / "clicks.parquet").to_pylist()
    return [tuple(row.get(name) for name in names) for row in found]


@pytest.mark.parametrize(
    "header",
    [
        "Suchbegriff;Artikelnummer;Position;Zeitstempel;Kunde",
        "Suche;Produkt-ID;Klickposition;Zeit;Besucher",
        "Terme recherché;Réf. produit;Position du clic;Horodatage;ID client",
        "Búsqueda;Código de producto;Posición;Fecha;Cliente",
        "Termine di ricerca;Codice articolo;Posizione;Data;Cliente",
        "Zoekterm;Artikelnummer;Positie;Datum;Klant",
        "Fraza;Produkt;Pozycja;Data;Klient",
        "検索語;商品コード;順位;日時;会員ID",
        "Search Query;Clicked Product ID;Click Pos.;Date/Time;Customer No.",
        "Keyword;Target URL;Result position;Server time;Visitor ID",
    ],
)
def test_columns_are_found_by_their_names_in_many_languages(tmp_path: Path, header: str) -> None:
    log = table(tmp_path, f"{header}\ntv;a;3;31.12.2026 23:59;u\n")
    assert rows(log, "query", "document", "rank", "time", "user") == [("tv", "a", 3, MOMENT, "u")]


@pytest.mark.parametrize(
    ("written", "rank"),
    [
        *((each, 4) for each in ("#4", "4.", "4,0", "4.0", "Platz 4", "4 of 24", "4/24", "4th", "Pos. 4")),
        ("1.015", 1015),
        ("1,015", 1015),
    ],
)
def test_ranks_with_signs_and_words_are_read(tmp_path: Path, written: str, rank: int) -> None:
    log = table(tmp_path, f"query;document;rank\ntv;a;{written}\n")
    assert rows(log, "rank") == [(rank,)]


def test_words_that_stand_for_nothing_are_no_document(tmp_path: Path) -> None:
    log = table(tmp_path, "query;document;rank\ntv;n/a;-\nradio;None;NaN\nnone;a;1\n")
    assert rows(log, "query", "document", "rank") == [
        ("tv", None, None),
        ("radio", None, None),
        ("none", "a", 1),
    ]


@pytest.mark.parametrize(
    "written",
    [
        "31.12.2026, 23:59 Uhr",
        "31. Dez 2026, 23:59 Uhr",
        "31 décembre 2026 à 23:59",
        "31/12/26 23:59",
        "12/31/2026, 11:59 PM",
        "20261231235900",
        f"{(MOMENT - datetime(1899, 12, 30, tzinfo=UTC)) / timedelta(days=1):.6f}",
        "2026-12-31 23.59",
        "2026-12-31 23:59:00,000",
        "Fri Jan 01 2027 00:59:00 GMT+0100 (CET)",
    ],
)
def test_times_as_people_and_programs_write_them(tmp_path: Path, written: str) -> None:
    log = table(tmp_path, f"query\tdocument\trank\ttime\ntv\ta\t1\t{written}\n")
    ((found,),) = rows(log, "time")
    assert abs(found - MOMENT) < timedelta(seconds=1)


@pytest.mark.parametrize(("day", "clock"), [("Datum", "Uhrzeit"), ("Date", "Time"), ("Fecha", "Hora")])
def test_date_and_time_of_day_may_be_two_columns(tmp_path: Path, day: str, clock: str) -> None:
    log = table(tmp_path, f"query;document;rank;{clock};{day}\ntv;a;1;23:59;31.12.2026\n")
    assert rows(log, "time") == [(MOMENT,)]
    assert f"--map time={day} --map clock={clock}" in log.outcome.taken_as[0]


def test_times_that_cannot_be_read_are_shown(tmp_path: Path) -> None:
    log = table(tmp_path, "query;document;rank;time\ntv;a;1;2026-01-01\nradio;b;1;yesterday\n")
    (note,) = (note for note in log.outcome.notes if "times cannot be read" in note)
    assert note.startswith("1 times cannot be read, and are missing in the log: 'yesterday'")


def test_lines_above_the_names_and_below_the_rows_are_no_rows(tmp_path: Path) -> None:
    above = "Search report\nOctober; all shops\n\n"
    body = "query;document;rank;user\n" + "".join(f"q{n};a;1;u\n" for n in range(30))
    log = table(tmp_path, f"{above}{body}\nTotal;30;;\nEnd of the export\n")
    assert len(rows(log, "rank")) == 30
    assert any("End of the export" in note for note in log.outcome.notes)
    assert log.outcome.dropped == {"clicks without a rank from 1 to 10,000": 1}


@pytest.mark.parametrize("separator", ["^", "~", "\x01", "|"])
def test_further_separators(tmp_path: Path, separator: str) -> None:
    log = table(
        tmp_path,
        separator.join(("query", "document", "rank")) + "\n" + separator.join(("tv", "a", "1")) + "\n",
    )
    assert rows(log, "query", "document", "rank") == [("tv", "a", 1)]


def test_single_quotes_around_all_fields(tmp_path: Path) -> None:
    log = table(tmp_path, "'query';'document';'rank'\n'tv; radio';'a';'1'\n")
    assert rows(log, "query", "document", "rank") == [("tv; radio", "a", 1)]


def test_central_european_text_is_read_and_other_scripts_are_asked_for(tmp_path: Path) -> None:
    log = table(tmp_path, "query;document;rank\nłóżko;a;1\nżółta lampa;a;1\n", encoding="cp1250")
    assert rows(log, "query") == [("łóżko",), ("żółta lampa",)]
    russian = "query;document;rank\nкрасная лампа;a;1\n"
    with pytest.raises(LogError, match="--encoding windows-1251: красная лампа"):
        table(tmp_path, russian, encoding="cp1251")
    assert rows(import_log(tmp_path / "log.csv", out=tmp_path / "out", encoding="cp1251"), "query") == [
        ("красная лампа",)
    ]
    with pytest.raises(LogError, match="--encoding shift_jis: 赤いランプ"):
        table(tmp_path, "query;document;rank\n赤いランプ;a;1\n", encoding="shift_jis")


def test_the_query_is_taken_out_of_addresses(tmp_path: Path) -> None:
    text = "search_url\tdocument\trank\nhttps://shop.example/search?page=1&q=b%C3%BCgel+brett\ta\t1\n"
    assert rows(table(tmp_path, text), "query") == [("bügel brett",)]


def test_a_log_without_ranks_is_an_error_in_a_sentence_and_takes_them_from_rankings(tmp_path: Path) -> None:
    text = "Suchbegriff;Artikel\nTV;a\nradio;b\nradio;z\n"
    with pytest.raises(LogError, match=r"no column says at which rank (.|\n)* --rankings FILE"):
        table(tmp_path, text)
    (tmp_path / "found.csv").write_text("Suche;Platz;Artikel\ntv;0;b\ntv;1;a\nradio;0;b\n")
    log = table(tmp_path, text, rankings=tmp_path / "found.csv")
    assert rows(log, "query", "document", "rank") == [("TV", "a", 2), ("radio", "b", 1)]
    assert log.outcome.dropped == {"clicks without a rank from 1 to 10,000": 1}


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("wrapped", [False, True])
def test_clicks_in_a_list_of_each_search(tmp_path: Path, indent: int | None, wrapped: bool) -> None:
    searches: list[dict[str, Any]] = [
        {"query": "tv", "clicks": [{"product_id": "a", "position": 0}, {"product_id": "b", "position": 3}]},
        {"query": "radio", "clicks": []},
        {"query": "tv", "clicks": [{"product_id": "a", "position": 1}]},
    ]
    if wrapped:
        text = json.dumps({"query": "tv", "clicks": searches[0]["clicks"]}, indent=2)
        expected: list[tuple[Any, ...]] = [("tv", "a", 1), ("tv", "b", 4)]
    else:
        text = json.dumps(searches, indent=indent)
        expected = [("tv", "a", 1), ("tv", "b", 4), ("radio", None, None), ("tv", "a", 2)]
    log = table(tmp_path, text, name="log.json")
    assert sorted(rows(log, "query", "document", "rank"), key=str) == sorted(expected, key=str)
    assert len({search for (search,) in rows(log, "search_id")}) == (1 if wrapped else 3)


def test_results_in_a_list_of_each_search_are_impressions(tmp_path: Path) -> None:
    lines = [
        {"q": "tv", "results": [{"sku": "a", "clicked": False}, {"sku": "b", "clicked": True}]},
        {"q": "radio", "results": [{"sku": "c", "clicked": False}]},
    ]
    log = table(tmp_path, "\n".join(map(json.dumps, lines)), name="log.jsonl")
    assert [row for row in rows(log, "query", "document", "rank") if row[1]] == [("tv", "b", 2)]
    shown = pq.read_table(log.folder / "impressions.parquet").to_pylist()
    assert {(row["query"], row["document"], row["rank"]) for row in shown} == {
        ("tv", "a", 1),
        ("tv", "b", 2),
        ("radio", "c", 1),
    }


def test_columns_without_names_are_proposed_by_their_values_as_a_command(tmp_path: Path) -> None:
    text = "".join(f"2026-01-0{1 + n % 9} 10:00,red lamp {n % 3},sku{n % 7},{1 + n % 4}\n" for n in range(40))
    with pytest.raises(LogError) as refused:
        table(tmp_path, text)
    options = "--map query=column2 --map document=column3 --map rank=column4 --map time=column1"
    assert f"wayword import {tmp_path / 'log.csv'} {options} --out {tmp_path / 'out'}" in str(refused.value)


@pytest.mark.parametrize(
    ("cell", "said"),
    [
        ("d1;d 2;d3", "separated by ';'"),
        (" d1 | d 2|d3|", "separated by '|'"),
        ("d1,d 2,d3", "separated by ','"),
        ('["d1", "d 2", "d3"]', "in brackets"),
        ("['d1', 'd 2', 'd3']", "in brackets"),
    ],
)
def test_results_in_one_cell_are_the_impressions_of_their_search(
    tmp_path: Path, cell: str, said: str
) -> None:
    listed = '"' + cell.replace('"', '""') + '"'
    text = f"query,hits,sku,user,time\ntv,{listed},d 2,u,2026-01-01\ntv,{listed},,v,2026-01-01\nradio,,,w,2026-01-01\n"
    with pytest.raises(LogError, match="--map results=COLUMN"):
        table(tmp_path, text)
    log = table(tmp_path, text, mapping={"results": "hits"})
    assert f"results are lists of documents, the best first, {said}" in log.outcome.taken_as
    assert sorted(rows(log, "query", "document", "rank"), key=str) == [
        ("radio", None, None),
        ("tv", "d 2", 2),
        ("tv", None, None),
    ]
    shown = pq.read_table(log.folder / "impressions.parquet").to_pylist()
    assert len(shown) == 2 * len(("d1", "d 2", "d3"))
    assert {(row["document"], row["rank"]) for row in shown} == {("d1", 1), ("d 2", 2), ("d3", 3)}
    assert [row["document"] for row in shown if row["clicked"]] == ["d 2"]
    rankings = pq.read_table(log.folder / "rankings.parquet").to_pylist()
    assert [row["document"] for row in rankings] == ["d1", "d 2", "d3"]


def test_results_without_users_are_a_search_each_and_objects_are_no_documents(tmp_path: Path) -> None:
    text = 'query;hits\ntv;d1|d2\ntv;d1|d2\nradio;"[{""id"": 1}]"\n'
    log = table(tmp_path, text, mapping={"results": "hits"})
    assert rows(log, "query", "document") == [("tv", None), ("tv", None)]
    assert log.outcome.dropped == {"broken lines and values of the wrong type": 1}


def busy(people: int, searches: int) -> str:
    """A log of people who search twice, and a robot that searches every second."""
    lines = [f"tv;a;1;2026-01-01 10:{n % 60:02d}:0{k};u{n}" for n in range(people) for k in (1, 5)]
    lines += [f"radio {n};a;1;2026-01-01 11:{n // 60:02d}:{n % 60:02d};robot" for n in range(searches)]
    return "query;document;rank;time;user\n" + "\n".join(lines) + "\n"


@pytest.mark.parametrize(
    ("people", "searches", "way", "left_out"),
    [
        (500, 60, "auto", True),
        (500, 60, "keep", False),
        (500, 20, "auto", False),
        (100, 60, "auto", False),
        (100, 60, "drop", True),
    ],
)
def test_bots_are_left_out_unless_the_id_may_be_shared(
    tmp_path: Path, people: int, searches: int, way: str, left_out: bool
) -> None:
    log = table(tmp_path, busy(people, searches), bots=way)
    users = {user for (user,) in rows(log, "user")}
    assert ("robot" not in users) == left_out
    assert (
        log.outcome.dropped.get("rows of bots (users who search faster than people)", 0)
        == left_out * searches
    )
    noted = any("robot: 60 searches in one minute" in note for note in log.outcome.notes)
    assert noted == (searches == 60 and way != "keep")


def test_bots_are_left_out_of_events(tmp_path: Path) -> None:
    events = [(f"u{n}", f"s{n}", n) for n in range(600)] + [("robot", f"r{n}", n) for n in range(60)]
    text = "user,search_id,time,query,document,rank,action\n"
    for user, search, second in events:
        moment = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=second)
        at = f"{user},{search},{moment:%Y-%m-%d %H:%M:%S},tv"
        text += f"{at},,,search\n{at},a,1,click\n"
    log = table(tmp_path, text)
    assert {user for (user,) in rows(log, "user")} == {f"u{n}" for n in range(600)}
    with pytest.raises(WaywordError, match="Found --bots some; expected one of auto, drop, keep"):
        table(tmp_path, text, bots="some")


@pytest.mark.parametrize(("way", "left_out"), [("auto", True), ("keep", False)])
def test_bots_are_left_out_of_ubi(tmp_path: Path, way: str, left_out: bool) -> None:
    people = [(f"u{n}", f"s{n}", n) for n in range(600)] + [("robot", f"r{n}", n) for n in range(60)]
    lines: list[dict[str, Any]] = []
    for person, search, second in people:
        when = f"{datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=second):%Y-%m-%dT%H:%M:%SZ}"
        common = {"query_id": search, "client_id": person, "timestamp": when}
        object_ = {"object": {"object_id": "a"}, "position": {"ordinal": 1}}
        lines.append({**common, "user_query": "tv", "query_response_hit_ids": ["a", "b"]})
        lines.append({**common, "action_name": "click", "event_attributes": object_})
    text = "\n".join(map(json.dumps, lines))
    log = table(tmp_path, text, name="ubi.ndjson", bots=way)
    assert log.format == "ubi"
    assert ("robot" in {user for (user,) in rows(log, "user")}) != left_out
    assert log.outcome.dropped.get("rows of bots (users who search faster than people)", 0) == left_out * 120
    assert any("60 searches in one minute" in note for note in log.outcome.notes) == left_out


def beside(
    folder: Path, log: str, name: str, text: str, **options: Any
) -> tuple[ImportedLog, list[dict[str, Any]]]:
    (folder / "beside.csv").write_text(text, encoding="latin-1")
    done = table(folder, log, **{name: folder / "beside.csv", **options})
    return done, pq.read_table(folder / "out" / f"{name}.parquet").to_pylist()


STOCK: Sequence[tuple[str, bool]] = (
    ("ja", True),
    ("nein", False),
    ("nicht lieferbar", False),
    ("12", True),
    ("0", False),
    ("0,0", False),
    ("out of stock", False),
)


def test_products_under_any_names_become_the_document_table(tmp_path: Path) -> None:
    text = "Artikelnr.;Bezeichnung;Farbe;Lagerbestand\n"
    text += "".join(f"{n:04d};Bügel {n};weiß;{stated}\n" for n, (stated, _) in enumerate(STOCK))
    text += "0001;doppelt;rot;ja\n0099;;rot;ja\n0100;Lampe;rot;bald\n"
    log, found = beside(tmp_path, "query;document;rank\nbügel;1;1\nbügel;2;2\n", "documents", text)
    assert [(row["title"], row["available"]) for row in found] == [
        *((f"Bügel {n}", can) for n, (_, can) in enumerate(STOCK)),
        ("Lampe", True),
    ]
    assert {"1", "2"} <= {row["document"] for row in found}  # as in the log, without zeros
    assert found[0]["Farbe"] == "weiß"
    assert "documents are written as in the log (leading zeros, case)" in log.outcome.notes
    assert (
        "available: 'bald' (1) is neither yes nor no; these documents count as available" in log.outcome.notes
    )


def test_a_table_beside_the_log_has_columns_of_its_own(tmp_path: Path) -> None:
    click = "query;document;rank\ntv;a;1\n"
    with pytest.raises(
        LogError, match=r"no column has a usual name for title.*\n.*\nGive --map documents.title=COLUMN"
    ):
        beside(tmp_path, click, "documents", "sku;was\na;TV\n")
    _, found = beside(tmp_path, click, "documents", "sku;was\na;TV\n", mapping={"documents.title": "was"})
    assert found == [{"document": "a", "title": "TV"}]
    log, _ = beside(tmp_path, click, "documents", "sku;title\nzz;TV\n")
    assert any("only 0% of the clicked documents" in note for note in log.outcome.notes)


def test_rankings_under_any_names_begin_at_one(tmp_path: Path) -> None:
    text = "Suchbegriff;Platz;Artikelnummer\ntv;0;a\ntv;1;b\ntv;1;c\ntv;7;a\n;1;a\n"
    log, found = beside(tmp_path, "query;document;rank\ntv;a;1\n", "rankings", text)
    assert found == [{"query": "tv", "document": "a", "rank": 1}, {"query": "tv", "document": "b", "rank": 2}]
    assert any("positions begin at 0" in note for note in log.outcome.notes)
