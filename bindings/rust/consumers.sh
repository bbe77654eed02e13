#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# bellperson's own tests, with its sources as they are on crates.io.
#
#   consumers.sh test VERSION   over the drop-in: feature cuda-supraseal, and one line that patches
#   consumers.sh own VERSION    the same tests with bellperson's own CPU prover, to compare the times
#
# Both print how long each test program took.
set -eu
cd "$(dirname "$0")"
here=$PWD
# One folder for everything: what the crates here and both versions have in
# common is compiled once.
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR-$here/target}
# bellperson pins a toolchain of its own.
export RUSTUP_TOOLCHAIN=${RUSTUP_TOOLCHAIN-stable}
export CUZK_BUNDLED=${CUZK_BUNDLED-1}

run() {
    echo "+ $*"
    "$@"
}

# fetch VERSION FOLDER: the sources, with the versions of dependencies that the
# crates here have.
fetch() {
    local version=$1 folder=$2 manifest
    rm -rf "$folder"
    mkdir -p "$folder/fetch/src"
    : >"$folder/fetch/src/lib.rs"
    cat >"$folder/fetch/Cargo.toml" <<TOML
[package]
name = "fetch"
version = "0.0.0"
[dependencies]
bellperson = "=$version"
[workspace]
TOML
    manifest=$(cargo metadata --format-version 1 --manifest-path "$folder/fetch/Cargo.toml" |
        grep -o "\"manifest_path\":\"[^\"]*/bellperson-$version/Cargo.toml\"" | cut -d'"' -f4)
    cp -r "$(dirname "$manifest")" "$folder/source"
    echo "[workspace]" >>"$folder/source/Cargo.toml"
    cp Cargo.lock "$folder/source/Cargo.lock"
}

# patch FOLDER: what docs/migrate.md says, and the check that it says.
patch() {
    cat >>"$1/source/Cargo.toml" <<TOML
[patch.crates-io]
supraseal-c2 = { path = "$here/supraseal-c2" }
TOML
    cd "$1/source"
    # A lock file with an older version would leave the patch unused.
    run cargo update --package supraseal-c2 --precise 0.1.2
    cargo tree --features cuda-supraseal --invert supraseal-c2 --depth 0 | grep -F "$here/supraseal-c2"
}

tests() {
    local version=$1 folder=$here/target/consumers/bellperson-$1
    fetch "$version" "$folder"
    patch "$folder"
    run cargo test --release --features cuda-supraseal
}

own() {
    local version=$1 folder=$here/target/consumers/bellperson-$1-own
    fetch "$version" "$folder"
    cd "$folder/source"
    run cargo test --release
}

case ${1-} in
test) tests "${2:?usage: consumers.sh test VERSION}" ;;
own) own "${2:?usage: consumers.sh own VERSION}" ;;
*)
    sed -n '3,8s/^# \{0,1\}//p' "$0"
    exit 2
    ;;
esac
