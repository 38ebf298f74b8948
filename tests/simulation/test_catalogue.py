from importlib.resources import files

import pyarrow as pa

from wayword.simulation.catalogue import KINDS, load_catalogue, related_counts, relations


def test_the_embedded_catalogue_is_small_and_whole() -> None:
    assert len((files("wayword.simulation") / "debian.parquet").read_bytes()) <= 4_000_000
    catalogue = load_catalogue()
    assert catalogue.num_rows == 63_436
    assert catalogue["package"].to_pylist() == sorted(set(catalogue["package"].to_pylist()))
    assert all(catalogue["title"].to_pylist())
    assert set(catalogue.column_names) == {"package", "title", "section", *KINDS}


def test_relations_of_a_known_package() -> None:
    catalogue = load_catalogue()
    names = catalogue["package"].to_pylist()
    row = catalogue.slice(names.index("mutt"), 1).to_pylist()[0]
    assert "libc6" in [names[n] for n in row["depends"]]
    assert "gnupg" in [names[n] for n in row["suggests"]]


def test_relations_are_those_of_a_slow_loop() -> None:
    catalogue = load_catalogue().slice(0, 500).combine_chunks()
    slow = {
        (source, target)
        for kind in KINDS
        for source, targets in enumerate(catalogue[kind].to_pylist())
        for target in targets
    }
    assert [tuple(pair) for pair in relations(catalogue).tolist()] == sorted(slow)


def test_each_related_package_counts_once() -> None:
    lists = {"depends": [[1], [], [1]], "recommends": [[1, 2], [], []], "suggests": [[], [0], []]}
    table = pa.table(
        {"package": ["a", "b", "c"], **lists, "enhances": pa.array([[], [], []], pa.list_(pa.int32()))}
    )
    assert related_counts(table).tolist() == [1, 2, 1]
