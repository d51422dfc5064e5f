#!/bin/bash
#SBATCH --nodes=@NODES@
#SBATCH --time=@MINUTES@
@SIGNAL@
#SBATCH --no-requeue
# Reservation @NUMBER@ of a sequence that Holdfast planned. submit.sh submits it as a link of a chain.
# The program says how it ended by its exit status: 0 done, 85 saved and not done, any other died. One that cannot choose
# its status makes the file $HOLDFAST_SAVED instead of 85. $HOLDFAST_STATE is a path for its state.
# Words of the user are quoted, whatever they hold; functions are called by traps.
# shellcheck disable=SC1003,SC1110,SC1111,SC1112,SC2016,SC2089,SC2090,SC2317,SC2329
program=(@PROGRAM@)
directory=@DIRECTORY@
history=@HISTORY@
number=@NUMBER@ checkpointed=@CHECKPOINTED@ save_after=@SAVE_AFTER@ restart=@RESTART@ checkpoint=@CHECKPOINT@ retries=@RETRIES@

set -u
# Until the program runs nothing can be saved.
trap '' USR1
job=${SLURM_JOB_ID:?this script is for Slurm; submit.sh submits it}
log() { printf '%s reservation %s, job %s: %s\n' "$(date +%Y-%m-%dT%H:%M:%S)" "$number" "$job" "$1"; }
record() { printf '%s\t%s\t%s\t%s\t%s\t%s\n' "$number" "$job" "$began" "$(date +%s)" "$1" "$2" >>"$directory/records.tsv"; }
put() { printf '%s\n' "$2" >"$directory/$1.new" && mv "$directory/$1.new" "$directory/$1"; }

if ! grep -qx "$number $job" "$directory/jobs"; then
    log "is not the job that submit.sh recorded; it does nothing"
    exit 1
fi
if [ -e "$directory/done" ]; then
    log "the program is done"
    exit 0
fi
if [ -e "$directory/broken" ]; then
    log "the sequence has ended: $(cat "$directory/broken")"
    exit 1
fi

saved=0
[ ! -e "$directory/saved" ] || saved=$(cat "$directory/saved")
[ "$saved" -gt 0 ] || restart=0
export HOLDFAST_STATE=$directory/state HOLDFAST_SAVED=$directory/saved-in-$number HOLDFAST_RESERVATION=$number
rm -f "$HOLDFAST_SAVED"

began=$(date +%s) asked='' app='' timer=''
ask() {
    [ -z "$asked" ] || return 0
    asked=$(date +%s)
    log "asks the program to save"
    kill -USR1 "$app" 2>/dev/null
}
# The timer is exact. The signal of Slurm comes up to a minute early: then the timer decides. Earlier still, it is a
# user's (scancel --batch --signal=USR1 JOB).
early() {
    if [ -z "$timer" ] || [ $((save_after - ($(date +%s) - began))) -gt 60 ]; then ask; fi
}
# The timer is one process without children, so that nothing is left when it is killed: it reads from a pipe that says
# nothing, and that it holds open itself.
nap() {
    local silence
    exec {silence}<> <(:)
    while :; do
        read -r -t "$save_after" -u "$silence"
        [ $? -le 128 ] || break
    done
    kill -USR2 $$
}
# KILL, because a process that has just begun may lose any other signal.
stop_timer() {
    [ -z "$timer" ] || kill -KILL "$timer" 2>/dev/null
    timer=''
}
ended_by_slurm() {
    stop_timer
    record stopped 143
    exit 143
}
trap early USR1
trap ask USR2
trap stop_timer EXIT
# A TERM between the start of the timer and the note of its process would leave the timer behind: it waits for the note.
terminated=''
trap 'terminated=1' TERM

"${program[@]}" &
app=$!
if [ "$checkpointed" = 1 ]; then
    nap &
    timer=$!
    disown "$timer"
fi
trap ended_by_slurm TERM
[ -z "$terminated" ] || ended_by_slurm
# wait ends at each signal, too; the status of a process that has ended is remembered.
code=0
while kill -0 "$app" 2>/dev/null; do
    wait "$app"
    code=$?
done
wait "$app" 2>/dev/null
final=$?
[ "$final" = 127 ] || code=$final
stop_timer

now=$(date +%s)
if [ "$code" = 85 ] || [ -e "$HOLDFAST_SAVED" ]; then
    work=$((${asked:-$((now - checkpoint))} - began - restart))
    [ "$work" -gt 0 ] || work=0
    put saved $((saved + work))
    record saved "$code"
    log "saved"
    exit 85
fi
if [ "$code" = 0 ]; then
    runtime=$((saved + now - began - restart))
    [ "$runtime" -gt 0 ] || runtime=1
    put "done" "$runtime"
    record "done" 0
    [ -z "$history" ] || printf '%s\n' "$runtime" >>"$history"
    log "done, after $runtime s of work"
    exit 0
fi
# At the limit Slurm ends the program and this script at once, one of them first.
if [ "$code" = 143 ] || [ "$code" = 137 ]; then sleep 2; fi
record died "$code"
log "the program died with exit status $code"
if [ "$(awk -F '\t' '$5 == "died"' "$directory/records.tsv" | wc -l)" -gt "$retries" ]; then
    put broken "the program died with exit status $code in reservation $number"
    rest=()
    while read -r other id; do
        [ "$other" -le "$number" ] || rest+=("$id")
    done <"$directory/jobs"
    [ "${#rest[@]}" = 0 ] || scancel "${rest[@]}"
fi
exit "$code"
