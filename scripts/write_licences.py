"""Write docs/licences.md from the metadata of the installed packages: `python scripts/write_licences.py`."""

from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

FILE = Path(__file__).parents[1] / "docs" / "licences.md"
INSTALLS = ("", "pecos", "report", "words", "postgres", "spark", "sail", "bert")
"""The light install, and the extras."""
TEXT = """# Licences

Wayword has the licence Apache-2.0. This table lists what `pip install .` and each extra bring along, as the packages
themselves declare it; `python scripts/write_licences.py` writes it.

No package is under the GPL or AGPL. `psycopg`, of the extra `postgres` alone, is under the LGPL-3.0: Wayword imports it
and contains none of it. `marisa-trie` is used under BSD-2-Clause, of the two that it offers. `tqdm`, which
the extras bring along, is in part under MPL-2.0: changed files of it stay under it; Wayword changes none. The wheels of
NumPy and SciPy contain `libgfortran` and `libquadmath`, and those of scikit-learn, XGBoost and `libpecos` contain
`libgomp`: parts of GCC, which its runtime library exception (`libquadmath`: the LGPL-2.1) allows to distribute with
programs of any licence. On Linux, torch from PyPI also brings NVIDIA's CUDA libraries, which are not free software; a
CPU build of torch does not. Most entries of the English list in `glin-profanity` are also those of the "List of Dirty,
Naughty, Obscene, and Otherwise Bad Words" (CC-BY-4.0); Wayword reads it where it is installed, and contains none of it.

| package | licence | light install | pecos | report | words | postgres | spark | sail | bert |
|---|---|---|---|---|---|---|---|---|---|
"""


def packages(extra: str) -> dict[str, str]:
    """The installed packages that an install needs, directly or not, by name, with their licences."""
    found: dict[str, str] = {}
    waiting = [("wayword", ("", extra))]
    while waiting:
        name, extras = waiting.pop()
        if name in found:
            continue
        try:
            package = metadata.distribution(name)
        except metadata.PackageNotFoundError:  # for another platform, or left out on purpose
            continue
        found[name] = licence(package)
        for line in package.requires or ():
            needed = Requirement(line)
            if needed.marker is None or any(needed.marker.evaluate({"extra": of}) for of in extras):
                waiting.append((canonicalize_name(needed.name), ("", *needed.extras)))
    return {name: of for name, of in found.items() if name != "wayword"}


def licence(package: metadata.Distribution) -> str:
    """The licence that a package declares: an SPDX expression, else its classifiers, else its text's first line."""
    about = package.metadata
    kinds = [line for line in about.get_all("Classifier") or () if line.startswith("License ::")]
    classified = "; ".join(line.rpartition(" :: ")[2] for line in kinds if line.count(" :: ") > 1)
    written = (about.get("License") or "").strip().partition("\n")[0]
    return about.get("License-Expression") or classified or written or "not declared"


def table() -> dict[str, tuple[str, list[bool]]]:
    """Each package with its licence, and whether the light install and each extra need it."""
    needed = {extra: packages(extra) for extra in INSTALLS}
    every = {name: of for found in needed.values() for name, of in found.items()}
    return {name: (every[name], [name in needed[extra] for extra in INSTALLS]) for name in sorted(every)}


def document() -> str:
    """The page."""
    rows = (
        f"| {name} | {licence} | {' | '.join('yes' if of else '' for of in needed)} |\n"
        for name, (licence, needed) in table().items()
    )
    return TEXT + "".join(rows)


if __name__ == "__main__":
    FILE.write_text(document(), encoding="utf-8")
