#!/bin/sh
# Collects in build/gpu what run.sh needs on a machine with a card, where there is neither Go nor a network: test
# programs and cuzk-bench with the kernels in them, cuzk-timeline, and the large golden case. Everything is compressed,
# so that it can be carried. The machine also needs tests/gpu/run.sh and tests/golden of this repository.
#
# CUZK_CUDA_ARCHS (default: 90) names the architectures of the kernels; CUZK_GOLDEN_DIR the folder of the large golden
# case (default: ../shared/golden), without which its test is skipped there. CUZK_GPU_KERNELS=as-is takes the kernel
# images as they are.
set -eu

root=$(cd "$(dirname "$0")/../.." && pwd)
out=$root/build/gpu
most_mib=60
cd "$root"

if [ "${CUZK_GPU_KERNELS:-}" != as-is ]; then
    CUZK_CUDA_ARCHS=${CUZK_CUDA_ARCHS:-90} cuda/kernels/build.sh
fi
rm -rf "$out"
mkdir -p "$out/bin" "$out/golden"

# program NAME PACKAGE GO-COMMAND...
program() {
    name=$1 package=$2
    shift 2
    go "$@" -ldflags '-s -w' -o "$out/bin/$name" "./$package"
    gzip -9 "$out/bin/$name"
    echo "gpu: bin/$name.gz, $(wc -c <"$out/bin/$name.gz") bytes"
}
program cuzk-bench cmd/cuzk-bench build
program cuzk-timeline cmd/cuzk-timeline build

# Where kernels/build.sh has found nvcc, or put it.
nvcc=
for place in "$(command -v nvcc)" "${CUDA_HOME:-}/bin/nvcc" .tools/cuda/lib/python3*/site-packages/nvidia/cu13/bin/nvcc; do
    [ -n "$nvcc" ] || [ ! -x "$place" ] || nvcc=$place
done
gencode=
for arch in ${CUZK_CUDA_ARCHS:-90}; do
    gencode="$gencode -gencode arch=compute_$arch,code=sm_$arch"
done
# shellcheck disable=SC2086 # options are words
"$nvcc" -std=c++17 $gencode --fatbin -o "$out/fault.fatbin" tests/gpu/fault/fault.cu
# shellcheck disable=SC2086 # options are words
"$nvcc" -std=c++17 -O3 -I cuda/kernels $gencode --fatbin -o "$out/probe.fatbin" internal/launch/testdata/probe.cu

for package in internal/launch internal/circuits/ondevice cuda tests/gpu; do
    program "$(basename "$package").test" "$package" test -c
done

golden=${CUZK_GOLDEN_DIR:-../shared/golden}
for file in sha512.params sha512.gv sha512.1.gv; do
    if [ -e "$golden/$file" ]; then
        gzip -9 -c "$golden/$file" >"$out/golden/$file.gz"
    else
        echo "gpu: $golden/$file is not there; the large golden case will be skipped" >&2
    fi
done

size=$(du -sm "$out" | cut -f1)
echo "gpu: build/gpu takes $size MiB"
if [ "$size" -gt "$most_mib" ]; then
    echo "gpu: more than the $most_mib MiB that can be carried" >&2
    exit 1
fi
