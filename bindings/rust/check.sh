#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# Checks the Rust crates; called by the top-level build.sh.
#
#   check.sh fmt | clippy | test | doc | demo | bench | all
#
# all is fmt, clippy, test and doc. The library is built from this tree and
# linked statically, as in a program that depends on the crate.
set -eu
cd "$(dirname "$0")"
unset CUZK_LIB_DIR CUZK_LINK
export CUZK_BUNDLED=1
export CARGO_TARGET_DIR="$PWD/target"

run() {
    echo "+ $*"
    "$@"
}

fmt() { run cargo fmt --all --check; }
# One profile for everything: bellperson's proofs need the optimiser, and
# nothing is built twice.
clippy() { run cargo clippy --locked --release --workspace --all-targets --all-features -- -D warnings; }
tests() { run cargo test --locked --release --workspace --all-features; }
doc() { RUSTDOCFLAGS="-D warnings" run cargo doc --locked --release --workspace --all-features --no-deps; }
demo() { run cargo run --locked --release --quiet -p cuzk-bellperson --bin demo; }
bench() { run cargo run --locked --release --quiet -p cuzk-bellperson --bin bench -- "$@"; }

case ${1-} in
fmt | clippy | doc | demo) "$1" ;;
test) tests ;;
bench)
    shift
    bench "$@"
    ;;
all)
    fmt
    clippy
    tests
    doc
    ;;
*)
    sed -n '3,8s/^# \{0,1\}//p' "$0"
    exit 2
    ;;
esac
