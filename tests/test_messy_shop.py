"""From the files of a shop as they are to an answer over HTTP in four commands, each of which names the next."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import messy_shop
from messy_shop import results
from servers import Server, serving

pytestmark = pytest.mark.slow


def command(line: str, folder: Path) -> str:
    """Run a command as a person types it; the one that it names as the next."""
    arguments = shlex.split(line)
    assert arguments[0] == "wayword"
    done = subprocess.run(
        [sys.executable, "-m", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
        env=os.environ | {"COLUMNS": "200"},
    )
    assert done.returncode == 0, done.stderr
    return next(
        found[1]
        for found in re.finditer(r"(?:Next|Over HTTP): (wayword (?:run|serve) .*)$", done.stderr, re.M)
    )


def from_files_to_answers(folder: Path, first: str) -> Server:
    """Import, run and serve, by the commands that are named; the server, which is stopped by the test."""
    second = command(first, folder)
    third = command(second, folder)
    verb, workspace = shlex.split(third)[1:]
    assert verb == "serve"
    with serving(folder / workspace) as server:
        assert server.queries("kaff")
        assert server.queries("kafeemasch")  # misspelt
        return server


def test_the_german_shop_of_a_new_user(tmp_path: Path) -> None:
    messy_shop.write_log(tmp_path / "suche.csv")
    messy_shop.write_products(tmp_path / "produkte.csv")
    messy_shop.write_results(tmp_path / "treffer.csv")
    first = "wayword import suche.csv --documents produkte.csv --rankings treffer.csv --out log"
    from_files_to_answers(tmp_path, first)
    kept = pq.read_table(tmp_path / "log/clicks.parquet").to_pylist()
    catalogue = messy_shop.articles()
    assert {row["user"] for row in kept}.isdisjoint({"K99999"})
    numbers = {text: [a.number for a in results(text, catalogue)] for text in messy_shop.queries()}
    clicks = [row for row in kept if row["document"]]
    assert len(clicks) > 1000
    assert all(numbers[row["query"].lower()][row["rank"] - 1] == row["document"] for row in clicks)


def test_a_spreadsheet_in_utf_16_and_a_product_list_without_rankings(tmp_path: Path) -> None:
    rows = [
        [
            event.query,
            event.article.number.lstrip("0") if event.article else "",
            "" if event.position is None else f"{event.position + 1}",
            event.time.strftime("%m/%d/%Y %I:%M %p"),
            event.customer,
        ]
        for event in messy_shop.events()
    ]
    header = ("Search Term", "Clicked Product", "Pos.", "Date/Time", "Customer No.")
    (tmp_path / "search log.csv").write_bytes(messy_shop.as_csv(rows, header, ",").encode("utf-16"))
    messy_shop.write_products(tmp_path / "products.csv")
    from_files_to_answers(tmp_path, "wayword import 'search log.csv' --documents products.csv --out log")
    shown = pq.read_table(tmp_path / "log/documents.parquet").to_pylist()
    assert {row["document"] for row in shown} == {a.number.lstrip("0") for a in messy_shop.articles()}
