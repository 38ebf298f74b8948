"""Credentials reach the engine and nothing else; certificates are verified."""

import base64
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from commands import wayword
from loopback_engine import LoopbackEngine, loopback_engine, make_certificate, matching
from wayword.errors import EngineError
from wayword.rankings.asking import Limits
from wayword.rankings.collect import collect
from wayword.rankings.sources.credentials import Credentials
from wayword.rankings.sources.members import open_source
from wayword.rankings.sources.source import Answer, Options

SECRET = "pa55 w/rd+%"  # noqa: S105
BASIC = base64.b64encode(f"ann:{SECRET}".encode()).decode()
FORMS = (SECRET, BASIC, "pa55%20w%2Frd%2B%25", "pa55+w%2Frd%2B%25", "t0ken-of-ann")


@pytest.fixture
def server() -> Iterator[LoopbackEngine]:
    with loopback_engine() as engine:
        yield engine


@pytest.fixture
def log(tmp_path: Path) -> Path:
    (tmp_path / "log.csv").write_text("query\nvideo\nfish\n")
    (tmp_path / "password").write_text(f"ann:{SECRET}\n")
    return tmp_path / "log.csv"


def arguments(address: str, log: Path, *more: object) -> list[object]:
    at = f"{address}/search?q={{query}}&n={{depth}}"
    out = log.parent / "rankings.parquet"
    fixed = ["rankings", "--from", "url", "--endpoint", at, "--json-path", "results[*].sku.id"]
    return [*fixed, "--queries", log, "--out", out, "--retries", 0, *more]


def written(folder: Path) -> bytes:
    """All that is in the folder, but for the file of the password."""
    return b"".join(path.read_bytes() for path in sorted(folder.iterdir()) if path.name != "password")


@pytest.mark.parametrize("status", [200, 401, 429])
def test_a_secret_is_sent_and_not_shown_even_if_the_server_repeats_it(
    status: int, server: LoopbackEngine, log: Path
) -> None:
    if status != 200:
        server.refusal = (status, {"error": {"reason": f"no {SECRET} or Basic {BASIC} or {FORMS[2]}"}})
    done = wayword(*arguments(server.address, log, "--credentials-file", log.parent / "password"))
    assert done.code == (0 if status == 200 else 2)
    assert server.requests[0][2]["Authorization"] == f"Basic {BASIC}"
    everything = done.out + done.err.encode() + written(log.parent)
    assert not [form for form in FORMS if form.encode() in everything]
    if status != 200:
        assert f"no *** or Basic *** or *** (status {status})" in " ".join(done.err.split())


def test_a_header_of_another_name_comes_from_the_environment(
    server: LoopbackEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOP_KEY", "t0ken-of-ann")
    credentials = Credentials.read(variable="SHOP_KEY", header="X-Api-Key")
    options = Options(
        server.address + "?q={query}&n={depth}", json_path="results[*].sku.id", credentials=credentials
    )
    open_source("url", options).ask(["video"], 10)
    assert server.requests[0][2]["X-Api-Key"] == "t0ken-of-ann"
    assert "t0ken" not in repr(options)


@pytest.mark.parametrize(
    "address", ["http://ann:hunter2@127.0.0.1:9", "http://hunter2@127.0.0.1:9", "https://a:hunter2@[::1]"]
)
def test_credentials_in_an_address_are_refused_and_not_shown(address: str, log: Path) -> None:
    done = wayword(*arguments(address, log))
    assert done.code == 2
    assert "Found credentials in the endpoint" in done.err
    assert "hunter2" not in done.err
    assert written(log.parent) == log.read_bytes()


def test_a_key_in_the_query_of_an_address_is_not_shown(server: LoopbackEngine, log: Path) -> None:
    options = Options(f"{server.address}/hunter2?key=hunter2&q={{query}}&n=", json_path="results[*].sku.id")
    with closing(open_source("url", options)) as source:
        for status in (400, 401, 503, 200):
            server.refusal = (status, "no")
            with pytest.raises(EngineError, match=r"status|JSON|answer") as problem:
                collect(source, [log], out=log.parent / "rankings.parquet", limits=Limits(retries=0))
            assert "hunter2" not in str(problem.value)
    assert b"hunter2" not in written(log.parent)


def test_a_password_of_postgres_in_the_address_is_refused_and_not_shown(tmp_path: Path) -> None:
    pytest.importorskip("psycopg")
    sql = tmp_path / "search.sql"
    sql.write_text("SELECT %(query)s")
    for address in (
        "postgresql://ann:hunter2@127.0.0.1/shop",
        "host=127.0.0.1 password=hunter2",
        "postgresql://127.0.0.1/shop?password=hunter2",
        "postgresql://ann:hunter2 @/x y=z",
    ):
        with pytest.raises(EngineError) as problem:
            open_source("postgres", Options(endpoint=address, template=sql, timeout=2))
        assert "hunter2" not in str(problem.value)
        assert problem.value.__cause__ is None


@pytest.mark.parametrize("text", ["", "\n", "two\nlines", "ünicode:x", "hunter2"])
def test_credentials_that_cannot_be_used_are_refused_and_not_shown(text: str, tmp_path: Path) -> None:
    (tmp_path / "password").write_text(text, encoding="utf-8")
    with pytest.raises(EngineError, match=r"file .*password (?:is empty|holds neither)") as problem:
        Credentials.read(file=tmp_path / "password")
    assert not text.strip() or text.strip() not in str(problem.value)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_certificate(tmp_path_factory.mktemp("tls"))


def test_a_certificate_of_ones_own_is_refused_without_its_authority(certificate: Path) -> None:
    def asked(address: str, ca: Path | None = None) -> list[Answer]:
        credentials = Credentials("ann:t0ken-of-ann")
        options = Options(
            address + "?q={query}&n={depth}", json_path="results[*].sku.id", ca=ca, credentials=credentials
        )
        with closing(open_source("url", options)) as source:
            return source.ask(["player"], 10)

    with loopback_engine(certificate / "both.pem") as server:
        with pytest.raises(
            EngineError, match=r"is not trusted: self-signed certificate\. If its .* with --ca"
        ):
            asked(server.address)
        assert not server.requests
        with pytest.raises(EngineError, match="is not trusted: Hostname mismatch"):
            asked(server.address.replace("127.0.0.1", "localhost"), certificate / "ca.pem")
        assert not server.requests
        assert asked(server.address, certificate / "ca.pem") == [matching("player")]


def test_a_file_without_certificates_is_refused(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text("none")
    options = Options("https://127.0.0.1:9/?q={query}", json_path="[*]", ca=tmp_path / "ca.pem")
    with pytest.raises(EngineError, match=r"Cannot read certificates \(PEM\) in .*ca\.pem"):
        open_source("url", options)
