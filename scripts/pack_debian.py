"""Pack Debian's package index into the catalogue that the simulated worlds read.

    python scripts/pack_debian.py Packages.xz src/wayword/simulation/debian.parquet

The input is an index of the archive (`dists/bookworm/main/binary-amd64/Packages`, plain, .gz or .xz; `-` is
standard input, e.g. of `apt-cache dumpavail`), or JSON lines with the same fields in lower case.
"""

import argparse
import gzip
import json
import lzma
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pyarrow.parquet as pq

KINDS = ("depends", "recommends", "suggests", "enhances")
Record = dict[str, Any]
"""One package: `package`, `title`, `section` as text, each kind of relation as a list of names."""


def main() -> None:
    """Read the index, write the parquet file, say how large it is."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("index", help="Packages, Packages.gz, Packages.xz, *.jsonl, *.jsonl.gz or -")
    parser.add_argument("parquet", type=Path)
    arguments = parser.parse_args()
    with open_text(arguments.index) as lines:
        records = json_records(lines) if ".jsonl" in arguments.index else deb822_records(lines)
        table = pack(records)
    write(table, arguments.parquet)
    print(f"{table.num_rows:,} packages, {arguments.parquet.stat().st_size:,} bytes", file=sys.stderr)


def open_text(name: str) -> IO[str]:
    """A file as text, decompressed by its ending."""
    if name == "-":
        return sys.stdin
    if name.endswith(".gz"):
        return gzip.open(name, "rt", encoding="utf-8")
    if name.endswith(".xz"):
        return lzma.open(name, "rt", encoding="utf-8")
    return Path(name).open(encoding="utf-8")


def json_records(lines: Iterable[str]) -> Iterator[Record]:
    """Records from JSON lines; a kind of relation that is missing is empty.

    >>> next(json_records(['{"package": "mutt", "title": "mail reader", "section": "mail"}']))["suggests"]
    []
    """
    for line in lines:
        fields = json.loads(line)
        yield {key: fields[key] for key in ("package", "title", "section")} | {
            k: fields.get(k, []) for k in KINDS
        }


def deb822_records(lines: Iterable[str]) -> Iterator[Record]:
    """Records from a `Packages` index. The title is the first line of the description.

    Pre-Depends is left out: it names the machinery of installation, not what a person would look for.

    >>> index = ["Package: mutt", "Section: mail", "Suggests: gnupg | gpg (>= 2), ca-certificates:any",
    ...          "Description: text-based mailreader", " long text", "", "Package: gpg"]
    >>> [record["suggests"] for record in deb822_records(index)]
    [['gnupg', 'gpg', 'ca-certificates'], []]
    """
    for fields in _paragraphs(lines):
        if "package" in fields:
            yield {
                "package": fields["package"],
                "title": fields.get("description", "").split("\n", 1)[0].strip(),
                "section": fields.get("section", ""),
                **{kind: related_names(fields.get(kind, "")) for kind in KINDS},
            }


def _paragraphs(lines: Iterable[str]) -> Iterator[dict[str, str]]:
    fields: dict[str, str] = {}
    key = ""
    for line in lines:
        text = line.rstrip()
        if not text:
            if fields:
                yield fields
            fields = {}
        elif line[0] in " \t":
            fields[key] += "\n" + text.strip()
        elif not line.startswith("#"):
            key, _, value = text.partition(":")
            key = key.lower()
            fields[key] = value.strip()
    if fields:
        yield fields


def related_names(field: str) -> list[str]:
    """The package names in a relation field, alternatives included.

    >>> related_names("libc6 (>= 2.34), python3:any (<< 4) | pypy3 [!armhf] <!nocheck>,\\nperl")
    ['libc6', 'python3', 'pypy3', 'perl']
    """
    parts = re.split(r"[,|]", field)
    names = (re.match(r"\s*([^\s:(\[<]+)", part) for part in parts)
    return [name[1] for name in names if name]


def pack(records: Iterable[Record]) -> pa.Table:
    """The catalogue, by package name: relations as row numbers, only those to others within it.

    >>> mutt = {"package": "mutt", "title": "", "section": "mail", **dict.fromkeys(KINDS, ["gpg", "mutt"])}
    >>> gpg = {"package": "gpg", "title": "", "section": "utils", **dict.fromkeys(KINDS, ["lost"])}
    >>> pack([mutt, gpg]).select(["package", "depends"]).to_pylist()
    [{'package': 'gpg', 'depends': []}, {'package': 'mutt', 'depends': [0]}]
    """
    last = {record["package"]: record for record in records}
    rows = [last[name] for name in sorted(last)]
    place = {record["package"]: number for number, record in enumerate(rows)}
    columns = {
        "package": pa.array([record["package"] for record in rows], pa.string()),
        "title": pa.array([record["title"] for record in rows], pa.string()),
        "section": pa.array([record["section"] for record in rows], pa.string()),
    }
    for kind in KINDS:
        columns[kind] = pa.array([_targets(record, kind, place) for record in rows], pa.list_(pa.int32()))
    return pa.table(columns)


def _targets(record: Record, kind: str, place: dict[str, int]) -> list[int]:
    return sorted({place[name] for name in record[kind] if name in place and name != record["package"]})


def write(table: pa.Table, path: Path) -> None:
    """Small rather than fast: names share their beginnings, so they are delta-encoded, then compressed."""
    encodings = {"package": "DELTA_BYTE_ARRAY", "title": "DELTA_LENGTH_BYTE_ARRAY"}
    pq.write_table(
        table,
        path,
        compression="zstd",
        compression_level=19,
        use_dictionary=["section", *(f"{kind}.list.element" for kind in KINDS)],
        column_encoding=encodings,
    )


if __name__ == "__main__":
    main()
