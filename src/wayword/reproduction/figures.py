"""Figures as SVG: lines over positions or sizes, intervals of policies, points of two measures.

Labels stand at what they name instead of in a legend; no series differs from another by its colour alone; an axis of
positive numbers that does not start at zero says so.
"""

from wayword.reproduction.drawing.intervals import intervals
from wayword.reproduction.drawing.lines import lines
from wayword.reproduction.drawing.points import points
from wayword.reproduction.drawing.series import Series

__all__ = ["Series", "intervals", "lines", "points"]
