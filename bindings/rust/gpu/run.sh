#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# Runs what build.sh collected, on the GPUs alone, and prints for each program
# how many tests passed, how many partitions libcuzk proved on which device, and
# how long it took. Fails if a test does, or if fewer partitions were proved
# than bellperson asks for.
#
#   bindings/rust/gpu/run.sh [--cpu] [WORD...]
#
# --cpu tries it where there is no GPU. With words, only programs whose name
# holds one of them run. The whole output goes to $OUT/rust.txt (default
# build/rust-gpu/out).
set -u
root=$(cd "$(dirname "$0")/../../.." && pwd)
kit=$root/build/rust-gpu
OUT=${OUT:-$kit/out}

backend=cuda
# The limit of one program; with 16 cores and a GPU the whole takes less.
max_seconds=60
if [ "${1-}" = --cpu ]; then
    backend=cpu
    max_seconds=1200
    shift
fi
words=("$@")

here=$(mktemp -d) || exit 1
trap 'rm -rf "$here"' EXIT
mkdir -p "$OUT"
python3 -m tarfile -e "$kit/kit.tar.xz" "$here" || tar -xJf "$kit/kit.tar.xz" -C "$here" || exit 1
log=$OUT/rust.txt
: >"$log"
# What was there stays: it may be where the driver is found.
export LD_LIBRARY_PATH=$here${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export LC_ALL=C CUZK_BACKEND=$backend CUZK_LOG=debug RUST_BACKTRACE=1

wanted() { # NAME
    local word
    [ ${#words[@]} -gt 0 ] || return 0
    for word in "${words[@]}"; do
        case $1 in *"$word"*) return 0 ;; esac
    done
    return 1
}

# start NAME FOLDER COMMAND...: runs it in a folder of the repository; its
# output, exit code and time are in files of that name afterwards.
start() {
    local name=$1 folder=$2 begin=$EPOCHREALTIME code
    shift 2
    (cd "$root/$folder" && timeout -k 5 "$max_seconds" "$@") >"$here/$name.out" 2>"$here/$name.err"
    code=$?
    echo "$code $(((${EPOCHREALTIME/./} - ${begin/./}) / 1000))" >"$here/$name.code"
}

failed=0
# account NAME MIN: says what a program did, which proved MIN partitions or
# more if it went well.
account() {
    local name=$1 minimum=$2 code milliseconds passed proved device verdict=ok
    read -r code milliseconds <"$here/$name.code"
    passed=$(sed -n 's/^test result: .* \([0-9]*\) passed.*/\1/p' "$here/$name.out")
    proved=$(grep -c 'msg=proved' "$here/$name.err")
    device=$(sed -n 's/.*msg=proved .*device="\([^"]*\)".*/\1/p' "$here/$name.err" | sort -u | paste -sd,)
    if [ "$code" != 0 ] || [ "$proved" -lt "$minimum" ]; then
        verdict="FAILED, exit code $code, at least $minimum partitions expected"
        failed=1
    fi
    echo "$name: $verdict, ${passed:-no} tests, $proved partitions on ${device:-no device}, $milliseconds ms"
    {
        echo "=== $name: $verdict"
        cat "$here/$name.out" "$here/$name.err"
    } >>"$log"
}

suite() { # NAME MIN FOLDER COMMAND...
    local name=$1 minimum=$2
    wanted "$name" || return 0
    shift 2
    start "$name" "$@"
    account "$name" "$minimum"
}

# What needs no GPU, or makes parameters, runs beside the rest.
gen=$here/around-parameters
if wanted around; then
    start around-parameters . "$here/around/cuzk-gen" -rows 1048576 "$gen" &
    generating=$!
fi
units=()
for version in 0.26.0 0.27.0; do
    wanted "bellperson-$version-units" || continue
    start "bellperson-$version-units" . "$here/bellperson-$version/bellperson" &
    units+=("$version" $!)
done

for version in 0.26.0 0.27.0; do
    # How many proofs bellperson's tests make; both versions the same.
    suite "bellperson-$version-mimc" 100 . "$here/bellperson-$version/mimc"
    suite "bellperson-$version-minroot" 257 . "$here/bellperson-$version/minroot"
    suite "bellperson-$version-groth16_aggregation" 40 . "$here/bellperson-$version/groth16_aggregation"
done
suite drop-in-golden 13 bindings/rust/supraseal-c2 "$here/drop-in/golden"
suite curio-functions 12 bindings/rust/supraseal-c2-curio "$here/curio/functions"
suite curio-daemon 37 bindings/rust/supraseal-c2-curio "$here/curio/daemon"
suite curio-host_memory 0 bindings/rust/supraseal-c2-curio "$here/curio/host_memory"

while [ ${#units[@]} -gt 0 ]; do
    wait "${units[1]}"
    account "bellperson-${units[0]}-units" 0
    units=("${units[@]:2}")
done
# Last, with nothing beside it: it measures.
if wanted around; then
    wait "$generating"
    account around-parameters 0
    suite around 12 . "$here/around/around" "$gen"
    cat "$here/around.out"
fi
exit $failed
