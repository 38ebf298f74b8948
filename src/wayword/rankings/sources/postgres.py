"""PostgreSQL: a SQL template with bound values, such as `websearch_to_tsquery(%(query)s)` and `LIMIT %(depth)s`.

Sessions are read-only. Over a network, the server's certificate is verified, unless the endpoint has an `sslmode`.
"""

import ipaddress
import os
import threading
from collections.abc import Sequence
from typing import Any

from wayword.errors import EngineError, MissingExtra
from wayword.rankings.sources.source import Answer, Busy, Options, Refused, listed
from wayword.rankings.sources.sql_template import read_sql

_SECRETS = ("password", "passfile", "sslpassword", "sslkey")
_PLACES = ("host", "hostaddr", "service")


class Postgres:
    """A database; each thread has a connection of its own."""

    batch = most_batch = 1
    most_threads = 32

    def __init__(self, options: Options) -> None:
        self._psycopg = _psycopg()
        self._options = options
        self._sql = read_sql(options.template, "%(query)s")
        self._given = given_settings(options.endpoint or "")
        self._settings = connection_settings(self._given, options)
        self._own = threading.local()
        self._connections: list[Any] = []
        try:
            self._connection()
        except self._psycopg.Error as problem:
            raise EngineError(f"Cannot connect to PostgreSQL: {self._shown(problem)}") from None

    @property
    def identity(self) -> dict[str, Any]:
        """See `Source.identity`."""
        names = ("host", "hostaddr", "port", "dbname", "service", "options")
        return {"database": {n: self._given[n] for n in names if n in self._given}, "sql": self._sql}

    def ask(self, queries: Sequence[str], depth: int) -> list[Answer]:
        """See `Source.ask`."""
        return [self._answer(query, depth) for query in queries]

    def _answer(self, query: str, depth: int) -> Answer:
        try:
            with self._connection().cursor() as cursor:
                cursor.execute(self._sql, {"query": query, "depth": depth})
                return listed((row[0] for row in cursor.fetchmany(depth)), depth)
        except Refused as problem:
            return problem
        except self._psycopg.errors.QueryCanceled as problem:
            return Refused(f"no answer within {self._options.timeout:g} s: {self._shown(problem)}")
        except self._psycopg.OperationalError as problem:
            self._disconnect()
            return Busy(self._shown(problem))
        except self._psycopg.Error as problem:
            return Refused(self._shown(problem))

    def _connection(self) -> Any:
        connection = getattr(self._own, "connection", None)
        if connection is None:
            connection = self._psycopg.connect(**self._settings, autocommit=True, prepare_threshold=None)
            self._own.connection = connection
            self._connections.append(connection)
        return connection

    def _disconnect(self) -> None:
        connection, self._own.connection = getattr(self._own, "connection", None), None
        if connection is not None:
            connection.close()

    def _shown(self, problem: Exception) -> str:
        credentials = self._options.credentials
        text = str(problem).strip() or type(problem).__name__
        return (credentials.redact(text) if credentials else text)[:500]

    def close(self) -> None:
        """See `Source.close`."""
        for connection in self._connections:
            connection.close()


def _psycopg() -> Any:
    try:
        import psycopg
    except ImportError:
        raise MissingExtra("postgres", "`--from postgres`") from None
    return psycopg


def given_settings(endpoint: str) -> dict[str, str]:
    """The settings in a connection URL or string; one with a secret is refused."""
    psycopg = _psycopg()
    try:
        given = {name: value for name, value in psycopg.conninfo.conninfo_to_dict(endpoint).items() if value}
    except psycopg.Error:
        raise EngineError(
            "Cannot read the endpoint as a connection of PostgreSQL; expected one such as postgresql://host/database."
        ) from None
    if found := [name for name in _SECRETS if name in given]:
        raise EngineError(
            f"Found {', '.join(found)} in the endpoint; expected no secret there. Give user:password in an "
            "environment variable or a file (--credentials-env, --credentials-file), or use a password file of "
            "PostgreSQL."
        )
    return given


def connection_settings(given: dict[str, str], options: Options) -> dict[str, Any]:
    """All settings of a connection; those `given` in the endpoint go before."""
    limits = f"-c default_transaction_read_only=on -c statement_timeout={int(options.timeout * 1000)}"
    settings: dict[str, Any] = {"connect_timeout": max(2, int(options.timeout))}
    if options.ca is not None:
        settings |= {"sslmode": "verify-full", "sslrootcert": str(options.ca)}
    elif not _is_local(given):
        settings |= {"sslmode": "verify-full", "sslrootcert": "system"}
    if options.credentials is not None:
        user, password = options.credentials.user_and_password
        settings |= {"user": user, "password": password}
    return settings | given | {"options": f"{limits} {given.get('options', '')}"}


def _is_local(given: dict[str, str]) -> bool:
    """Whether a connection stays on this machine: a socket, or a loopback address; libpq also reads the environment."""
    known = {name: given.get(name) or os.environ.get(f"PG{name.upper()}", "") for name in _PLACES}
    hosts = known["hostaddr"] or known["host"]
    return not known["service"] and all(map(_is_loopback, hosts.split(",")))


def _is_loopback(host: str) -> bool:
    """
    >>> [_is_loopback(host) for host in ("", "/run/postgresql", "localhost", "::1", "10.0.0.1", "db.example")]
    [True, True, True, True, False, False]
    """
    if host in ("", "localhost") or host.startswith(("/", "@")):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
