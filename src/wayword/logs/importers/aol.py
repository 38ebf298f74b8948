"""AOL: the query log of 2006 (AnonID, Query, QueryTime, ItemRank, ClickURL, separated by tabs), a row per click.

As its README says, a row without ItemRank and ClickURL is a query without a click, and several clicks on one result
list are rows with the same user, query and time: these are one search. A query of `-` was withheld.
"""

from collections.abc import Collection
from dataclasses import replace

from wayword.logs.importers import click_rows
from wayword.logs.importers.columns import Mapped
from wayword.logs.importers.job import Format, Job, Outcome

COLUMNS = {
    "query": "Query",
    "document": "ClickURL",
    "rank": "ItemRank",
    "user": "AnonID",
    "time": "QueryTime",
}


def recognises(names: Collection[str]) -> bool:
    """Its five columns."""
    return {*COLUMNS.values()} <= {*names}


def read(job: Job) -> Outcome:
    """Read the log."""
    mapped = Mapped({**COLUMNS, **job.mapping}, {}, {}, (), ())
    return click_rows.read(replace(job, first_rank=1), mapped)


FORMAT = Format(
    "aol", "the AOL query log of 2006 (tab separated)", recognises, read, (*COLUMNS,), quoted=False
)
