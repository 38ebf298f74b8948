"""Saves and loads the policy `wayword` beside its retriever: memory-mapped arrays and two small JSON files."""

import json
import math
from pathlib import Path

import numpy as np

from wayword.completion.acceptance import MODEL, Acceptance
from wayword.completion.expected_utility import ExpectedUtilityRetriever
from wayword.completion.list_policy import ListPolicy
from wayword.completion.suggested_queries import SuggestedQueries
from wayword.completion.survival import LONGEST
from wayword.store.arrays import load_array, save_array
from wayword.store.artefact import read_object

SETTINGS, SURVIVAL = "list_policy.json", "survival.npy"


def save(policy: ListPolicy, folder: Path) -> None:
    """Save all but the retriever."""
    policy.queries.save(folder)
    policy.acceptance.save(folder / MODEL)
    everybody = np.ones((len(policy.queries.group), LONGEST), np.float32)
    save_array(folder / SURVIVAL, everybody if policy.survival is None else policy.survival)
    settings = {"keystroke_value": policy.keystroke_value}
    (folder / SETTINGS).write_text(json.dumps(settings) + "\n", encoding="utf-8")


def load(folder: Path, retriever: ExpectedUtilityRetriever) -> ListPolicy:
    """Map the files of `save` into memory."""
    value = float(read_object(folder / SETTINGS)["keystroke_value"])
    if not (math.isfinite(value) and value >= 0):
        raise ValueError(f"found the keystroke value {value}; expected a number from 0")
    queries = SuggestedQueries.load(folder, retriever.matcher.spelling, retriever.graph.documents)
    survival = load_array(folder / SURVIVAL, np.float32, shape=(len(queries.group), LONGEST))
    return ListPolicy(retriever, queries, Acceptance.load(folder / MODEL), value, survival)
