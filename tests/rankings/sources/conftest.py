"""What the tests of sources share."""

import os
import subprocess
from pathlib import Path

import pytest

from wayword.rankings import asking


@pytest.fixture(autouse=True)
def in_a_hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Breaks are short; nothing is flushed to disk, which other tests look at."""
    monkeypatch.setattr(asking, "FIRST_BREAK", 0.01)
    monkeypatch.setattr(os, "fsync", lambda _handle: None)


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A new self-signed certificate of 127.0.0.1 and its key, in a file."""
    folder = tmp_path_factory.mktemp("tls")
    subprocess.run(
        [
            *(
                "openssl",
                "req",
                "-x509",
                "-newkey",
                "ec",
                "-pkeyopt",
                "ec_paramgen_curve:prime256v1",
                "-nodes",
            ),
            *("-subj", "/CN=engine", "-addext", "subjectAltName=IP:127.0.0.1", "-days", "2"),
            *("-keyout", folder / "key.pem", "-out", folder / "ca.pem"),
        ],
        check=True,
        capture_output=True,
    )
    (folder / "both.pem").write_text((folder / "key.pem").read_text() + (folder / "ca.pem").read_text())
    return folder
