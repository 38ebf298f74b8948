"""A refresh of workspaces whose logs have more than queries and clicks: context columns, and lists shown."""

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from shop import make_world, open_shop, with_parts
from wayword.config import Config
from wayword.engines import tables
from wayword.pipeline import evaluate, run, simulate_people
from wayword.progress import SILENT
from wayword.refresh.refresh import refresh
from wayword.simulation.simulate import write_world
from wayword.store.workspace import Workspace


@pytest.mark.slow
def test_context_columns_are_carried_on_and_the_papers_stages_are_left_out(tmp_path: Path) -> None:
    world = with_parts(make_world())
    shop = open_shop(tmp_path, world, part=0.7)
    assert {"ranker", "retriever"} <= set(shop.workspace.manifest["stages"])
    strengths = shop.workspace.report("completion")["context"]
    new = write_world(world, clicks=1000, out=tmp_path / "new", seed=9, part=0.7)
    rows = pq.read_table(new / "clicks.parquet")
    pq.write_table(
        rows.set_column(0, "search_id", pc.add(rows["search_id"], 10**6)), tmp_path / "new.parquet"
    )
    done = refresh(shop.workspace.path, [tmp_path / "new.parquet"], promote="always")
    assert done.counts["new searches"] == rows.num_rows
    opened = Workspace.open(shop.workspace.path)
    assert not {"ranker", "retriever"} & set(opened.manifest["stages"])
    assert opened.report("completion")["context"] == strengths
    searches = tables.read(opened.folder("rankings"), "numbered_searches").to_pylist()
    shown = tables.read(opened.folder("contexts"), "contexts").to_pylist()
    assert [row["context"] for row in shown] == list(range(len(shown)))
    assert len({(row["prefix"], row["context_part"]) for row in shown}) == len(shown)
    by_number = {row["search"]: row for row in searches}
    instances = tables.read(opened.folder("contexts"), "instances").to_pylist()
    assert {row["search"] for row in instances} <= set(by_number)
    assert len([row for row in instances if row["search"] >= len(searches) - rows.num_rows]) > 1000
    for row in instances:
        search, context = by_number[row["search"]], shown[row["context"]]
        assert search["text"].startswith(context["prefix"])
        assert (search["context_part"], search["split"]) == (context["context_part"], row["split"])
    found = evaluate(opened, SILENT)
    assert found.report("estimates")["test searches"] == done.counts["searches held out"]


@pytest.mark.slow
def test_lists_shown_in_new_searches_say_what_these_intended(tmp_path: Path) -> None:
    settings = Config.parse({"evaluation": {"bootstrap": 50, "sessions": 100, "compare": ["popular"]}})
    days = [
        simulate_people(
            "packages", people="lenient", lists_shown=6000, out=tmp_path / f"{seed}", seed=seed, depth=10
        )
        for seed in (0, 1)
    ]
    ids = {}
    for name in ("clicks", "completions"):
        table = pq.read_table(days[1] / f"{name}.parquet")
        place = table.column_names.index("search_id")
        text = pc.cast(table["search_id"], pa.string())
        ids[name] = pc.if_else(pc.is_valid(text), pc.binary_join_element_wise("new", text, "-"), None)
        pq.write_table(table.set_column(place, "search_id", ids[name]), days[1] / f"{name}.parquet")
    workspace = run(
        days[0] / "clicks.parquet",
        days[0] / "rankings.parquet",
        completions=days[0] / "completions.parquet",
        out=tmp_path / "workspace",
        config=settings,
    )
    before = tables.read(workspace.folder("acceptance"), "intended")
    model = (workspace.folder("acceptance") / "acceptance.json").read_bytes()
    done = refresh(
        workspace.path,
        [days[1] / "clicks.parquet"],
        [days[1] / "rankings.parquet"],
        completions=days[1] / "completions.parquet",
        promote="always",
    )
    opened = Workspace.open(workspace.path)
    after = tables.read(opened.folder("acceptance"), "intended")
    searches = tables.read(opened.folder("rankings"), "numbered_searches", "search", "search_id")
    new = searches.filter(pc.starts_with(searches["search_id"], "new"))["search"].combine_chunks()
    of_new = after.filter(pc.is_in(after["search"], value_set=new))
    assert after.num_rows == before.num_rows + of_new.num_rows
    assert len(pc.unique(of_new["search"])) > 50
    total = of_new.group_by("search").aggregate([("probability", "sum")])["probability_sum"]
    assert pc.max(pc.abs(pc.subtract(total, 1.0))).as_py() < 1e-9
    assert (opened.folder("acceptance") / "acceptance.json").read_bytes() == model
    assert done.counts["new searches"] > 100
