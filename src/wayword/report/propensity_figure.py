"""The curves of several methods in one figure, drawn by Matplotlib."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from wayword.errors import MissingExtra
from wayword.propensity.estimate import Estimate

# Okabe and Ito's palette; no curve differs from another by its colour alone.
LOOKS = (
    ("#0072B2", "o", "-"),
    ("#56B4E9", "X", ":"),
    ("#D55E00", "s", "--"),
    ("#009E73", "^", "-."),
    ("#CC79A7", "D", (0, (5, 1))),
    ("#E69F00", "v", (0, (3, 1, 1, 1))),
)


def draw_curves(estimates: Mapping[str, Estimate], path: Path, *, strong: str) -> None:
    """Draw p by rank on logarithmic axes, where a power law is a line, with the interval of the strong curve."""
    try:
        from matplotlib import rc_context
        from matplotlib.figure import Figure
    except ImportError as problem:
        raise MissingExtra("report", "Drawing the curves") from problem
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "wayword", "font.size": 11}):
        figure = Figure(figsize=(9, 5.5), layout="constrained")
        axes = figure.add_subplot()
        for (name, found), (colour, marker, dashes) in zip(estimates.items(), LOOKS, strict=False):
            if name == strong:
                axes.fill_between(found.ranks, found.low, found.high, color=colour, alpha=0.15, linewidth=0)
            look: dict[str, Any] = {"color": colour, "marker": marker, "linestyle": dashes, "markersize": 5}
            axes.plot(found.ranks, found.p, label=name, linewidth=2.6 if name == strong else 1.3, **look)
        axes.set(xscale="log", yscale="log", xlabel="rank", ylabel="p, relative to rank 1 (logarithmic)")
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_formatter(lambda value, _: f"{value:g}")
        axes.grid(alpha=0.3)
        axes.legend(title=f"band: 95 % interval of {strong}")
        figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)
