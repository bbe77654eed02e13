#!/usr/bin/env bash
# filecoin-proofs seals 2 KiB sectors, with libcuzk as the prover behind its feature cuda-supraseal, and verifies them.
#
#   tests/filecoin/seal.sh                all that `cpu` needs, then `cpu`
#   tests/filecoin/seal.sh fetch          the sources, as on crates.io but for the patch
#   tests/filecoin/seal.sh build          the programs
#   tests/filecoin/seal.sh params         the parameters of the PoRep, 1.1 GB
#   tests/filecoin/seal.sh cpu [TEST]     filecoin-proofs' own test over the CPU back end
#   tests/filecoin/seal.sh bellperson     two of the same proofs by bellperson's own prover on the CPU, for comparison
#   tests/filecoin/seal.sh kit            what a machine with a card needs, in build/filecoin/kit
#   tests/filecoin/seal.sh run params     there, with nothing but this folder and the kit: makes the parameters
#   tests/filecoin/seal.sh run [TEST]     there: the test over CUDA; makes the parameters, or waits for the process that does
#
# TEST is test_seal_lifecycle_2kib_base_8 (the default: each of the five kinds of PoRep once, 17 proofs) or
# test_resumable_seal_v1 or ..._v1_1 (one kind, 2 proofs). Neither a card nor the CUDA SDK is needed to build. Everything
# lies in build/filecoin, but for the test's log if $OUT names a folder. CUZK_LIB_DIR takes a libcuzk.so.1 that is built
# already; CUZK_CUDA_ARCHS (default: 90) names the architectures of the kit's kernels.
set -euo pipefail
shopt -s inherit_errexit

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
work=$root/build/filecoin
source=$work/source
kit=$work/kit
log=${OUT:-$work}/filecoin.log

# As in CUDA's own folder, so that build scripts find the driver's library.
driver=$work/driver/lib64
export CARGO_TARGET_DIR=$work/target
export RUSTUP_TOOLCHAIN=${RUSTUP_TOOLCHAIN-stable}
export LC_ALL=C

lifecycle=test_seal_lifecycle_2kib_base_8

run() {
    echo "+ $*"
    "$@"
}

fail() {
    echo "seal.sh: $*" >&2
    exit 1
}

# folder_of CRATE FOLDER: where cargo keeps a crate that the package in FOLDER depends on. It compares the checksums in
# the lock file.
folder_of() {
    cargo metadata --format-version 1 --filter-platform x86_64-unknown-linux-gnu --manifest-path "$2/Cargo.toml" "${@:3}" |
        python3 -c 'import json, os, sys
print(*(os.path.dirname(p["manifest_path"]) for p in json.load(sys.stdin)["packages"] if p["name"] == sys.argv[1]))' "$1"
}

# cargo update is what the documentation tells users: with another version in the lock file the patch is not used.
fetch() {
    [ ! -e "$source/.fetched" ] || return 0
    local registry tree
    registry=$(folder_of filecoin-proofs "$here/params" --locked)
    rm -rf "$source"
    mkdir -p "$work"
    cp -r "$registry" "$source"
    cat >>"$source/Cargo.toml" <<TOML
[workspace]
[patch.crates-io]
supraseal-c2 = { path = "$root/bindings/rust/supraseal-c2" }
TOML
    cd "$source"
    run cargo update --package supraseal-c2 --precise 0.1.2
    tree=$(cargo tree --no-default-features --features cuda-supraseal --invert supraseal-c2 --depth 1)
    echo "$tree"
    case $tree in
    "supraseal-c2 v0.1.2 ($root/"*) ;;
    *) fail "filecoin-proofs would not be built with the supraseal-c2 of this repository" ;;
    esac
    touch .fetched
    cd "$root"
}

# A library with the driver's names for the linker, and for programs where there is no driver: each call answers 100,
# CUDA_ERROR_NO_DEVICE. The names are those that the crate declares which wants the library.
driver_stand_in() {
    [ ! -e "$driver/libcuda.so" ] || return 0
    local declarations
    declarations=$(folder_of cuda-driver-sys "$source" --no-default-features --features cuda-supraseal)/src
    mkdir -p "$driver"
    grep -rhoE 'fn cu[A-Z][A-Za-z0-9_]*' "$declarations" | cut -d' ' -f2 | sort -u |
        sed 's/.*/int &(void) { return 100; }/' |
        gcc -shared -fPIC -Wl,-soname,libcuda.so.1 -x c -o "$driver/libcuda.so.1" -
    ln -sf libcuda.so.1 "$driver/libcuda.so"
}

# The shared library, so that a change of it does not build filecoin-proofs anew; other tests link the archive.
library() {
    if [ -n "${CUZK_LIB_DIR:-}" ]; then
        mkdir -p "$work/lib"
        run cp --remove-destination -a "$CUZK_LIB_DIR"/libcuzk.so* "$work/lib/"
    else
        CUZK_BUILD_DIR=$work/lib run "$root/capi/build.sh" lib
    fi
}

# api_test NAME ARGUMENTS...: builds filecoin-proofs' test `api` as bin/NAME.
api_test() {
    local name=$1 program
    shift
    cd "$source"
    echo "+ cargo test --release --no-default-features $* --test api --no-run"
    program=$(cargo test --release --no-default-features "$@" --test api --no-run --message-format json-render-diagnostics |
        grep -oE '"executable":"[^"]*/api-[0-9a-f]+"' | cut -d'"' -f4)
    cp --remove-destination "$program" "$work/bin/$name"
    cd "$root"
}

params_program() {
    run cargo test --locked --release --manifest-path "$here/params/Cargo.toml"
    run cargo build --locked --release --manifest-path "$here/params/Cargo.toml"
    cp --remove-destination "$CARGO_TARGET_DIR/release/porep-params" "$work/bin/"
}

build() {
    fetch
    mkdir -p "$work/bin"
    params_program
    library
    driver_stand_in
    CUZK_LIB_DIR=$work/lib CUZK_LINK=dynamic CUDA_LIBRARY_PATH=${driver%/lib64} PATH="$here/fake:$PATH" \
        api_test api --features cuda-supraseal
}

# Nothing is read or written outside of the folder.
export FIL_PROOFS_PARAMETER_CACHE=$work/params FIL_PROOFS_PARENT_CACHE=$work/parents

# params PROGRAM: makes the parameters, or waits for the process that is making them.
params() {
    mkdir -p "$work"
    (
        flock 9
        run "$1"
    ) 9>"$work/params.lock"
}

# proofs_of TEST: how many proofs it asks for.
proofs_of() {
    case $1 in
    "$lifecycle") echo 17 ;; # four kinds in one partition each, and the non-interactive one in 13
    test_resumable_seal_v1 | test_resumable_seal_v1_1) echo 2 ;;
    *) fail "no test $1: see the head of this script" ;;
    esac
}

# sealed TEST PROGRAM VARIABLES...: runs one test of filecoin-proofs, which must pass.
sealed() {
    local test=$1 program=$2
    local TIMEFORMAT="filecoin-proofs' $1: %R s, processor time %U s and %S s in the system"
    shift 2
    [ -x "$program" ] || fail "there is no $program: '$0 build' makes it"
    mkdir -p "$FIL_PROOFS_PARENT_CACHE" "$work/tmp"
    echo "+ $* $program $test --exact --include-ignored --nocapture"
    time env "$@" TMPDIR="$work/tmp" RUST_LOG=bellperson=info \
        "$program" "$test" --exact --include-ignored --nocapture >"$log" 2>&1 || {
        tail -n 40 "$log" >&2
        fail "filecoin-proofs' $test failed; the whole log is $log"
    }
    grep -q '^test result: ok. 1 passed' "$log" || fail "filecoin-proofs has no test $test; the whole log is $log"
}

# by_libcuzk TEST STAGE: every proof of the test must be one of libcuzk's that went through the stage.
by_libcuzk() {
    local expected proved
    expected=$(proofs_of "$1")
    proved=$(grep -cE "msg=proved .*stages=.*\b$2:" "$log" || true)
    [ "$proved" = "$expected" ] ||
        fail "$1 asks for $expected proofs, libcuzk's log has $proved with the stage $2: see $log"
    echo "$proved proofs by libcuzk, seconds from worker to answer, by device:"
    sed -nE 's/.*msg=proved .* device=("[^"]*"|[^ ]*) seconds=([^ ]*) .*/\2 \1/p' "$log" | sort -g |
        awk '{ t = $1; sub(/[^ ]* /, ""); n[$0]++; all[$0, n[$0]] = t; sum[$0] += t }
            END { for (d in n) printf "  %s: %d, least %.3f, median %.3f, most %.3f, sum %.3f\n",
                d, n[d], all[d, 1], all[d, int((n[d] + 1) / 2)], all[d, n[d]], sum[d] }'
    prover_times
}

# What bellperson measured around each call, whichever the prover was: after synthesis, all circuits of the call.
prover_times() {
    echo "calls of the prover, seconds by bellperson's clock: $(sed -nE 's/.*prover time: ([0-9.]+)(m?)s.*/\1 \2/p' "$log" |
        awk '{ printf "%s%.2f", (NR > 1 ? ", " : ""), ($2 == "m" ? $1 / 1000 : $1) }')"
}

cpu() {
    sealed "$1" "$work/bin/api" CUZK_LOG=debug CUZK_BACKEND=cpu LD_LIBRARY_PATH="$work/lib:$driver"
    by_libcuzk "$1" classify # a stage of the CPU back end only
    echo "(bellperson's own prover: 37 to 66 s a proof on two cores; '$0 bellperson' measures it here)"
}

bellperson() {
    fetch
    mkdir -p "$work/bin"
    api_test api-bellperson
    params_program
    params "$work/bin/porep-params"
    sealed test_resumable_seal_v1_1 "$work/bin/api-bellperson"
    prover_times
}

kit() {
    if [ ! -x "$work/bin/api" ]; then
        build
    fi
    if [ -z "${CUZK_LIB_DIR:-}" ]; then
        CUZK_CUDA_ARCHS=${CUZK_CUDA_ARCHS:-90} run "$root/cuda/kernels/build.sh"
    fi
    library
    rm -rf "$kit"
    mkdir -p "$kit/files"
    strip -o "$kit/files/api" "$work/bin/api"
    strip -o "$kit/files/porep-params" "$work/bin/porep-params"
    cp "$work/lib/libcuzk.so.1" "$kit/files/" # has no symbols to strip
    python3 - "$kit" <<'PYTHON'
import sys, tarfile
with tarfile.open(sys.argv[1] + "/kit.tar.xz", "w:xz", preset=9) as kit:
    kit.add(sys.argv[1] + "/files", arcname=".")
PYTHON
    rm -r "$kit/files"
    echo "$kit/kit.tar.xz: $(wc -c <"$kit/kit.tar.xz") bytes"
}

# unpacked: where the kit's files are, once they are.
unpacked() {
    local packed=$kit/kit.tar.xz plain=$work/run
    [ -e "$packed" ] || fail "there is no $packed: '$0 kit' makes it"
    (
        flock 9
        [ ! "$plain" -nt "$packed" ] || exit 0
        rm -rf "$plain" "$plain.partial"
        python3 -m tarfile -e "$packed" "$plain.partial"
        touch "$plain.partial"
        mv "$plain.partial" "$plain"
    ) 9>"$work/kit.lock"
    echo "$plain"
}

# on_card params|TEST
on_card() {
    local plain
    plain=$(unpacked)
    params "$plain/porep-params"
    [ "$1" != params ] || return 0
    # What was there stays: it may be where the driver is found.
    sealed "$1" "$plain/api" CUZK_LOG=debug CUZK_BACKEND=cuda LD_LIBRARY_PATH="$plain${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
    by_libcuzk "$1" upload # a stage of the CUDA back end only
}

case ${1-all} in
all)
    build
    params "$work/bin/porep-params"
    cpu "$lifecycle"
    ;;
fetch | build | bellperson | kit) "$1" ;;
params) params "$work/bin/porep-params" ;;
cpu) cpu "${2-$lifecycle}" ;;
run) on_card "${2-$lifecycle}" ;;
*)
    sed -n '2,18s/^# \{0,1\}//p' "$0"
    exit 2
    ;;
esac
