"""A PostgreSQL of our own in a temporary folder: no network, nothing left behind."""

import os
import pwd
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from apart import family, proportional

UNPRIVILEGED = "postgres"
"""Whom the server runs as where root starts it, which PostgreSQL refuses to be."""
_SETTINGS = {
    "listen_addresses": "",
    "shared_buffers": "1GB",
    "fsync": "off",
    "full_page_writes": "off",
    "max_wal_size": "4GB",
    "jit": "off",
    "autovacuum": "off",
}


def tools() -> Path | None:
    """The folder of `initdb` and `pg_ctl`, if PostgreSQL is installed; Debian keeps them out of the path."""
    if found := shutil.which("pg_ctl"):
        return Path(found).resolve().parent
    known = sorted(Path("/usr/lib/postgresql").glob("*/bin/pg_ctl"), key=lambda path: path.parts[-3].zfill(4))
    return known[-1].parent if known else None


def missing() -> str | None:
    """What to install, if anything."""
    if tools() is None:
        return "PostgreSQL is not installed: apt-get install postgresql"
    try:
        import psycopg  # noqa: F401
    except ImportError:
        return "psycopg is not installed: uv pip install --group bench"
    return None


class Postgres:
    """A cluster, running inside the `with`."""

    def __init__(self) -> None:
        if problem := missing():
            raise RuntimeError(problem)
        found = tools()
        assert found is not None
        self._tools = found
        self._folder = Path(tempfile.mkdtemp(prefix="pg"))
        self._data = self._folder / "data"
        self._user = UNPRIVILEGED if os.geteuid() == 0 else None
        if self._user:
            known = pwd.getpwnam(self._user)
            os.chown(self._folder, known.pw_uid, known.pw_gid)

    def __enter__(self) -> "Postgres":
        self._run("initdb", "-U", "bench", "--auth=trust", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync")
        settings = " ".join(f"-c {name}='{value}'" for name, value in _SETTINGS.items())
        log = str(self._folder / "log")
        self._run("pg_ctl", "-w", "-l", log, "-o", f"-k {self._folder} {settings}", "start")
        return self

    def __exit__(self, *_: object) -> None:
        self._run("pg_ctl", "-w", "-m", "immediate", "stop")
        shutil.rmtree(self._folder, ignore_errors=True)

    def connect(self) -> Any:
        """A connection of psycopg, over the socket in the folder."""
        import psycopg

        return psycopg.connect(host=str(self._folder), user="bench", dbname="postgres", autocommit=True)

    def memory(self) -> float:
        """Megabytes of all its processes."""
        first = int((self._data / "postmaster.pid").read_text(encoding="ascii").split()[0])
        return sum(map(proportional, family(first)))

    def _run(self, tool: str, *options: str) -> None:
        done = subprocess.run(
            [str(self._tools / tool), "-D", str(self._data), *options],
            check=False,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            user=self._user,
            group=self._user,
            extra_groups=[] if self._user else None,
            cwd=self._folder,
        )
        if done.returncode:
            raise RuntimeError(f"{tool} failed: {done.stderr.strip()}")
