"""Draws docs/images/demand.svg from the example in docs/demand.md; a test keeps the two equal."""

import doctest
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parent.parent / "docs"
PAGE, PICTURE = DOCS / "demand.md", DOCS / "images" / "demand.svg"

WIDTH, HEIGHT, TOP, LINE = 720, 470, 60, 19
TYPED, BECOMES, DOCUMENTS, SUGGESTED = (14, 84), (122, 170), (344, 112), (508, 198)
"""Left side and width of each column."""
HEAD, SUGGESTED_HEAD, GAP = 42, 46, 14
THICK = 13
"""Of a line that stands for 1."""
LIGHT = "#f8fafc #ffffff #cbd5e1 #e8edf3 #1f2937 #5b6675 #0369a1 #b45309"
DARK = "#161b22 #1f2630 #3d4856 #2d3642 #e6edf3 #9aa7b5 #4cb3f0 #f0a848"
COLOURS = ("panel", "box", "edge", "track", "ink", "soft", "demand", "utility")
STYLE = """
text { font: 12.5px system-ui, -apple-system, "Segoe UI", sans-serif; fill: var(--ink) }
.strong { font-weight: 600 } .small { font-size: 11.5px }
.end { text-anchor: end } .middle { text-anchor: middle }
.soft { fill: var(--soft) } .demand { fill: var(--demand) } .utility { fill: var(--utility) }
.panel { fill: var(--panel) } .track { fill: var(--track) }
.box { fill: var(--box); stroke: var(--edge) } .best { stroke: var(--utility); stroke-width: 2.5 }
.tick { stroke: var(--ink); stroke-width: 1.5 }
path { fill: none } .became, .wanted, .shown { opacity: .45 }
.became { stroke: var(--soft) } .wanted { stroke: var(--demand) } .shown { stroke: var(--utility) }
.none { stroke: var(--soft); stroke-dasharray: 2 4; opacity: .7 }
"""


@dataclass(frozen=True)
class Example:
    """What the page's example is made of, and what comes out: names of its Python."""

    typed: str
    pages: dict[str, list[str]]
    clicks: dict[tuple[str, str], int]
    queries: list[str]
    documents: list[str]
    p: Any
    demand: Any
    best: Any

    @classmethod
    def of(cls, page: Path) -> "Example":
        """Run the page's first block."""
        code = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL)[0]
        names: dict[str, Any] = {}
        for example in doctest.DocTestParser().get_examples(code):
            exec(example.source, names)  # noqa: S102 (our own page)
        return cls(**{name: names[name] for name in cls.__dataclass_fields__})

    def logged(self) -> list[str]:
        """The queries that the text became, the most frequent first."""
        return sorted({query for query, _ in self.clicks}, key=lambda query: -self.searches(query))

    def searches(self, query: str) -> int:
        """How often; each search has one click."""
        return sum(count for (logged, _), count in self.clicks.items() if logged == query)

    def suggested(self) -> list[tuple[str, float]]:
        """All queries with their expected utility, best first."""
        return [
            (self.queries[query], utility)
            for query, utility in zip(self.best.query.tolist(), self.best.score.tolist(), strict=True)
        ]


def picture() -> str:
    """The picture as it should be."""
    example = Example.of(PAGE)
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" '
            f'viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-labelledby="title">',
            f'<title id="title">{_told(example)}</title>',
            f"<style>{STYLE}svg {{ {_colours(LIGHT)} }}",
            f"@media (prefers-color-scheme: dark) {{ svg {{ {_colours(DARK)} }} }}</style>",
            f'<rect class="panel" width="{WIDTH}" height="{HEIGHT}" rx="10"/>',
            *_heads(),
            *_left(example),
            *_right(example),
            *_middle(example),
            *_legend(),
            "</svg>\n",
        ]
    )


def _told(example: Example) -> str:
    values = ", ".join(f"{query} {utility:.2f}" for query, utility in example.suggested())
    wanted = ", ".join(
        f"{document} {amount:.2f}" for document, amount in zip(example.documents, example.demand, strict=True)
    )
    return f"The typed text {example.typed}; demand: {wanted}; expected utility: {values}"


def _colours(values: str) -> str:
    return "; ".join(f"--{name}: {value}" for name, value in zip(COLOURS, values.split(), strict=True))


def _heads() -> list[str]:
    told = (
        (TYPED, "typed text", ""),
        (BECOMES, "queries it becomes", "rank, clicks / p"),
        (DOCUMENTS, "documents", "demand per search"),
        (SUGGESTED, "suggested queries", "demand · p, and its sum"),
    )
    return [
        line
        for (x, _), name, what in told
        for line in (_text(x, 26, name, "strong"), _text(x, 44, what, "soft small"))
    ]


def _places(example: Example) -> dict[str, float]:
    """The middle of each document's box: the most wanted at the top."""
    order = sorted(range(len(example.documents)), key=lambda n: -example.demand[n])
    return {example.documents[n]: TOP + 52 + 78 * place for place, n in enumerate(order)}


def _left(example: Example) -> list[str]:
    drawn, (x, width), place = [], BECOMES, _places(example)
    total = sum(example.clicks.values())
    heights = [HEAD + LINE * len(example.pages[query]) + 6 for query in example.logged()]
    y = (TOP + HEIGHT - 40 - sum(heights) - GAP * 3 * (len(heights) - 1)) / 2
    typed = (TOP + HEIGHT - 40) / 2
    bottoms = dict.fromkeys(example.documents, 0.0)
    boxes = []
    for query, height in zip(example.logged(), heights, strict=True):
        number = example.searches(query)
        drawn.append(_curve(TYPED[0] + TYPED[1], typed, x, y + 24, "became", THICK * number / total))
        boxes.append(_box(x, y, width, height))
        boxes.append(_text(x + 10, y + 18, query, "strong"))
        boxes.append(_text(x + 10, y + 34, f"{number} of {total} searches", "soft small"))
        for rank, document in enumerate(example.pages[query], start=1):
            line = y + HEAD + LINE * (rank - 0.5)
            count = example.clicks.get((query, document), 0)
            boxes.append(_text(x + 10, line + 4, f"{rank}  {document}"))
            p = example.p[example.queries.index(query), example.documents.index(document)]
            if count:
                boxes.append(
                    _text(x + width - 10, line + 4, f"{count} · {1 / p:.0f} = {count / p:.0f}", "demand end")
                )
                share = THICK * count / p / total
                to = place[document] - THICK * example.demand[example.documents.index(document)] / 2
                to += bottoms[document] + share / 2
                bottoms[document] += share
                drawn.append(_curve(x + width, line, DOCUMENTS[0], to, "wanted", share))
            else:
                boxes.append(_text(x + width - 10, line + 4, "no click", "soft end small"))
                drawn.append(_curve(x + width, line, DOCUMENTS[0], place[document], "none"))
        y += height + GAP * 3
    box = [
        _box(TYPED[0], typed - 17, TYPED[1], 34),
        _text(TYPED[0] + TYPED[1] / 2, typed + 4.5, f"{example.typed}▏", "strong middle"),
    ]
    return [*drawn, *boxes, *box]


def _middle(example: Example) -> list[str]:
    drawn, (x, width) = [], DOCUMENTS
    largest = max(example.demand)
    for document, middle in _places(example).items():
        amount = example.demand[example.documents.index(document)]
        drawn += [
            _box(x, middle - 23, width, 46),
            _text(x + 10, middle - 5, document, "strong"),
            _text(x + width - 10, middle - 5, f"{amount:.1f}", "demand strong end"),
            f'<rect class="track" x="{x + 10}" y="{middle + 5:g}" width="{width - 20}" height="9" rx="2"/>',
            f'<rect class="demand" x="{x + 10}" y="{middle + 5:g}" '
            f'width="{(width - 20) * amount / largest:.1f}" height="9" rx="2"/>',
        ]
    return drawn


def _right(example: Example) -> list[str]:
    drawn, boxes, (x, width), place = [], [], SUGGESTED, _places(example)
    largest = max(utility for _, utility in example.suggested())
    y = TOP
    for number, (query, utility) in enumerate(example.suggested()):
        page = example.pages[query]
        height = SUGGESTED_HEAD + LINE * len(page) + 4
        bar = (width - 20) / largest
        boxes += [
            _box(x, y, width, height, "box" if number else "box best"),
            _text(x + 10, y + 18, query, "strong"),
            _text(x + width - 10, y + 18, f"{utility:.2f}", "utility strong end"),
            f'<rect class="track" x="{x + 10}" y="{y + 26}" width="{width - 20}" height="9" rx="2"/>',
            f'<rect class="utility" x="{x + 10}" y="{y + 26}" width="{bar * utility:.1f}" height="9" rx="2"/>',
            f'<path class="tick" d="M{x + 10 + bar:.1f} {y + 23}v15"/>',
        ]
        for rank, document in enumerate(page, start=1):
            line = y + SUGGESTED_HEAD + LINE * (rank - 0.5)
            column = example.documents.index(document)
            p, amount = example.p[example.queries.index(query), column], example.demand[column]
            product = f"{amount:.1f} · {'1' if rank == 1 else f'1/{rank}'} = {amount * p:.2f}"
            boxes.append(_text(x + 10, line + 4, f"{rank}  {document}"))
            boxes.append(_text(x + width - 10, line + 4, product, "utility end" if amount else "soft end"))
            start = DOCUMENTS[0] + DOCUMENTS[1]
            kind = ("shown", THICK * amount * p) if amount else ("none",)
            drawn.append(_curve(start, place[document], x, line, *kind))
        y += height + GAP
    return [*drawn, *boxes]


def _legend() -> list[str]:
    y = HEIGHT - 16
    return [
        _text(
            TYPED[0],
            y,
            "Lines are as wide as searches (grey), clicks / p (blue), demand · p (orange).",
            "soft small",
        ),
        f'<path class="tick" d="M{SUGGESTED[0] + 14} {y - 12}v15"/>',
        _text(SUGGESTED[0] + 22, y, "1: as good as to type on", "soft small"),
    ]


def _text(x: float, y: float, text: str, kind: str = "") -> str:
    return f'<text x="{x:g}" y="{y:g}" class="{kind}">{text}</text>'


def _box(x: float, y: float, width: float, height: float, kind: str = "box") -> str:
    return f'<rect class="{kind}" x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="6"/>'


def _curve(x: float, y: float, to_x: float, to_y: float, kind: str, width: float | None = None) -> str:
    middle = (x + to_x) / 2
    wide = f' stroke-width="{width:.2f}"' if width else ""
    bend = f"C{middle:g} {y:.1f} {middle:g} {to_y:.1f} {to_x:g} {to_y:.1f}"
    return f'<path class="{kind}" d="M{x:g} {y:.1f}{bend}"{wide}/>'


if __name__ == "__main__":
    PICTURE.parent.mkdir(exist_ok=True)
    PICTURE.write_text(picture(), encoding="utf-8")
