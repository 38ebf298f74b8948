"""Arrays that are mapped from a file are saved as another name of it, and never otherwise."""

import os
from pathlib import Path

import numpy as np
import pytest

from wayword.store.arrays import load_array, read_only, save_array


@pytest.fixture
def file(tmp_path: Path) -> Path:
    np.save(tmp_path / "one.npy", np.arange(1000, dtype=np.int32))
    return tmp_path / "one.npy"


def _is_linked(one: Path, other: Path) -> bool:
    return one.stat().st_ino == other.stat().st_ino


def test_a_mapped_array_is_on_disk_once(file: Path, tmp_path: Path) -> None:
    save_array(tmp_path / "two.npy", read_only(load_array(file, np.int32)))
    assert _is_linked(file, tmp_path / "two.npy")
    file.unlink()
    assert load_array(tmp_path / "two.npy", np.int32).tolist() == [*range(1000)]


def test_an_array_that_differs_from_its_file_is_written(file: Path, tmp_path: Path) -> None:
    mapped = load_array(file, np.int32)
    changed = load_array(file, np.int32)
    changed[500] = -1
    for number, array in enumerate((changed, mapped[1:], mapped[::-1], mapped.reshape(10, 100), mapped + 0)):
        saved = tmp_path / f"{number}.npy"
        save_array(saved, array)
        assert not _is_linked(file, saved)
        assert np.array_equal(np.load(saved), array)


def test_a_file_that_was_replaced_since_is_not_linked(file: Path, tmp_path: Path) -> None:
    mapped = load_array(file, np.int32)
    file.unlink()
    np.save(file, np.zeros(1000, np.int32))
    save_array(tmp_path / "two.npy", mapped)
    assert load_array(tmp_path / "two.npy", np.int32).tolist() == [*range(1000)]
    file.unlink()
    save_array(tmp_path / "three.npy", mapped)
    assert load_array(tmp_path / "three.npy", np.int32).tolist() == [*range(1000)]


def test_saving_over_a_file_leaves_its_other_names_and_readers_alone(file: Path, tmp_path: Path) -> None:
    mapped = load_array(file, np.int32)
    save_array(tmp_path / "two.npy", mapped)
    save_array(tmp_path / "two.npy", np.zeros(3, np.int32))
    assert mapped.tolist() == load_array(file, np.int32).tolist() == [*range(1000)]
    save_array(file, mapped)
    assert load_array(file, np.int32).tolist() == [*range(1000)]


def test_another_file_system_gets_a_copy(file: Path) -> None:
    memory = Path("/dev/shm")  # noqa: S108
    if not memory.is_dir() or memory.stat().st_dev == file.stat().st_dev:
        pytest.skip("there is no second file system")
    target = memory / f"wayword-{os.getpid()}.npy"
    try:
        save_array(target, load_array(file, np.int32))
        assert np.array_equal(np.load(target), np.load(file))
    finally:
        target.unlink(missing_ok=True)


def test_no_reader_waits_for_a_pipe(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "one.npy")
    with pytest.raises(FileNotFoundError):
        load_array(tmp_path / "one.npy", np.int32)
