"""Makes what the shop has: a database with full-text search, and what its site recorded (User Behavior Insights).

    python make.py

writes `shop.db`, `products.csv`, `ubi/queries.ndjson` and `ubi/events.ndjson`. The records have the fields that
OpenSearch documents: a query with the results that it showed, and a click with the position that was clicked.
"""

import json
import sqlite3
import sys
from datetime import datetime, timedelta
from pathlib import Path

import pyarrow.parquet as pq
from pyarrow import csv

sys.path.insert(0, str(Path(__file__).parent.parent))
from outdoor_shop import DEPTH, people, products

BEGIN = datetime(2026, 9, 1)
SEARCH = Path(__file__).with_name("search.sql").read_text(encoding="utf-8")


def main() -> None:
    """Write the files into the current folder."""
    Path("shop.db").unlink(missing_ok=True)
    shop = sqlite3.connect("shop.db")
    shop.execute("CREATE VIRTUAL TABLE products USING fts5(sku UNINDEXED, title, text, tokenize = 'porter')")
    table = products()
    shop.executemany(
        "INSERT INTO products VALUES (?, ?, ?)",
        zip(*(table[c].to_pylist() for c in ("sku", "title", "text")), strict=True),
    )
    shop.commit()
    csv.write_csv(table, "products.csv")

    def search(query: str, depth: int) -> list[str]:
        words = " OR ".join(f'"{word}"' for word in query.split())
        return [sku for (sku,) in shop.execute(SEARCH, {"any_term": words, "depth": depth})]

    log = pq.read_table(people(search, Path("people"), clicks=3000) / "clicks.parquet").to_pylist()
    Path("ubi").mkdir(exist_ok=True)
    asked = {}
    with Path("ubi/queries.ndjson").open("w") as queries, Path("ubi/events.ndjson").open("w") as events:
        for number, row in enumerate(log):
            search_id = f"q{row['search_id']:06d}"
            moment = BEGIN + timedelta(minutes=7 * number)
            client = f"c{number % 997:03d}"
            if search_id not in asked:
                asked[search_id] = {
                    "application": "outdoor-shop",
                    "query_id": search_id,
                    "client_id": client,
                    "user_query": row["query"],
                    "query_attributes": {"device": "phone" if number % 3 else "desk"},
                    "query_response_id": f"r-{search_id}",
                    "query_response_hit_ids": search(row["query"], DEPTH),
                    "timestamp": f"{moment.isoformat()}.000Z",
                }
                queries.write(json.dumps(asked[search_id]) + "\n")
            if row["document"] is not None:
                event = {
                    "application": "outdoor-shop",
                    "action_name": "click",
                    "query_id": search_id,
                    "client_id": asked[search_id]["client_id"],
                    "user_query": row["query"],
                    "timestamp": f"{(moment + timedelta(seconds=9)).isoformat()}.000Z",
                    "event_attributes": {
                        "object": {"object_id": row["document"], "object_id_field": "sku"},
                        "position": {"ordinal": row["rank"]},
                    },
                }
                events.write(json.dumps(event) + "\n")
    clicks = sum(row["document"] is not None for row in log)
    print(f"{table.num_rows} products, {len(asked):,} searches and {clicks:,} clicks.")


if __name__ == "__main__":
    main()
