"""Real engines from Debian, in temporary folders, as a user without privileges: PostgreSQL and Groonga.

Each is stopped with the test, and after ten minutes in any case.
"""

import json
import os
import pwd
import shutil
import subprocess
import tempfile
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from servers import eventually, free_port

LONGEST = "600"
"""Seconds after which a server stops by itself."""


def _missing(what: str, package: str) -> None:
    """Skip the test, or fail where CI has installed the package."""
    missing = pytest.fail if "WAYWORD_NEEDS_ENGINES" in os.environ else pytest.skip
    missing(f"{what} is not installed (.ci/run installs it: apt-get install {package})")


def _account(name: str) -> dict[str, Any]:
    """The arguments that let a process run as this user, if root runs the tests."""
    if os.geteuid():
        return {}
    return {"user": name, "group": pwd.getpwnam(name).pw_gid, "extra_groups": []}


def _folder(account: dict[str, Any]) -> Path:
    folder = Path(tempfile.mkdtemp(prefix="engine-"))
    if account:
        os.chown(folder, pwd.getpwnam(account["user"]).pw_uid, account["group"])
    return folder


@contextmanager
def _running(command: list[str | Path], folder: Path, account: dict[str, Any]) -> Iterator[None]:
    with (folder / "log.txt").open("wb") as log:
        process = subprocess.Popen(
            ["timeout", "--signal=INT", "--kill-after=10", LONGEST, *command],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd=folder,
            **account,
        )
    try:
        yield
    finally:
        process.terminate()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def postgres(certificate: Path | None = None) -> Iterator[str]:
    """The connection URL of a new PostgreSQL, which listens at a socket in its folder.

    With a folder of a certificate (`ca.pem` and `key.pem`) it listens with TLS at 127.0.0.1, too, at the same port.
    """
    known = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: path.parts[-2].zfill(4))
    if not known:
        _missing("PostgreSQL", "postgresql")
    psycopg = pytest.importorskip("psycopg")
    account = _account("postgres")
    folder = _folder(account)
    options = ["--username=shop", "--auth=trust", "--encoding=UTF8", "--locale=C.UTF-8", "--no-sync"]
    subprocess.run(
        [known[-1] / "initdb", "-D", folder / "data", *options],
        check=True,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        cwd=folder,
        **account,
    )
    port = free_port()
    settings = ["-c", "listen_addresses=", "-c", "fsync=off", "-c", "shared_buffers=32MB", "-p", str(port)]
    if certificate is not None:
        for name in ("ca.pem", "key.pem"):
            shutil.copy(certificate / name, folder / name)
            (folder / name).chmod(0o600)
            os.chown(folder / name, folder.stat().st_uid, folder.stat().st_gid)
        settings += ["-c", "listen_addresses=127.0.0.1", "-c", "ssl=on"]
        settings += ["-c", f"ssl_cert_file={folder}/ca.pem", "-c", f"ssl_key_file={folder}/key.pem"]
    address = f"postgresql://shop@/postgres?{urlencode({'host': folder, 'port': port})}"

    def answers() -> bool:
        try:
            psycopg.connect(address).close()
        except psycopg.OperationalError:
            return False
        return True

    with _running([known[-1] / "postgres", "-D", folder / "data", "-k", folder, *settings], folder, account):
        eventually(answers)
        yield address


@contextmanager
def groonga(titles: Mapping[str, str]) -> Iterator[str]:
    """The address of a new Groonga with a full-text index of documents and titles."""
    if not shutil.which("groonga"):
        _missing("Groonga", "groonga-bin")
    account = _account("nobody")
    folder = _folder(account)
    address = f"http://127.0.0.1:{free_port()}"

    def command(of: str, /, **arguments: str) -> object:
        with urllib.request.urlopen(f"{address}/d/{of}?{urlencode(arguments)}", timeout=30) as answer:  # noqa: S310
            return json.load(answer)

    def answers() -> bool:
        try:
            return bool(command("status"))
        except OSError:
            return False

    port = address.rpartition(":")[2]
    server = ["groonga", "-s", "--protocol", "http", "--bind-address", "127.0.0.1", "--port", port]
    with _running([*server, "-n", folder / "db"], folder, account):
        eventually(answers)
        command("table_create", name="Products", flags="TABLE_PAT_KEY", key_type="ShortText")
        command("column_create", table="Products", name="title", flags="COLUMN_SCALAR", type="ShortText")
        command("column_create", table="Products", name="place", flags="COLUMN_SCALAR", type="Int32")
        command(
            "table_create",
            name="Terms",
            flags="TABLE_PAT_KEY",
            key_type="ShortText",
            default_tokenizer="TokenBigram",
            normalizer="NormalizerAuto",
        )
        command(
            "column_create",
            table="Terms",
            name="titles",
            flags="COLUMN_INDEX|WITH_POSITION",
            type="Products",
            source="title",
        )
        rows = [{"_key": key, "title": title, "place": n} for n, (key, title) in enumerate(titles.items())]
        command("load", table="Products", values=json.dumps(rows))
        yield address
