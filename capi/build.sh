#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# Builds the C library from this folder; called by the top-level build.sh.
#
#   capi/build.sh lib              build/libcuzk.so, headers, pkg-config and CMake files
#   capi/build.sh static           build/libcuzk.a
#   capi/build.sh install PREFIX   copies what was built to PREFIX/{lib,include}
#
# CUZK_BUILD_DIR takes the place of build/.
set -eu
cd "$(dirname "$0")/.."

version=$(sed -n 's/^const version = "\(.*\)"$/\1/p' capi/version.go)
soname=libcuzk.so.1 # CUZK_ABI_VERSION / 1000
shared=libcuzk.so.$version
out=${CUZK_BUILD_DIR:-build}

run() {
    echo "+ $*"
    "$@"
}

headers() {
    mkdir -p "$out/include"
    cp include/cuzk.h include/supraseal_c2.h "$out/include/"
}

# The configuration files find the prefix from their own place, so that an
# installed tree can be moved.
configs() {
    sed "s/@VERSION@/$version/" bindings/c/cuzk.pc.in >"$out/cuzk.pc"
    mkdir -p "$out/cmake"
    cp bindings/c/cmake/cuzk-config.cmake "$out/cmake/"
    sed "s/@VERSION@/$version/" bindings/c/cmake/cuzk-config-version.cmake.in \
        >"$out/cmake/cuzk-config-version.cmake"
}

lib() {
    headers
    configs
    # nodelete: the Go runtime cannot be unloaded, so dlclose must not try.
    run env CGO_ENABLED=1 go build -trimpath -tags netgo -buildmode=c-shared -o "$out/lib.tmp/libcuzk.so" \
        -ldflags "-s -w -extldflags '-Wl,-soname,$soname -Wl,--version-script=$PWD/include/cuzk.map -Wl,-z,nodelete -Wl,-z,now'" \
        ./capi
    # Renamed into place: a running program may have the old file mapped.
    mv "$out/lib.tmp/libcuzk.so" "$out/$shared"
    rm -rf "$out/lib.tmp" # cgo's own header
    ln -sf "$shared" "$out/$soname"
    ln -sf $soname "$out/libcuzk.so"
}

# A c-archive cannot be linked into a Go program: both bring the Go runtime's
# symbols. So its objects become one, in which only the documented names stay
# global.
static() {
    headers
    configs
    local work="$out/static.tmp"
    rm -rf "$work"
    mkdir -p "$work/objects"
    run env CGO_ENABLED=1 go build -trimpath -tags netgo -buildmode=c-archive -o "$work/go.a" ./capi
    (cd "$work/objects" && ar x ../go.a)
    exported >"$work/exported.txt"
    # -d: common symbols get a place, without which they could not be made local
    # and would be merged with those of a Go host.
    run ld -r -d -o "$work/all.o" "$work/objects"/*.o
    run objcopy --keep-global-symbols="$work/exported.txt" "$work/all.o" "$work/libcuzk.o"
    rm -f "$out/libcuzk.a"
    run ar rcsD "$out/libcuzk.a" "$work/libcuzk.o"
    rm -rf "$work"
}

# The names in the version script, one a line.
exported() {
    sed -n 's/^ *\([A-Za-z0-9_]*\);$/\1/p' include/cuzk.map
}

install_to() {
    local prefix=$1
    [ -e "$out/libcuzk.so" ] || [ -e "$out/libcuzk.a" ] || {
        echo "capi/build.sh: nothing to install: run './build.sh lib' first" >&2
        exit 1
    }
    mkdir -p "$prefix/lib/pkgconfig" "$prefix/lib/cmake/cuzk" "$prefix/include"
    cp "$out/include"/*.h "$prefix/include/"
    cp "$out/cuzk.pc" "$prefix/lib/pkgconfig/"
    cp "$out/cmake"/*.cmake "$prefix/lib/cmake/cuzk/"
    [ ! -e "$out/libcuzk.a" ] || cp "$out/libcuzk.a" "$prefix/lib/"
    if [ -e "$out/libcuzk.so" ]; then
        cp "$out/$shared" "$prefix/lib/.$shared.new"
        mv "$prefix/lib/.$shared.new" "$prefix/lib/$shared"
        ln -sf "$shared" "$prefix/lib/$soname"
        ln -sf $soname "$prefix/lib/libcuzk.so"
    fi
    echo "installed libcuzk $version in $prefix"
}

# netgo above: the metrics bring in package net, whose resolver in C would need
# a library more. Nothing here opens a connection.

# One at a time: tests of several packages build at once.
mkdir -p "$out"
exec 9>"$out/.lock"
flock 9

case ${1-} in
lib) lib ;;
static) static ;;
install)
    # A relative PREFIX counts from where this was called: the cd above left it.
    case ${2:?usage: capi/build.sh install PREFIX} in
    /*) install_to "$2" ;;
    *) install_to "$OLDPWD/$2" ;;
    esac
    ;;
*)
    sed -n '3,10s/^# \{0,1\}//p' "$0"
    exit 2
    ;;
esac
