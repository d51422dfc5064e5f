#!/bin/bash
# Plays job @NUMBER@ of a job table: it sleeps as long as the job computes, takes its checkpoints, and goes on from the last
# one after a requeue. SIGUSR1 asks it to save and to wait for the end, SIGUSR2 tells it that its number of nodes has changed.
state=@STATE@ size=@SIZE@
kind=@KIND@ setup=@SETUP@ work=@WORK@ interval=@INTERVAL@ cost=@COST@ dumps=@DUMPS@ saves=@SAVES@
# Times are microseconds; the work of a malleable job is node-microseconds.
set -u
signalled=''
if [ "$saves" = 1 ]; then trap 'signalled=1' USR1; else trap '' USR1; fi
trap ':' USR2

clock() { printf '%s' "${EPOCHREALTIME/[.,]/}"; }
put() { printf '%s\n' "$1" >"$state.new" && mv "$state.new" "$state"; }
# Sleeps for so long, or until a signal; how long is in $slept.
pause() {
    local began
    began=$(clock)
    sleep "$(($1 / 1000000)).$(printf '%06d' $(($1 % 1000000)))" &
    wait $!
    kill $! 2>/dev/null
    slept=$(($(clock) - began))
    [ "$slept" -le "$1" ] || slept=$1
}
# What has been computed stays in the state.
until_the_end() {
    put "$left $dumps"
    while :; do pause 1000000000; done
}

left=$work
[ ! -e "$state" ] || read -r left dumps <"$state"
printf '%s\n' "$SLURM_JOB_NUM_NODES" >"$size"
if [ "$setup" -gt 0 ]; then pause "$setup"; fi
if [ -n "$signalled" ]; then until_the_end; fi
slice=0
while [ "$left" -gt 0 ]; do
    if [ "$kind" = malleable ]; then
        nodes=$(cat "$size")
        pause $(((left + nodes - 1) / nodes))
        left=$((left - slept * nodes))
    else
        if [ "$slice" -le 0 ]; then slice=$((dumps > 0 ? interval : left)); fi
        pause "$slice"
        left=$((left - slept))
        slice=$((slice - slept))
        if [ -z "$signalled" ] && [ "$slice" -le 0 ] && [ "$dumps" -gt 0 ]; then
            if [ "$cost" -gt 0 ]; then pause "$cost"; fi
            dumps=$((dumps - 1))
            put "$left $dumps"
        fi
    fi
    if [ -n "$signalled" ]; then until_the_end; fi
done
