"""The paper's theory, checked in a tiny world whose truth is known exactly. Arrays only: nothing is drawn here."""

from wayword.reproduction.theory.saved import load, save
from wayword.reproduction.theory.theory import Theory, theory

__all__ = ["Theory", "load", "save", "theory"]
