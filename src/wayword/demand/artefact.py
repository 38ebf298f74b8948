"""The files of the artefact `demand`."""

DEMAND, EXPOSURE, OWN = "demand", "exposure", "own_utility"
"""Queries × documents; documents × queries; and for each query the utility of its page for those who issue it."""
EARLY = "early"
"""The folder with demand and own utilities learned without the held-out searches."""
RELEVANCE = "relevance"
"""Queries × documents: the relevance prior of every pair, in the order of the pairs."""
