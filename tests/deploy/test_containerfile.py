"""The container file: its commands are run in a clean environment, as no engine for containers is at hand."""

import json
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from recipes import DEPLOY, ROOT, replaced

from runs import Made
from servers import serving

TEXT = re.sub(r"^#.*\n", "", (DEPLOY / "Containerfile").read_text(encoding="utf-8"), flags=re.MULTILINE)
STEPS = [
    (word, rest)
    for word, _, rest in (line.partition(" ") for line in TEXT.replace("\\\n", " ").splitlines() if line)
]
UV = ROOT / ".uv/bin/uv"


def steps(word: str) -> list[str]:
    """What follows an instruction, each time that it is given."""
    return [rest for instruction, rest in STEPS if instruction == word]


def test_what_is_copied_is_there_and_all_that_the_build_reads() -> None:
    copied = {name for rest in steps("COPY") if "--from" not in rest for name in rest.split()[:-1]}
    assert all((ROOT / name).exists() for name in copied)
    read = set(re.findall(r"[\w-]+\.lock", " ".join(steps("RUN"))))
    assert {"requirements.lock", "requirements-uv.lock"} == read <= copied
    assert {"src", "pyproject.toml", "README.md", "LICENSE"} <= copied


def test_it_runs_as_a_user_of_its_own_who_owns_only_the_volume() -> None:
    (user,) = steps("USER")
    (volume,) = steps("VOLUME")
    assert user.isdigit()
    assert int(user) > 0
    assert f"useradd --uid {user} " in steps("RUN")[-1]
    assert f"--owner wayword --mode 0700 {volume}" in steps("RUN")[-1]


@pytest.mark.slow
def test_its_command_has_options_of_serve_and_its_health_check_tells_a_server_that_has_gone(
    undisturbed: Made,
) -> None:
    command, *options = json.loads(steps("CMD")[0])
    assert json.loads(steps("ENTRYPOINT")[0]) == ["wayword"]
    known = subprocess.run(
        [sys.executable, "-m", "wayword", command, "--help"], capture_output=True, text=True, check=True
    ).stdout
    assert all(option in known for option in options if option.startswith("--"))
    with serving(undisturbed.path, *options[1:], "--host", "127.0.0.1") as server:
        check = json.loads(
            replaced(steps("HEALTHCHECK")[0].removeprefix("CMD "), {":8080/": f":{server.port}/"})
        )
        check[0] = sys.executable
        assert subprocess.run(check, check=False).returncode == 0
        server.stop()
        assert subprocess.run(check, check=False, capture_output=True).returncode == 1


@pytest.mark.slow
def test_its_environment_has_the_locked_versions_and_runs() -> None:
    if not UV.exists():
        pytest.skip("uv is not installed (`make install` does that)")
    venv, install = steps("RUN")[-2].split("&&")
    with tempfile.TemporaryDirectory() as folder:
        for command in (venv, install):
            text = command.replace("/opt/wayword", f"{folder}/wayword").replace("/uv/bin/uv", str(UV))
            done = subprocess.run(shlex.split(text), cwd=ROOT, capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stderr
        python = Path(folder) / "wayword/bin/python"
        lines = subprocess.run(
            [UV, "pip", "freeze", "--python", python], capture_output=True, text=True, check=True
        ).stdout.splitlines()
        locked = (ROOT / "requirements.lock").read_text(encoding="utf-8")
        others = [line for line in lines if not line.startswith("wayword ")]
        assert len(others) == len(lines) - 1 > 20
        assert all(re.search(rf"^{re.escape(line)} ", locked, flags=re.MULTILINE) for line in others)
        assert not any(line.startswith(("pytest", "nvidia", "torch")) for line in others)
        program = python.with_name("wayword")
        assert (
            "serve" in subprocess.run([program, "--help"], capture_output=True, text=True, check=True).stdout
        )
