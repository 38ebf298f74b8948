"""Every endpoint is sent what its description allows and what it forbids; none fails."""

import subprocess
import sys
from pathlib import Path

import pytest

from runs import Made
from servers import TOKEN, serving


@pytest.mark.slow
def test_nothing_that_can_be_sent_is_a_failure_of_the_server(undisturbed: Made, tmp_path: Path) -> None:
    with serving(undisturbed.copy(tmp_path / "workspace"), "--rate", 0, WAYWORD_TOKEN=TOKEN) as server:
        found = subprocess.run(
            [
                *(sys.executable, "-m", "schemathesis.cli", "run"),
                f"http://127.0.0.1:{server.port}/openapi.json",
                *("--checks", "all", "--max-examples", "60", "--seed", "1", "--continue-on-failure"),
                *("-H", f"Authorization: Bearer {TOKEN}"),
            ],
            capture_output=True,
            text=True,
            check=False,
            cwd=tmp_path,
        )
        assert found.returncode == 0, found.stdout + found.stderr
        assert "8 selected / 8 total" in found.stdout
        assert "Traceback" not in server.errors
        assert server.get("/healthz").status == 200
