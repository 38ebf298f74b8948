"""Wayword: query autocompletion that knows where each query leads."""

__version__ = "0.1.0"
