"""Write the locks of the extra `bert` from requirements-bert.txt: `python scripts/lock_bert.py UV`.

requirements-bert.lock has everything but the CUDA libraries that a build of torch from PyPI needs on Linux; those are
in requirements-cuda.lock.
"""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
GIVEN, LOCK, CUDA = "requirements-bert.txt", "requirements-bert.lock", "requirements-cuda.lock"
ONLY_CUDA = re.compile(r"(nvidia-|cuda-|triton)")
COMPILE = (
    "pip compile --no-config --constraint requirements.lock --universal --python-version 3.11 --generate-hashes "
    "--no-header --no-annotate --quiet"
)


def entries(text: str) -> dict[str, str]:
    """The requirements of a file by name, each with its hashes; a name may stand for several versions.

    >>> entries("# note\\na==1 \\\\\\n    --hash=sha256:0\\nb==2 ; python_version > '3'\\n")
    {'a': 'a==1 \\\\\\n    --hash=sha256:0\\n', 'b': "b==2 ; python_version > '3'\\n"}
    """
    found: dict[str, str] = {}
    for entry in re.findall(r"^[a-z0-9](?:.*\\\n)*.*", text, re.MULTILINE):
        name = re.split(r"[=<>;\s]", entry, maxsplit=1)[0]
        found[name] = found.get(name, "") + entry + "\n"
    return found


def lock(uv: str) -> None:
    """Compile and split."""
    made = subprocess.run([uv, *COMPILE.split(), GIVEN], cwd=ROOT, check=True, capture_output=True, text=True)
    locked = entries(made.stdout)
    for file, wanted in ((LOCK, False), (CUDA, True)):
        chosen = (entry for name, entry in locked.items() if bool(ONLY_CUDA.match(name)) is wanted)
        (ROOT / file).write_text("".join(chosen))


if __name__ == "__main__":
    lock(sys.argv[1])
