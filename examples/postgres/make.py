"""Fills the shop's database: products, and what people searched and clicked in a number of days.

    python make.py "$SHOP" 7    # seven days
    python make.py "$SHOP" 8    # the eighth, too

What people want changes a little from day to day.
"""

import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import psycopg
import pyarrow.parquet as pq

sys.path.insert(0, str(Path(__file__).parent.parent))
from outdoor_shop import people, products

FOLDER = Path(__file__).parent
SEARCH = (FOLDER / "search.sql").read_text(encoding="utf-8")
DAYS, CLICKS = 8, 4000
SEASONAL = "winter bag"
"""Nobody searches for these before the eighth day."""
BEGIN = datetime(2026, 11, 1, 6, tzinfo=UTC)


def main(address: str, days: int) -> None:
    """Add what is not there yet."""
    with psycopg.connect(address) as shop:
        if shop.execute("SELECT to_regclass('products')").fetchone() == (None,):
            shop.execute((FOLDER / "schema.sql").read_text(encoding="utf-8"))
            rows = [tuple(row.values()) for row in products().to_pylist()]
            shop.cursor().executemany("INSERT INTO products VALUES (%s, %s, %s, %s)", rows)

        def search(query: str, depth: int) -> list[str]:
            return [sku for (sku,) in shop.execute(SEARCH, {"query": query, "depth": depth})]

        folder = people(search, Path("people"), clicks=CLICKS, days=DAYS)
        log = pq.read_table(folder / "clicks.parquet").to_pylist()
        searches: dict[int, tuple[object, ...]] = {}
        clicks = []
        dates = sorted({str(row["time"])[:10] for row in log})
        known = {number for (number,) in shop.execute("SELECT id FROM searches")}
        for number, row in enumerate(log):
            day = dates.index(str(row["time"])[:10])
            early = row["query"].endswith(SEASONAL) and day < DAYS - 1
            if day >= days or row["search_id"] in known or early:
                continue
            moment = BEGIN + timedelta(days=day, seconds=number)
            searches[row["search_id"]] = (row["search_id"], moment, f"k{number % 997:03d}", row["query"])
            if row["document"] is not None:
                clicks.append((row["search_id"], row["document"], row["rank"]))
        shop.cursor().executemany("INSERT INTO searches VALUES (%s, %s, %s, %s)", list(searches.values()))
        shop.cursor().executemany("INSERT INTO clicks VALUES (%s, %s, %s)", clicks)
    print(f"{len(searches):,} searches and {len(clicks):,} clicks were added.")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
