"""`GET /evaluation` gives the file as it is now, says what is wrong with it, and stops nothing else."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from runs import Made
from servers import Server, serving
from wayword.index.evaluation_file import FILE, LARGEST, Evaluation, PolicyPoint
from wayword.serving import openapi
from wayword.serving.options import Options
from wayword.serving.service import _ROUTES

ONE = Evaluation([PolicyPoint("popular", 0.9, 0.3)], verdict=["No difference."])
PLAIN = {
    "policies": [{"policy": "popular", "found": 0.9, "keystrokes": 0.3}],
    "curve": [],
    "keystroke_value": None,
    "verdict": ["No difference."],
}


@pytest.fixture(scope="module")
def server(undisturbed: Made, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(undisturbed.copy(tmp_path_factory.mktemp("evaluated") / "workspace"), "--rate", 0) as found:
        yield found


@pytest.fixture
def root(server: Server) -> Path:
    """The folder of the index, without an evaluation."""
    (server.workspace / "index" / FILE).unlink(missing_ok=True)
    return server.workspace / "index"


def test_a_run_is_evaluated(undisturbed: Made, server: Server, root: Path) -> None:
    content = (undisturbed.path / "index" / FILE).read_bytes()
    (root / FILE).write_bytes(content)
    got = server.get("/evaluation")
    assert got.status == 200
    assert got.headers["content-type"].startswith("application/json")
    assert got.body == content.strip()


def test_it_is_read_again_when_it_has_changed(server: Server, root: Path) -> None:
    assert server.get("/evaluation").status == 404
    assert server.get("/evaluation").json == {"error": "There is no evaluation; `wayword run` makes one."}
    ONE.save(root)
    first = server.get("/evaluation")
    assert (first.status, first.json) == (200, PLAIN)
    known = {"if-none-match": first.headers["etag"]}
    assert server.ask("GET", "/evaluation", headers=known).status == 304
    Evaluation([PolicyPoint("popular", 0.8, 0.3)]).save(root)
    changed = server.ask("GET", "/evaluation", headers=known)
    assert changed.status == 200
    assert changed.json["policies"][0]["found"] == 0.8


@pytest.mark.parametrize("content", [b"", b'{"policies": 3}', b" " * (LARGEST + 1), None])
def test_a_broken_file_is_said_and_stops_nothing(content: bytes | None, server: Server, root: Path) -> None:
    if content is None:
        os.mkfifo(root / FILE)
    else:
        (root / FILE).write_bytes(content)
    got = server.get("/evaluation")
    assert got.status == 503
    assert "`wayword index WORKSPACE` writes it anew" in got.json["error"]
    assert str(root) not in got.json["error"]
    assert server.queries("vi")
    assert server.get("/healthz").json["status"] == "ok"


def test_other_methods_are_refused(server: Server, root: Path) -> None:
    ONE.save(root)
    assert server.ask("POST", "/evaluation", b"{}").status == 405
    assert server.ask("HEAD", "/evaluation").status == 200
    assert server.ask("GET", "/evaluation", headers={"host": "evil.example"}).status == 421


def test_every_path_and_method_of_the_service_is_described() -> None:
    paths = openapi.describe(Options())["paths"]
    routes = {path: {m.lower() for m in methods} - {"head"} for path, methods in _ROUTES.items()}
    del routes["/openapi.json"]
    assert {path: set(methods) for path, methods in paths.items()} == routes


def test_the_description_has_the_fields() -> None:
    schemas = openapi.describe(Options())["components"]["schemas"]
    assert set(schemas["Evaluation"]["properties"]) == set(PLAIN)
    assert set(schemas["PolicyPoint"]["required"]) == {"policy", "found", "keystrokes"}
    assert set(schemas["CurvePoint"]["required"]) == {"keystroke_value", "found", "keystrokes"}
