#!/bin/sh
# Learn from what was searched since the last time: refresh.sh /var/lib/wayword [options of `wayword refresh`]
# Where RANKINGS holds options of `wayword rankings`, your engine is asked what it returns for new queries.
#
#   workspace/events/  the server writes here
#   new/               events that are not learned yet; what fails tonight is made up for tomorrow
#   learned/<time>/    events and log that were learned, to be kept for as long as you may
set -eu
state=${1:?"usage: refresh.sh FOLDER [OPTIONS]"}
shift
cd "$state"
umask 077
mkdir -p new workspace/events
# By renaming within the file system, so that nothing is lost that is written meanwhile.
find workspace/events -name '*.ndjson' -exec mv -t new {} +
[ -n "$(ls new)" ] || exit 0
wayword ubi new --out log
if [ -n "${RANKINGS:-}" ]; then
    # shellcheck disable=SC2086  # several options
    wayword rankings $RANKINGS --queries log/clicks.parquet --out rankings.parquet
    set -- --rankings rankings.parquet "$@"
fi
wayword refresh workspace --log log/clicks.parquet "$@"
done=learned/$(date -u +%Y%m%dT%H%M%SZ)
mkdir -p "$done"
mv new log "$done"
