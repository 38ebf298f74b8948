"""Figures as SVG: lines over positions or sizes, intervals of policies, points of two measures."""
