"""Does more data lead to a better ranker? (the paper's section 7.3.2): 1%, 10%, 50% and all of the ranker's log."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from wayword.config import Config
from wayword.engines import tables
from wayword.reproduction import measures
from wayword.reproduction.figures import Series, lines
from wayword.reproduction.material import LISTS, load_list
from wayword.reproduction.report.exhibits import Column, Figure, Section, Table, Text
from wayword.reproduction.shared import SIZES, of_labels, of_size
from wayword.reproduction.telling import Results, amount, told_apart
from wayword.store.artefact import report_of
from wayword.store.stage import Folders, Report
from wayword.utility import CUTOFFS

NAME = "training-size"
ALL = "100%"
STAGES = {**{name: of_size(name) for name in SIZES}, ALL: of_labels("unbiased")}
AFTER = ("rankings", "contexts", "propensity", "tests", "baselines", *STAGES.values())
TRAINED = "trained"


def write(out: Path, at: Folders, config: Config) -> Report:
    """Fill `out` with the tables of `measures.save`, and `trained`: what each ranker had to learn from."""
    lists = {name: load_list(at[stage] / LISTS / "unbiased.parquet") for name, stage in STAGES.items()}
    lists["retriever"] = load_list(at["baselines"] / LISTS / "retriever.parquet")
    reports = {name: report_of(at[stage]) for name, stage in STAGES.items()}
    trained = {
        "policy": list(reports),
        "searches": [report["searches"] for report in reports.values()],
        "contexts": [report["contexts"] for report in reports.values()],
    }
    pq.write_table(pa.table(trained), out / f"{TRAINED}.parquet")
    return measures.compare(out, at, config.evaluation, lists)


def section(folder: Path) -> Section:
    """What the tables show."""
    found, trained = Results.load(folder), tables.read(folder, TRAINED).to_pylist()
    gain = found.differences[ALL, trained[0]["policy"], 5]
    grows = (
        "More clicks make a better ranker"
        if told_apart(gain) > 0
        else "More clicks did not clearly make a better ranker"
    )
    return Section(
        NAME,
        "Does more data lead to a better ranker?",
        (
            Text(
                "The retriever stays as it is; the ranker learns from a part of its training searches, as in the "
                "paper. A smaller part is contained in every larger one."
            ),
            _figure(
                found,
                trained,
                f"{grows}: from {trained[0]['searches']:,} to {trained[-1]['searches']:,} searches Utility@5 changes "
                f"by {amount(gain, sign=True)}.",
            ),
            _table(found, trained),
        ),
    )


def _figure(found: Results, trained: list[dict[str, int | str]], conclusion: str) -> Figure:
    series = []
    for k in CUTOFFS:
        values = [found.estimates[str(row["policy"]), k] for row in trained]
        series.append(
            Series(
                f"Utility@{k}",
                [float(row["searches"]) for row in trained],
                [v.value for v in values],
                [v.low for v in values],
                [v.high for v in values],
                strong=k == 1,
            )
        )
    description = "; ".join(f"{s.name}: {', '.join(f'{y:.3f}' for y in s.y)}" for s in series)
    svg = lines(
        "training_size",
        series,
        x_title="Searches that the ranker learned from",
        y_title="Utility (logged query = 1)",
        x_log=True,
        reference={"Retriever alone @1": found.estimates["retriever", 1].value},
        description=description,
    )
    return Figure(
        "training_size", "Utility against the size of the ranker's log", conclusion, svg, description
    )


def _table(found: Results, trained: list[dict[str, int | str]]) -> Table:
    columns = (
        Column("% of the log"),
        Column("Searches", digits=0),
        Column("Contexts", digits=0),
        *(Column(f"Utility@{k}") for k in CUTOFFS),
    )
    rows = tuple(
        (
            int(str(row["policy"]).removesuffix("%")),
            row["searches"],
            row["contexts"],
            *(found.estimates[str(row["policy"]), k] for k in CUTOFFS),
        )
        for row in trained
    )
    return Table("training_size", "Utility by size of the ranker's log (95% intervals)", columns, rows)
