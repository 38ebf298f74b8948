import gzip
import importlib.util
import lzma
import sys
from pathlib import Path
from types import ModuleType

import pyarrow.parquet as pq
import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "pack_debian.py"

INDEX = """\
Package: mutt
Version: 2.2.9-1
Depends: libc6 (>= 2.34), gnupg:any (>= 2) | gpg,
 sensible-utils
Pre-Depends: dpkg
Suggests: mutt, ispell [amd64], mixmaster <!nocheck>
Description: text-based mailreader supporting MIME
 A long description: with a colon
 .
Section: mail

# a comment between two paragraphs

Package: libc6
Description: GNU C Library
Section: libs

Package: gpg
Description: GNU Privacy Guard
Enhances: mutt
Section: utils


Package: gnupg
Description: GNU privacy guard (old)
Section: utils

Package: gnupg
Description: GNU privacy guard
Section: utils
"""


COMPRESSED = {"": INDEX.encode(), ".gz": gzip.compress(INDEX.encode()), ".xz": lzma.compress(INDEX.encode())}


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("pack_debian", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_packs_names_titles_sections_and_relations(script: ModuleType) -> None:
    table = script.pack(script.deb822_records(INDEX.splitlines(keepends=True)))
    assert table.select(["package", "title", "section"]).to_pylist() == [
        {"package": "gnupg", "title": "GNU privacy guard", "section": "utils"},
        {"package": "gpg", "title": "GNU Privacy Guard", "section": "utils"},
        {"package": "libc6", "title": "GNU C Library", "section": "libs"},
        {"package": "mutt", "title": "text-based mailreader supporting MIME", "section": "mail"},
    ]
    assert table["depends"].to_pylist() == [[], [], [], [0, 1, 2]]
    assert table["suggests"].to_pylist() == [[], [], [], []]
    assert table["enhances"].to_pylist() == [[], [3], [], []]


@pytest.mark.parametrize("ending", list(COMPRESSED))
def test_command_reads_plain_and_compressed_indexes(
    script: ModuleType, ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index, parquet = tmp_path / f"Packages{ending}", tmp_path / "debian.parquet"
    index.write_bytes(COMPRESSED[ending])
    monkeypatch.setattr(sys, "argv", ["pack_debian.py", str(index), str(parquet)])
    script.main()
    assert pq.read_table(parquet)["package"].to_pylist() == ["gnupg", "gpg", "libc6", "mutt"]


def test_json_lines_give_the_same_table(script: ModuleType) -> None:
    line = '{"package": "mutt", "title": "mail", "section": "mail", "suggests": ["mutt", "gpg"], "tags": []}'
    other = '{"package": "gpg", "title": "GnuPG", "section": "utils"}'
    deb822 = "Package: gpg\nDescription: GnuPG\nSection: utils\n\nPackage: mutt\nDescription: mail\n long\n"
    deb822 += "Section: mail\nSuggests: gpg (>= 2)\n"
    assert script.pack(script.json_records([line, other])) == script.pack(
        script.deb822_records(deb822.splitlines())
    )
