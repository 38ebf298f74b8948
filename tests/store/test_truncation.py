"""An artefact that is cut while a process maps it ends that process; the next run makes it again."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from commands import wayword
from runs import Made, hashes
from wayword.config import IndexConfig
from wayword.index.build import build
from wayword.serving.completer import Completer
from wayword.store.workspace import Workspace

READ = """
import sys
from pathlib import Path
from wayword.completion.retriever_io import load_graph
graph, own_utility = load_graph(Path(sys.argv[1]), int(sys.argv[2]))
print("mapped", flush=True)
sys.stdin.readline()
print(own_utility.sum())
"""


@pytest.mark.slow
def test_the_next_run_makes_what_was_cut_while_it_was_mapped(undisturbed: Made, tmp_path: Path) -> None:
    """Also in the index, which shares the file."""
    path = undisturbed.copy(tmp_path / "workspace")
    shutil.rmtree(path / "index")
    index, _ = build(Workspace.open(path), IndexConfig())
    before = Completer.open(path).complete("vidoe")
    folder = Workspace.open(path).folder("demand")
    pipe = subprocess.PIPE
    queries = len(Completer.open(path).index.texts)
    command = [sys.executable, "-c", READ, str(folder), str(queries)]
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "mapped\n"
        os.truncate(folder / "own_utility.npy", 0)
        process.communicate("go\n")
    assert process.returncode == -signal.SIGBUS
    assert (index / "live" / "own_utility.npy").stat().st_size == 0
    refused = wayword("complete", path, "vidoe")
    assert refused.code != 0
    assert "own_utility.npy has 0 bytes" in refused.err
    assert wayword(*undisturbed.arguments, path).code == 0
    assert hashes(path) == undisturbed.files
    assert Completer.open(path).complete("vidoe") == before
