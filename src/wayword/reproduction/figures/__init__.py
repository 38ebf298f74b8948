"""Figures as SVG: lines over positions or sizes, intervals of policies, points of two measures.

Labels stand at what they name instead of in a legend; no series differs from another by its colour alone; an axis of
positive numbers that does not start at zero says so.
"""

from wayword.reproduction.figures.intervals import intervals
from wayword.reproduction.figures.lines import lines
from wayword.reproduction.figures.points import points
from wayword.reproduction.figures.series import Series

__all__ = ["Series", "intervals", "lines", "points"]
