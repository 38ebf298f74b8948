"""Files and folders may have any name that is UTF-8: it reaches no shell, and no library takes it for a pattern."""

import subprocess
import sys
from pathlib import Path

import pytest

from commands import Finished
from runs import SETTINGS
from servers import serving
from wayword.engines import Engine
from wayword.errors import WorkspaceError
from wayword.paper import pecos_model
from wayword.progress import Progress
from wayword.store.workspace import Workspace, building

ODD = 'it\'s "a" $(touch one); touch two & `touch three` *?[a]{b,c} x=1 #y?z %20 s3: é日本 \\ \n-n'
"""A name that a shell, SQL, a glob, a URI and a partitioned table would each read in another way."""
needs_pecos = pytest.mark.skipif(not pecos_model.available(), reason="needs the extra pecos")
PECOS = """
import sys
from pathlib import Path
from scipy import sparse
from wayword.paper import pecos_model
folder, texts = Path(sys.argv[1]), ["video player", "mail client"]
features = pecos_model.TextFeatures.fit(texts, folder / "text").transform(texts)
pecos_model.train(features, sparse.identity(2, format="csr"), folder / "tree", max_leaf=2, seed=0)
print(pecos_model.XLinear.load(folder / "tree").predict(features, 1).indices.tolist())
"""


def _python(folder: Path, *arguments: object) -> Finished:
    """Run Python in a folder, where a shell would leave its files."""
    ended = subprocess.run(
        [sys.executable, *map(str, arguments)], cwd=folder, capture_output=True, check=False
    )
    return Finished(ended.returncode, ended.stdout, ended.stderr.decode())


@needs_pecos
def test_pecos_gets_no_path_that_a_shell_could_read(tmp_path: Path) -> None:
    ended = _python(tmp_path, "-c", PECOS, ODD)
    assert (ended.code, ended.out, ended.err) == (0, b"[0, 1]\n", "")
    assert [path.name for path in tmp_path.iterdir()] == [ODD]
    assert {path.name for path in (tmp_path / ODD / "tree").iterdir()} == {"param.json", "ranker"}


@needs_pecos
@pytest.mark.slow
def test_a_run_and_its_commands_take_any_name(
    world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / ODD
    place.mkdir()
    for file in world.glob("*.parquet"):
        (place / f"{ODD}{file.name}").write_bytes(file.read_bytes())
    (place / f"{ODD}.toml").write_text(SETTINGS.format(share=0.6).replace('model = "popular"', ""))
    monkeypatch.setenv("TMPDIR", str(place))
    inputs = [f"--{name}={place / ODD}{name}.parquet" for name in ("rankings", "documents")]
    inputs += [f"--log={place / ODD}clicks.parquet", f"--config={place / ODD}.toml"]
    out = place / f"workspace of {ODD}"
    before = {*place.iterdir()}
    for command in (
        ["run", "--paper", *inputs, f"--out={out}"],
        ["complete", out, "video"],
        ["complete", out, "video", "--policy", "unbiased"],
        ["index", out],
        ["evaluate", out],
        ["export", out, f"--out={place / ODD}.jsonl"],
    ):
        ended = _python(tmp_path, "-m", "wayword", *command)
        assert ended.code == 0, ended.err
        assert command[0] in ("run", "index", "export") or ended.out
    with serving(out) as server:
        assert server.queries("video")
    assert [path.name for path in tmp_path.iterdir()] == [ODD]
    kept = {path for path in place.iterdir() if not path.name.startswith("server-")}
    assert kept == before | {out, place / f"{ODD}.jsonl"}


@pytest.mark.parametrize("name", [b"caf\xe9", b"nul\0"])
def test_a_name_that_is_not_utf8_is_refused(name: bytes, tmp_path: Path, engine: Engine) -> None:
    path = tmp_path / name.decode("utf-8", "surrogateescape")
    with (
        pytest.raises(WorkspaceError, match="expected one in UTF-8 and without NUL"),
        building(path, Progress()),
    ):
        pass
    with pytest.raises(WorkspaceError, match="expected one in UTF-8 and without NUL"):
        Workspace.open(path)
    with pytest.raises(WorkspaceError, match="expected one in UTF-8 and without NUL"):
        engine.read("log", path)


def test_a_message_quotes_the_path_in_the_command_that_it_proposes(tmp_path: Path) -> None:
    with pytest.raises(WorkspaceError, match=r"--out '.*/\$\(reboot\)' …"):
        Workspace.open(tmp_path / "$(reboot)")
