#!/bin/sh
# Each night: night.sh [options of `wayword refresh`]. SHOP is the address of the database; `since` has the time of the
# last search that is learned, so that what fails tonight is made up for tomorrow.
set -eu
psql "$SHOP" --quiet --tuples-only --no-align --command "SELECT max(at) FROM searches" > until
psql "$SHOP" --quiet --csv --set since="$(cat since)" --file export.sql > today.csv
wayword import today.csv --yes --out today
wayword rankings --from postgres --endpoint "$SHOP" --template search.sql --queries today/clicks.parquet \
  --out rankings.parquet
wayword refresh workspace --log today/clicks.parquet --rankings rankings.parquet "$@"
mv until since
