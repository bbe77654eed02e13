#!/usr/bin/env bash
# Builds the simulated driver with g++: build/cudasim/libcuda.so.1 with the kernels of cuda/kernels and
# those that probe their arithmetic, or with `selftest`
# build/cudasim/selftest/libcuda.so.1 with those of testdata. Compiles only what is older than its sources; several
# builds at once wait for each other. CXX names another compiler of the GCC family.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
kernels="$root/cuda/kernels"
out="$root/build/cudasim"
case "${1:-kernels}" in
kernels) sources=$(find "$kernels" "$root/internal/launch/testdata" -name '*.cu' | sort) library="$out" ;;
selftest) sources=$(find "$here/testdata" -name '*.cu' | sort) library="$out/selftest" ;;
*)
    echo "usage: build.sh [kernels|selftest]" >&2
    exit 2
    ;;
esac
cxx=${CXX:-g++}
command -v "$cxx" >/dev/null || {
    echo "build.sh: $cxx is missing (Debian package g++)" >&2
    exit 1
}

mkdir -p "$library"
exec 9>"$out/lock"
flock 9

common=(-std=c++17 -g1 -fPIC -fvisibility=hidden -Wall -Wextra -Werror)
# A call before each access that other threads could see (instrument.cpp has the functions). No vectoriser: it would
# merge accesses.
# -g tells Go tests the layout of argument structs and the constants (twins).
checks=(-g -fsanitize=thread --param tsan-instrument-func-entry-exit=0 "-fsanitize=alignment,bounds,shift-exponent"
    -fno-tree-vectorize)

# What is built is as old as the build's begin: a source that is edited meanwhile is newer, whichever version of it the
# compiler has read.
begin() { touch "$1.begin"; }
ready() {
    touch -r "$1.begin" "$1.new"
    mv "$1.new" "$1"
    rm "$1.begin"
}

# stale OBJECT SOURCE: there is no object, or it is not newer than this script, its source and every header it took.
stale() {
    [ -e "$1" ] && [ -e "$1.d" ] || return 0
    for file in "$here/build.sh" $(sed -e 's/^[^:]*://' -e 's/\\$//' "$1.d"); do
        [ "$1" -nt "$file" ] || return 0
    done
    return 1
}

objects=()
running=0
failed="$out/failed.$$"
rm -f "$failed"
# compile OBJECT SOURCE FLAGS...
compile() {
    object=$1 source=$2
    shift 2
    objects+=("$object")
    stale "$object" || return 0
    begin "$object"
    {
        if "$cxx" "${common[@]}" "$@" -MMD -MF "$object.d" -x c++ -c "$source" -o "$object.new"; then
            ready "$object"
        else
            touch "$failed"
        fi
    } &
    running=$((running + 1))
    if [ $((running % $(nproc))) -eq 0 ]; then wait; fi
}

for source in "$here"/src/*.cpp; do
    compile "$out/$(basename "$source").o" "$source" -O2
done
for source in $sources; do
    # Two folders may have files of one name.
    name=$(echo "${source#"$root"/}" | tr / _)
    compile "$library/$name.o" "$source" -O2 "${checks[@]}" -I "$kernels"
done
wait
if [ -e "$failed" ]; then
    rm -f "$failed"
    exit 1
fi

newest=0
for object in "${objects[@]}" "$here/cudasim.map"; do
    [ "$library/libcuda.so.1" -nt "$object" ] || newest=1
done
# A kernel file that was taken away leaves a library that is newer than everything: compare the list too.
echo "${objects[*]}" | cmp -s - "$library/objects" || newest=1
if [ $newest -eq 1 ]; then
    begin "$library/libcuda.so.1"
    "$cxx" -shared -o "$library/libcuda.so.1.new" "${objects[@]}" -Wl,-soname,libcuda.so.1 -Wl,-Bsymbolic -Wl,-z,defs \
        -Wl,--version-script="$here/cudasim.map"
    echo "${objects[*]}" >"$library/objects"
    ready "$library/libcuda.so.1"
fi
