#!/bin/bash
# Cancels what is left of the sequence, the last reservation first, so that none starts in between.
# Words of the user are quoted, whatever they hold.
# shellcheck disable=SC1003,SC1110,SC1111,SC1112,SC2016,SC2089,SC2090
set -euo pipefail
directory=@DIRECTORY@
[ -e "$directory/done" ] || echo "it was cancelled" >"$directory/broken"
jobs=()
while read -r _ id; do
    jobs=("$id" ${jobs[@]+"${jobs[@]}"})
done <"$directory/jobs"
[ "${#jobs[@]}" = 0 ] || scancel "${jobs[@]}"
