"""The policy's files: what is saved is loaded; damaged files are errors."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from shop import QUERIES, Shop
from wayword.completion import list_policy_io, stage
from wayword.completion.acceptance import MODEL
from wayword.completion.list_policy import ListPolicy
from wayword.errors import WorkspaceError
from wayword.logs.contexts import from_prefixes
from wayword.request import MODES


@pytest.fixture(scope="module")
def policy(shop: Shop) -> ListPolicy:
    return stage.load_lists(shop.folders)


@pytest.fixture
def saved(policy: ListPolicy, tmp_path: Path) -> Path:
    list_policy_io.save(policy, tmp_path)
    return tmp_path


def test_what_is_saved_is_loaded(policy: ListPolicy, saved: Path) -> None:
    found = list_policy_io.load(saved, policy.retriever)
    assert found.keystroke_value == policy.keystroke_value
    texts = from_prefixes([*QUERIES, "l", "la", "lamo"])
    for mode in MODES:
        one, other = (each.complete(texts, 10, mode=mode) for each in (policy, found))
        assert one.query.tolist() == other.query.tolist()
        assert one.score.tolist() == other.score.tolist()


@pytest.mark.parametrize("name", ["group", "lookalike", "shown_as", "pages.values", "word_forms.offsets"])
def test_arrays_of_another_length_are_an_error(name: str, policy: ListPolicy, saved: Path) -> None:
    file = saved / f"{name}.npy"
    array = np.load(file)
    file.unlink()
    np.save(file, array[:-1])
    with pytest.raises(ValueError, match="found"):
        list_policy_io.load(saved, policy.retriever)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("shown_as", 18),
        ("shown_as", -2),
        ("pages.values", 99),
        ("pages.values", -1),
        ("word_forms.values", -1),
    ],
)
def test_numbers_out_of_range_are_an_error(name: str, value: int, policy: ListPolicy, saved: Path) -> None:
    file = saved / f"{name}.npy"
    array = np.load(file)
    array[3] = value
    file.unlink()
    np.save(file, array)
    with pytest.raises(ValueError, match="found"):
        list_policy_io.load(saved, policy.retriever)


def test_arrays_of_another_type_are_an_error(policy: ListPolicy, saved: Path) -> None:
    file = saved / "group.npy"
    array = np.load(file).astype(np.float64)
    file.unlink()
    np.save(file, array)
    with pytest.raises(ValueError, match="found"):
        list_policy_io.load(saved, policy.retriever)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -0.1])
def test_an_impossible_keystroke_value_is_an_error(value: float, policy: ListPolicy, saved: Path) -> None:
    file = saved / list_policy_io.SETTINGS
    file.write_text(json.dumps({"keystroke_value": value}))
    with pytest.raises(ValueError, match="keystroke value"):
        list_policy_io.load(saved, policy.retriever)


def test_a_missing_acceptance_model_is_an_error(policy: ListPolicy, saved: Path) -> None:
    shutil.copy(saved / list_policy_io.SETTINGS, saved / MODEL)
    with pytest.raises(WorkspaceError, match="is not an acceptance model"):
        list_policy_io.load(saved, policy.retriever)
