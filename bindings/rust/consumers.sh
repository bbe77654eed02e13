#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# bellperson's own tests, with its sources as they are on crates.io.
#
#   consumers.sh test VERSION      over the drop-in: feature cuda-supraseal, and one line that patches
#   consumers.sh own VERSION       the same tests with bellperson's own CPU prover, to compare the times
#   consumers.sh sources VERSION   no more than the patched sources; prints their folder
#
# The tests print how long each program took.
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

# Where the sources of a version lie, patched or not.
folder() { echo "$here/target/consumers/bellperson-$1"; }

# fetch VERSION FOLDER: the sources, with those versions of their dependencies
# that the crates here have.
fetch() {
    local version=$1 fetcher=$2.fetcher manifest
    mkdir -p "$fetcher/src"
    : >"$fetcher/src/lib.rs"
    cat >"$fetcher/Cargo.toml" <<TOML
[package]
name = "fetcher"
version = "0.0.0"
[dependencies]
bellperson = "=$version"
[workspace]
TOML
    manifest=$(cargo metadata --format-version 1 --manifest-path "$fetcher/Cargo.toml" |
        grep -o "\"manifest_path\":\"[^\"]*/bellperson-$version/Cargo.toml\"" | cut -d'"' -f4)
    rm -rf "$fetcher"
    cp -r "$(dirname "$manifest")" "$2"
    # Nothing in the package uses criterion, which with the 26 crates that come
    # with it takes 57 of the 163 s of processor time of the whole test.
    sed -i '/^\[dev-dependencies\.criterion\]$/,/^$/d' "$2/Cargo.toml"
    echo "[workspace]" >>"$2/Cargo.toml"
    cp "$here/Cargo.lock" "$2/Cargo.lock"
}

# What docs/migrate.md says, and that it is so. Sources that are there already
# stay, so that cargo compiles them once.
patched() {
    local version=$1 sources
    sources=$(folder "$version")
    if [ ! -d "$sources" ]; then
        rm -rf "$sources.new"
        fetch "$version" "$sources.new"
        cat >>"$sources.new/Cargo.toml" <<TOML
[patch.crates-io]
supraseal-c2 = { path = "$here/supraseal-c2" }
TOML
        # A lock file with an older version would leave the patch unused.
        (cd "$sources.new" && run cargo update --package supraseal-c2 --precise 0.1.2)
        mv "$sources.new" "$sources"
    fi
    cd "$sources"
    cargo tree --features cuda-supraseal --invert supraseal-c2 --depth 0 | grep -F "$here/supraseal-c2"
}

own() {
    local version=$1 sources
    sources=$(folder "$version")-own
    rm -rf "$sources"
    fetch "$version" "$sources"
    cd "$sources"
    run cargo test --release
}

version=${2-}
case ${1-}${version:+ VERSION} in
"test VERSION")
    patched "$version"
    run cargo test --release --features cuda-supraseal
    ;;
"own VERSION") own "$version" ;;
"sources VERSION")
    patched "$version" >&2
    folder "$version"
    ;;
*)
    sed -n '3,9s/^# \{0,1\}//p' "$(basename "$0")"
    exit 2
    ;;
esac
