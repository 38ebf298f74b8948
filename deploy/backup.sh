#!/bin/sh
# Copy all that Wayword has while the server and a refresh run: backup.sh /var/lib/wayword /var/backups/wayword
#
# Artefacts and versions of the index never change once they have their names, and the files that point to them are
# replaced by renaming. So a copy is consistent if nothing but events came or went while it was made; else it is
# brought up to date. What has not changed since the last copy is a hard link to it. The last 14 copies are kept.
set -eu
from=${1:?"usage: backup.sh FOLDER COPIES"} copies=${2:?"usage: backup.sh FOLDER COPIES"}
copies=$(realpath "$copies")
new=$copies/.unfinished

made() {
    find "$copies" -mindepth 1 -maxdepth 1 -name '[0-9][0-9][0-9][0-9][0-9][0-9][0-9][0-9]T[0-9][0-9][0-9][0-9][0-9][0-9]Z' | sort
}
state() {
    cd "$from"
    cat workspace/manifest.json workspace/index/current
    find . -name '.?*' -prune -o -path ./workspace/events -prune -o -print | sort
}

last=$(made | tail -n 1)
for _ in $(seq 300); do
    before=$(state)
    code=0
    rsync --archive --hard-links --delete --exclude='.*' ${last:+--link-dest="$last"} "$from/" "$new/" || code=$?
    [ $code = 0 ] || [ $code = 24 ] || exit $code  # 24: a file went meanwhile
    if [ "$(state)" = "$before" ] && [ $code = 0 ]; then
        sync -f "$new"
        mv --no-target-directory "$new" "$copies/$(date -u +%Y%m%dT%H%M%SZ)"
        made | head -n -14 | while read -r old; do rm -rf "$old"; done
        exit
    fi
    sleep 2
done
echo "backup.sh: $from did not stay the same for as long as it takes to copy what changes. Is a build running again and again?" >&2
exit 1
