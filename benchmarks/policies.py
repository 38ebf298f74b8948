"""Prints the tables of docs/benchmarks.md: Utility@1/5/10 of every policy in an embedded world, with intervals.

python benchmarks/policies.py                    # packages, 60,000 clicks: what `make demo` shows
python benchmarks/policies.py debian 300000      # the paper's Appendix B with a real engine
"""

import argparse
import tempfile
import time
from pathlib import Path

import wayword
from wayword.report.estimates import MEANING
from wayword.utility import CUTOFFS

FIRST_WORD = {"prefixes": {"start": "first-word"}}
"""The paper cuts prefixes after the first word; its worlds do too."""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("world", nargs="?", default="packages")
    parser.add_argument("clicks", nargs="?", type=int, default=60_000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        workspace = make(arguments.world, arguments.clicks, arguments.seed, Path(folder))
        print(f"`{arguments.world}`, {arguments.clicks:,} clicks, seed {arguments.seed}\n")
        print(table(wayword.estimates(workspace)))
    print(f"\n{time.monotonic() - started:.0f} s")


def make(world: str, clicks: int, seed: int, folder: Path) -> wayword.Workspace:
    """Simulate a world and run every stage on its log, the paper's too."""
    data = wayword.simulate(
        world, clicks=clicks, seed=seed, out=folder / "data", clicks_only=world != "packages"
    )
    return wayword.run(
        data / "clicks.parquet",
        data / "rankings.parquet",
        documents=data / "documents.parquet",
        truth=data / "truth.parquet",
        out=folder / "workspace",
        config=wayword.Config.parse({} if world == "packages" else FIRST_WORD),
        paper=True,
    )


def table(rows: list[dict[str, object]]) -> str:
    """Markdown, worst policy first."""
    found = {(row["policy"], row["k"]): row for row in rows}
    names = sorted({str(row["policy"]) for row in rows}, key=lambda name: float(str(found[name, 1]["value"])))
    lines = ["| policy | " + " | ".join(f"Utility@{k}" for k in CUTOFFS) + " | what it is |"]
    lines.append("|---" * (len(CUTOFFS) + 2) + "|")
    for name in names:
        cells = [cell(found.get((name, k))) for k in CUTOFFS]
        lines.append(f"| {name} | {' | '.join(cells)} | {MEANING[name]} |")
    return "\n".join(lines)


def cell(row: dict[str, object] | None) -> str:
    return f"{row['value']:.3f} ({row['low']:.3f}–{row['high']:.3f})" if row else "–"


if __name__ == "__main__":
    main()
