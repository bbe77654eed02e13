#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# Collects in build/rust-gpu/kit.tar.xz what run.sh needs on a machine with a
# GPU, where there is neither Rust nor Go nor a network: bellperson's own tests
# over the drop-in, those of the drop-in for Curio, the bench `around`, and one
# shared library with the kernels in it for all. The machine also needs
# bindings/rust/gpu/run.sh and tests/golden of this repository, Python 3, and
# this machine's C library or a newer one.
#
# CUZK_CUDA_ARCHS (default: 90) names the architectures of the kernels.
# CUZK_LIB_DIR takes a library that is built already.
set -eu
root=$(cd "$(dirname "$0")/../../.." && pwd)
cd "$root/bindings/rust"

out=$root/build/rust-gpu
work=$PWD/target/gpu
max_bytes=$((8 << 20))
versions="0.26.0 0.27.0"

rm -rf "$work/kit"
mkdir -p "$work/kit" "$out"

if [ -z "${CUZK_LIB_DIR-}" ]; then
    CUZK_CUDA_ARCHS=${CUZK_CUDA_ARCHS:-90} "$root/cuda/kernels/build.sh"
    CUZK_BUILD_DIR=$work/library "$root/capi/build.sh" lib
    export CUZK_LIB_DIR=$work/library
fi
export CUZK_LINK=dynamic CARGO_TARGET_DIR=$PWD/target
cp -L "$CUZK_LIB_DIR/libcuzk.so.1" "$work/kit/"

# programs FOLDER ARGUMENTS...: stripped programs of a cargo command, by the
# names of their targets.
programs() {
    local folder=$work/kit/$1 name program
    shift
    mkdir -p "$folder"
    echo "+ cargo $*"
    cargo "$@"
    # Again as JSON, now that nothing is left to build: a line for each program.
    cargo "$@" --message-format json 2>/dev/null |
        sed -n 's/.*"kind":\["[a-z]*"\][^}]*"name":"\([^"]*\)".*"executable":"\([^"]*\)".*/\1 \2/p' |
        while read -r name program; do
            strip -o "$folder/$name" "$program"
        done
}

for version in $versions; do
    sources=$(./consumers.sh sources "$version")
    (
        cd "$sources"
        export RUSTUP_TOOLCHAIN=${RUSTUP_TOOLCHAIN-stable}
        programs "bellperson-$version" test --release --features cuda-supraseal --no-run
    )
    # These hold no tests with this feature, or only some of files.
    for name in compatibility dummy_engine gpu_provers groth16 util; do
        rm "$work/kit/bellperson-$version/$name"
    done
done
programs curio test --locked --release --manifest-path supraseal-c2-curio/Cargo.toml --test daemon --test functions --test host_memory --no-run
programs drop-in test --locked --release -p supraseal-c2 --test golden --no-run
programs around build --locked --release -p cuzk-bellperson --bin around
CGO_ENABLED=0 go -C "$root" build -trimpath -ldflags '-s -w' -o "$work/kit/around/cuzk-gen" ./cmd/cuzk-gen

# The largest window: the programs have much in common.
python3 - "$work/kit" "$work/kit.tar.xz" <<'PYTHON'
import sys, tarfile
with tarfile.open(sys.argv[2], "w:xz", preset=9) as kit:
    kit.add(sys.argv[1], arcname=".")
PYTHON
size=$(wc -c <"$work/kit.tar.xz")
echo "rust-gpu: build/rust-gpu/kit.tar.xz takes $size bytes"
if [ "$size" -gt "$max_bytes" ]; then
    echo "rust-gpu: more than the $max_bytes bytes that it may take" >&2
    exit 1
fi
mv "$work/kit.tar.xz" "$out/"
