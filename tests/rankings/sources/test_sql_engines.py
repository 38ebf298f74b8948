"""Sources that take SQL: they cannot write, and are bounded in time; a connection that breaks is made again."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from loopback_engine import make_certificate
from real_engines import postgres
from wayword.errors import EngineError
from wayword.rankings.sources.members import open_source
from wayword.rankings.sources.postgres import connection_settings, given_settings
from wayword.rankings.sources.source import Answer, Busy, Options, Refused

ENDLESS = "WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t) SELECT count(*) FROM t WHERE {query} <> ''"


@pytest.fixture
def database(tmp_path: Path) -> Path:
    with closing(sqlite3.connect(tmp_path / "shop.db")) as made, made:
        made.execute("CREATE TABLE products (id TEXT, title TEXT)")
        made.execute("INSERT INTO products VALUES ('vlc', 'player')")
    return tmp_path / "shop.db"


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with postgres() as address:
        import psycopg

        with psycopg.connect(address) as made:
            made.execute("CREATE TABLE products (id text, title text)")
            made.execute("INSERT INTO products VALUES ('vlc', 'player')")
        yield address


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_certificate(tmp_path_factory.mktemp("tls"))


def asked(
    name: str, endpoint: object, sql: str, *queries: str, folder: Path, timeout: float = 30
) -> list[Answer]:
    template = folder / "search.sql"
    template.write_text(sql)
    with closing(open_source(name, Options(str(endpoint), template=template, timeout=timeout))) as source:
        return source.ask(queries, 10)


def test_sqlite_is_opened_for_reading(database: Path, tmp_path: Path) -> None:
    (answer,) = asked(
        "sqlite", database, "DELETE FROM products WHERE title = :query", "player", folder=tmp_path
    )
    assert isinstance(answer, Refused)
    assert "attempt to write a readonly database" in str(answer)
    sql = "SELECT id FROM products WHERE title = :query; DROP TABLE products"
    assert isinstance(asked("sqlite", database, sql, "player", folder=tmp_path)[0], Refused)
    sql = "SELECT id FROM products WHERE title = :query LIMIT :depth"
    assert asked("sqlite", database, sql, "player", "a\0b", "' OR 1=1 --", folder=tmp_path) == [
        ["vlc"],
        [],
        [],
    ]


def test_a_statement_of_sqlite_ends_after_its_time(database: Path, tmp_path: Path) -> None:
    sql = ENDLESS.format(query=":query")
    (answer,) = asked("sqlite", database, sql, "player", folder=tmp_path, timeout=0.2)
    assert isinstance(answer, Refused)
    assert str(answer) == "shop.db: no answer within 0.2 s"


def test_a_locked_database_is_busy_and_a_missing_one_an_error(database: Path, tmp_path: Path) -> None:
    sql = "SELECT id FROM products WHERE title = :query"
    with closing(sqlite3.connect(database, isolation_level=None)) as writer:
        writer.execute("BEGIN EXCLUSIVE")
        (answer,) = asked("sqlite", database, sql, "player", folder=tmp_path, timeout=0.1)
        assert isinstance(answer, Busy)
        writer.execute("ROLLBACK")
    with pytest.raises(EngineError, match=r"There is no file .*none\.db"):
        asked("sqlite", tmp_path / "none.db", sql, "player", folder=tmp_path)
    assert not (tmp_path / "none.db").exists()


@pytest.mark.slow
def test_postgres_is_read_only(server: str, tmp_path: Path) -> None:
    sql = "DELETE FROM products WHERE title = %(query)s RETURNING id"
    (answer,) = asked("postgres", server, sql, "player", folder=tmp_path)
    assert isinstance(answer, Refused)
    assert "read-only transaction" in str(answer)
    sql = "SELECT id FROM products WHERE title = %(query)s; DROP TABLE products"
    assert isinstance(asked("postgres", server, sql, "player", folder=tmp_path)[0], Refused)
    sql = "SELECT id FROM products WHERE title = %(query)s LIMIT %(depth)s"
    found = asked("postgres", server, sql, "player", "a\0b", "' OR 1=1 --", folder=tmp_path)
    assert found[0] == ["vlc"]
    assert isinstance(found[1], Refused)  # PostgreSQL has no text with NUL
    assert found[2] == []


@pytest.mark.slow
def test_a_statement_of_postgres_ends_after_its_time(server: str, tmp_path: Path) -> None:
    sql = ENDLESS.format(query="%(query)s")
    (answer,) = asked("postgres", server, sql, "player", folder=tmp_path, timeout=0.2)
    assert isinstance(answer, Refused)
    assert "no answer within 0.2 s: canceling statement due to statement timeout" in str(answer)


@pytest.mark.slow
def test_a_connection_of_postgres_that_broke_is_made_again(server: str, tmp_path: Path) -> None:
    import psycopg

    template = tmp_path / "search.sql"
    template.write_text("SELECT id FROM products WHERE title = %(query)s LIMIT %(depth)s")
    with closing(open_source("postgres", Options(server, template=template))) as source:
        assert source.ask(["player"], 10) == [["vlc"]]
        with psycopg.connect(server, autocommit=True) as other:
            other.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()"
            )
        (answer,) = source.ask(["player"], 10)
        assert isinstance(answer, Busy)
        assert source.ask(["player"], 10) == [["vlc"]]


@pytest.mark.slow
def test_the_certificate_of_postgres_is_verified(certificate: Path, tmp_path: Path) -> None:
    template = tmp_path / "search.sql"
    template.write_text("SELECT %(query)s")
    with postgres(certificate) as address:
        port = parse_qs(urlsplit(address).query)["port"][0]
        local = f"postgresql://shop@127.0.0.1:{port}/postgres"
        options = Options(local, template=template, ca=certificate / "ca.pem")
        with closing(open_source("postgres", options)) as source:
            assert source.ask(["player"], 10) == [["player"]]
        for other in (
            Options(local + "?sslmode=verify-full&sslrootcert=system", template=template),
            Options(local.replace("127.0.0.1", "localhost"), template=template, ca=certificate / "ca.pem"),
        ):
            with pytest.raises(EngineError, match=r"certificate verify failed|does not match host name"):
                open_source("postgres", other)


def test_a_postgres_over_a_network_must_show_a_certificate(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("psycopg")

    def settings(endpoint: str) -> dict[str, Any]:
        return connection_settings(given_settings(endpoint), Options())

    assert settings("host=db.example dbname=shop")["sslmode"] == "verify-full"
    assert settings("postgresql://db.example/shop")["sslrootcert"] == "system"
    assert settings("postgresql://db.example/shop?sslmode=require")["sslmode"] == "require"
    assert "sslmode" not in settings("postgresql://127.0.0.1/shop")
    assert "sslmode" not in settings("postgresql:///shop")
    monkeypatch.setenv("PGHOST", "db.example")
    assert settings("postgresql:///shop")["sslmode"] == "verify-full"


@pytest.mark.slow
def test_a_database_that_is_not_there_is_an_error_at_once(server: str, tmp_path: Path) -> None:
    template = tmp_path / "search.sql"
    template.write_text("SELECT %(query)s")
    with pytest.raises(EngineError, match=r'Cannot connect to PostgreSQL: .*database "none" does not exist'):
        open_source("postgres", Options(server.replace("/postgres?", "/none?"), template=template))
