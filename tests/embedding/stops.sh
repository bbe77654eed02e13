#!/usr/bin/env bash
# Looks for stops of the whole process, as docs/embedding.md describes them: RUNS runs of short_threads on the CPU, each of
# SECONDS, AT_ONCE at a time.
#
#   tests/embedding/stops.sh [RUNS [SECONDS [AT_ONCE]]]      (100 3 4)
#
# LIBRARY is the folder of another libcuzk.so than build/. Prints the number of runs, of stops and of threads that
# called, and fails if there was a stop or a run that ended otherwise.
set -euo pipefail
cd "$(dirname "$0")/../.."
runs=${1:-100} seconds=${2:-3} at_once=${3:-4}
library=${LIBRARY:-$PWD/build}
[ -e "$library/libcuzk.so" ] || capi/build.sh lib >/dev/null
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
gcc -std=gnu11 -O1 -Iinclude -Ibindings/c/examples -o "$out/short_threads" tests/embedding/testdata/short_threads.c \
    bindings/c/examples/gv.c -L"$library" -lcuzk -Wl,-rpath,"$library" -lpthread

# The collector runs as often as it can, and threads are few or many by turns.
one() {
    local widths=(2 4 12 32)
    if GOGC=5 CUZK_BACKEND=cpu timeout $((seconds + 120)) "$out/short_threads" "${widths[$1 % 4]}" "$seconds" \
        tests/golden/oneinp.params tests/golden/oneinp.gv >>"$out/runs" 2>>"$out/errors"; then
        echo ok
    elif [ $? = 1 ]; then
        echo stop
    else
        echo other
    fi >>"$out/ends"
}
for ((i = 0; i < runs; i++)); do
    while [ "$(jobs -rp | wc -l)" -ge "$at_once" ]; do wait -n; done
    one $i &
done
wait
count() { grep -cx "$1" "$out/ends" || true; }
printf '%s runs of %s s: %s with a stop, %s that ended otherwise, %s threads; longest stop %s s\n' \
    "$runs" "$seconds" "$(count stop)" "$(count other)" "$(awk '{n += $1} END {print n + 0}' "$out/runs")" \
    "$(awk '{print $5}' "$out/runs" | sort -g | tail -1)"
[ "$(count ok)" = "$runs" ] || { head -20 "$out/errors" >&2; exit 1; }
