#!/bin/sh
# Compiles each kernel source into images/NAME.fatbin. Needs no GPU.
#
# nvcc is taken from PATH, else from CUDA_HOME, else from the wheels of
# wheels.txt, which are installed into .tools/cuda. CUZK_CUDA_ARCHS narrows the machine code
# ("90" or "80 90"); PTX of the lowest architecture is always included, so that
# newer GPUs run too. CUZK_KERNEL_JOBS is how many compilers run at a time.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
archs=${CUZK_CUDA_ARCHS:-80 86 89 90 100 120}
jobs=${CUZK_KERNEL_JOBS:-$(nproc 2>/dev/null || echo 2)}

find_nvcc() {
    if command -v nvcc; then
        return
    fi
    if [ -n "${CUDA_HOME:-}" ] && [ -x "$CUDA_HOME/bin/nvcc" ]; then
        echo "$CUDA_HOME/bin/nvcc"
        return
    fi
    venv=$root/.tools/cuda
    if ! ls "$venv"/lib/python3*/site-packages/nvidia/cu13/bin/nvcc >/dev/null 2>&1; then
        echo "kernels: no nvcc on PATH or in CUDA_HOME; installing the pinned wheels into .tools/cuda" >&2
        python3 -m venv "$venv" >&2
        "$root/retry.sh" "$venv/bin/pip" install --quiet --disable-pip-version-check --require-hashes \
            -r "$here/wheels.txt" >&2
    fi
    ls "$venv"/lib/python3*/site-packages/nvidia/cu13/bin/nvcc
}

nvcc=$(find_nvcc)
gencode=
lowest=
for arch in $archs; do
    gencode="$gencode -gencode arch=compute_$arch,code=sm_$arch"
    if [ -z "$lowest" ] || [ "$arch" -lt "$lowest" ]; then
        lowest=$arch
    fi
done
gencode="$gencode -gencode arch=compute_$lowest,code=compute_$lowest"

# An image is stale when any source, this script or the architectures changed.
stamp=$here/images/.stamp
now=$(
    echo "$gencode"
    "$nvcc" --version | tail -n 1
    cd "$here" && cat build.sh ./*/*.cuh ./*/*.cu
)
now=$(echo "$now" | sha256sum | cut -d' ' -f1)
if [ "$now" = "$(cat "$stamp" 2>/dev/null)" ] && [ -z "${CUZK_KERNEL_FORCE:-}" ]; then
    echo "kernels: images are up to date ($archs, PTX $lowest)"
    exit 0
fi

rm -f "$here"/images/*.fatbin "$stamp"
echo "kernels: $nvcc, sm $archs, PTX $lowest"
cd "$here"
# shellcheck disable=SC2016 # the inner shell expands its arguments
for source in */*.cu; do
    echo "$source"
done | xargs -P "$jobs" -I{} sh -c '
    name=$(basename "$2" .cu)
    # shellcheck disable=SC2086 # options are words
    "$0" -std=c++17 -O3 -I. $1 --fatbin -o "images/$name.fatbin" "$2" && echo "kernels: images/$name.fatbin"
' "$nvcc" "$gencode" {}
echo "$now" >"$stamp"
