"""A report with everything a report can hold, and numbers as an experiment would give them."""

import math
from pathlib import Path
from typing import Any

from jinja2 import DictLoader

from wayword.paper import figures
from wayword.paper.figures import Series
from wayword.paper.report.page import write
from wayword.report.exhibits import Column, Figure, Interval, Section, Table

TITLE = "Which completions lead people to what they want"
NAMES = (
    "unbiased",
    "full information",
    "biased clicks",
    "retriever",
    "most popular",
    "query likelihood (MiniLM)",
    "reciprocal rank",
    "random",
)
TOPS = (0.931, 0.948, 0.902, 0.884, 0.876, 0.871, 0.869, 0.421)
TEMPLATES = {
    "lead.md.jinja": "Ranking by **where completions lead** gains {{ gain|amount }}.\n\nIt needs a log with clicks.",
    "overview.md.jinja": """## The ranker against what is in use today

Every policy completes the same test searches, see [the method](docs/method.md).

{% call figure("policies", "Utility@1 of each policy") %}
Dots are means, bars are 95 % intervals.
{% endcall %}

{% call table("main", "Utility of each policy") %}
Higher is better; **1** is what people typed.
{% endcall %}

{{ figure("positions", "Utility by position") }}

{{ table("small", "Prefixes of the small log") }}""",
    "training.md.jinja": """## How much log is needed

### What to take from this

* below 3,000 searches `popular` is as good;
* above 30,000 the gain is nearly all there.

{{ figure("training", "Utility by size of the log") }}

{{ figure("truth", "Estimates against the truth") }}

{{ table("large", "Prefixes of the large log") }}""",
}


def positions() -> Figure:
    """Eight lines, five of which end within a hair of each other."""
    series = [
        Series(name, (1, 2, 3, 4, 5), [top - 0.07 * math.log(k) for k in (1, 2, 3, 4, 5)], strong=not i)
        for i, (name, top) in enumerate(zip(NAMES, TOPS, strict=True))
    ]
    titles: Any = {"x_title": "position in the list of completions", "y_title": "mean utility"}
    ticks, reference = (1, 2, 3, 4, 5), {"logged query = 1": 1.0}
    return figures.chart("positions", series, x_ticks=ticks, reference=reference, **titles)


def training() -> Figure:
    """Three lines with bands over a logarithmic scale."""
    sizes = (1_000, 3_000, 10_000, 30_000, 100_000)
    series = []
    for k, top in ((1, 0.93), (5, 0.84), (10, 0.79)):
        y = [top - 4 / math.sqrt(n) for n in sizes]
        low, high = ([v + side * 2 / math.sqrt(n) for v, n in zip(y, sizes, strict=True)] for side in (-1, 1))
        series.append(Series(f"Utility@{k}", sizes, y, low, high, strong=k == 1))
    titles: Any = {"x_title": "searches in the training log", "y_title": "utility"}
    return figures.chart("training", series, x_log=True, reference={"most popular": 0.876}, **titles)


def truth() -> Figure:
    """Estimates against the truth, with the diagonal, on logarithmic scales."""
    points = (("weighted by propensity", 0.93, 0.004), ("clipped", 0.08, -0.007), ("clicks alone", 0.6, -0.3))
    series = [
        Series(name, [x], [x + off], [x + off - 0.03], [x + off + 0.03], joined=False)
        for name, x, off in points
    ]
    titles: Any = {
        "x_title": "true utility",
        "y_title": "estimated utility",
        "description": "Near the diagonal.",
    }
    return figures.chart("truth", series, diagonal=True, x_log=True, y_log=True, **titles)


def policies() -> Figure:
    """Policies from random to the ceiling, one name of which is long."""
    named = (*zip(NAMES, TOPS, strict=True), ("ceiling: the best of all queries, without the document", 1.21))
    rows = [(name, Interval(top, top - 0.012, top + 0.011), name == "unbiased") for name, top in named]
    return figures.intervals("policies", rows, x_title="Utility@1, with 95 % intervals", reference=1.0)


def main_table() -> Table:
    names = ("policy", "Utility@1", "Utility@5", "test searches")
    rows = [
        (name, Interval(top, top - 0.012, top + 0.011), Interval(top - 0.1, top - 0.112, top - 0.09), 12_345)
        for name, top in zip(NAMES, TOPS, strict=True)
    ]
    return Table("main", [Column(name) for name in names], rows, frozenset({0}))


def table(name: str) -> Table:
    columns = (Column("prefix | typed"), Column("searches"), Column("gain", sign=True), Column("share", 1))
    rows = (
        ("vi", 1200, Interval(0.03, 0.01, 0.05), 12.5),
        ("py|th", 31, Interval(-0.002, -0.02, 0.016), 0.3),
        ("a<b>", None, math.nan, 1e-7),
    )
    return Table(name, columns, rows)


def sections() -> list[Section]:
    overview = (policies(), main_table(), positions(), table("small"))
    return [
        Section("lead", (), {"gain": Interval(0.055, 0.035, 0.075)}),
        Section("overview", overview),
        Section("training", (training(), truth(), table("large"))),
    ]


def write_sample(folder: Path) -> None:
    """Write the whole report."""
    write(folder, TITLE, sections(), DictLoader(TEMPLATES))


def write_small(folder: Path, *exhibits: Table | Figure, title: str = "t", **values: object) -> None:
    """Write a report of one section with these exhibits and values, each as it is."""
    shown = [f'{{{{ {type(one).__name__.lower()}("{one.name}", "t") }}}}' for one in exhibits]
    body = "\n\n".join(["## {{ heading }}", *shown, *(f"{{{{ {name} }}}}" for name in values)])
    loader = DictLoader({"lead.md.jinja": "{{ lead }}", "s.md.jinja": body})
    sections = [Section("lead", (), {"lead": title}), Section("s", exhibits, {"heading": title, **values})]
    write(folder, title, sections, loader)
