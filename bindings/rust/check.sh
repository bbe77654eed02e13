#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# Checks the Rust crates; called by the top-level build.sh.
#
#   check.sh fetch                       what the others need from the network
#   check.sh fmt | clippy | test | doc   one kind of check
#   check.sh all                         these four
#   check.sh link                        part of test: each way to find the library
#   check.sh demo                        SHA-256 by bellperson and by libcuzk
#   check.sh bench [WORD...]             the table of docs/performance.md
#   check.sh around [PREFIX]             the time of the drop-in itself, at 2^20 rows
#   check.sh bellperson 0.27.0           bellperson's own tests over the drop-in
#
# The library is built from this tree and linked statically, as in a program
# that depends on the crate.
set -eu
cd "$(dirname "$0")"
unset CUZK_LIB_DIR CUZK_LINK
export CUZK_BUNDLED=1
export CARGO_TARGET_DIR="$PWD/target"

run() {
    echo "+ $*"
    "$@"
}

# One profile for everything: bellperson's proofs need the optimiser, and
# nothing is built twice. The second workspace holds the crate for Curio.
in_both() {
    run cargo "$1" --locked --release --workspace "${@:2}"
    run cargo "$1" --locked --release --manifest-path supraseal-c2-curio/Cargo.toml "${@:2}"
}

retry=$PWD/../../retry.sh
fetch() {
    run "$retry" cargo fetch --locked
    run "$retry" cargo fetch --locked --manifest-path supraseal-c2-curio/Cargo.toml
}
fmt() {
    run cargo fmt --all --check
    run cargo fmt --manifest-path supraseal-c2-curio/Cargo.toml --check
}
clippy() { in_both clippy --all-targets --all-features -- -D warnings; }
tests() {
    in_both test --all-features
    (link)
}
doc() {
    export RUSTDOCFLAGS="-D warnings"
    in_both doc --all-features --no-deps
}
# Installs the library in a folder of its own, and tests cuzk-sys over it.
link() {
    local prefix=$PWD/target/link/prefix
    export CARGO_TARGET_DIR="$PWD/target/link"
    export CUZK_BUILD_DIR="$PWD/target/link/build"
    run ../../capi/build.sh lib
    run ../../capi/build.sh static
    run ../../capi/build.sh install "$prefix"
    unset CUZK_BUILD_DIR
    local test=(cargo test --locked --package cuzk-sys --test link)
    run env CUZK_LIB_DIR="$prefix/lib" "${test[@]}"
    echo "+ with another archive in its place, that one must be linked:"
    touch "$prefix/lib/libcuzk.a"
    env CUZK_LIB_DIR="$prefix/lib" "${test[@]}" 2>&1 | grep "Compiling cuzk-sys"
    run env CUZK_LIB_DIR="$prefix/lib" CUZK_LINK=dynamic "${test[@]}"
    run env CUZK_BUNDLED=0 PKG_CONFIG_PATH="$prefix/lib/pkgconfig" "${test[@]}"
    echo "+ with nothing to find, this must fail:"
    if CUZK_BUNDLED=0 PKG_CONFIG_LIBDIR=/nonexistent "${test[@]}" 2>"$CARGO_TARGET_DIR/stderr"; then
        echo "check.sh: cuzk-sys was linked without a library" >&2
        exit 1
    fi
    grep "no libcuzk found" "$CARGO_TARGET_DIR/stderr"
}

demo() { run cargo run --locked --release --quiet -p cuzk-bellperson --bin demo; }
bench() { run cargo run --locked --release --quiet -p cuzk-bellperson --bin bench -- "$@"; }

# Over parameters that are made first, if they are not there.
around() {
    local prefix=${1:-$CARGO_TARGET_DIR/around}
    # A relative one counts from where this was called: the cd above left it.
    case $prefix in
    /*) ;;
    *) prefix=$OLDPWD/$prefix ;;
    esac
    [ -e "$prefix.gv" ] || run go -C ../.. run ./cmd/cuzk-gen -rows 1048576 "$prefix"
    run cargo run --locked --release --quiet -p cuzk-bellperson --bin around -- "$prefix"
}

case ${1-} in
fetch | fmt | clippy | doc | link | demo) "$1" ;;
test) tests ;;
bench)
    shift
    bench "$@"
    ;;
around)
    shift
    around "$@"
    ;;
bellperson) run ./consumers.sh test "${2:?usage: check.sh bellperson VERSION}" ;;
all)
    fmt
    clippy
    tests
    doc
    ;;
*)
    sed -n '3,15s/^# \{0,1\}//p' "$(basename "$0")"
    exit 2
    ;;
esac
