#!/bin/bash
# Submits the reservations as a chain: each starts only if all before it have failed (saved, stopped at the limit, or lost
# with a node), and Slurm cancels the rest when one is done. Call it again after a failure: it submits what is missing.
# Words of the user are quoted, whatever they hold.
# shellcheck disable=SC1003,SC1110,SC1111,SC1112,SC2016,SC2089,SC2090
set -euo pipefail
directory=@DIRECTORY@
options=(@OPTIONS@)
last=@LAST@

if [ -e "$directory/submitted" ]; then
    echo "it is submitted already: 'holdfast status' shows where it is" >&2
    exit 1
fi
if ! mkdir "$directory/submitting" 2>/dev/null; then
    echo "another submission is under way; if there is none, remove $directory/submitting" >&2
    exit 1
fi
trap 'rm -f "$directory/jobs.new"; rmdir "$directory/submitting"' EXIT
touch "$directory/jobs"
# A job that cannot be recorded, as on a full disk, would never do anything: it is cancelled.
record() {
    if ! { cat "$directory/jobs" && printf '%s %s\n' "$1" "$2"; } >"$directory/jobs.new" ||
        ! mv "$directory/jobs.new" "$directory/jobs"; then
        scancel "$2"
        exit 1
    fi
}
before='' first=''
for ((number = 1; number <= last; number++)); do
    id=$(awk -v number="$number" '$1 == number {print $2}' "$directory/jobs")
    if [ -z "$id" ]; then
        # The first is held until all are recorded: a reservation that is not recorded does nothing.
        if [ -z "$before" ]; then link=(--hold); else link=("--dependency=afternotok$before" --kill-on-invalid-dep=yes); fi
        id=$(sbatch --parsable "${options[@]}" "${link[@]}" "$directory/reservation-$number.sh")
        id=${id%%;*}
        record "$number" "$id"
    fi
    before=$before:$id
    first=${first:-$id}
done
# With an accounting database a new job cannot be changed until it has its entry there.
for ((try = 1; ; try++)); do
    if message=$(scontrol release "$first" 2>&1); then break; fi
    if [ "$try" -ge 20 ]; then
        printf '%s\n' "$message" >&2
        exit 1
    fi
    sleep 3
done
touch "$directory/submitted"
