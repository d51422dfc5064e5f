#!/bin/bash
# working.sh RUNTIME CHECKPOINT RESTART: works for so many microseconds by the protocol of 'holdfast submit'. On SIGUSR1 it
# writes its state, which takes CHECKPOINT microseconds, and exits with 85; it goes on after RESTART microseconds.
set -u
signalled=''
trap 'signalled=1' USR1
clock() { printf '%s' "${EPOCHREALTIME/[.,]/}"; }
pause() { sleep "$(($1 / 1000000)).$(printf '%06d' $(($1 % 1000000)))"; }

left=$1
if [ -e "$HOLDFAST_STATE" ]; then
    pause "$3"
    left=$(cat "$HOLDFAST_STATE")
fi
while [ "$left" -gt 0 ] && [ -z "$signalled" ]; do
    began=$(clock)
    sleep "$((left / 1000000)).$(printf '%06d' $((left % 1000000)))" &
    wait $!
    kill $! 2>/dev/null
    left=$((left - ($(clock) - began)))
done
[ "$left" -gt 0 ] || exit 0
pause "$2"
printf '%s\n' "$left" >"$HOLDFAST_STATE.new" && mv "$HOLDFAST_STATE.new" "$HOLDFAST_STATE"
exit 85
