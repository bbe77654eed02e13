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

# Programs are built against what is in $out while another caller builds it
# again: each file there is replaced in one step, never written in place.

# link NAME TARGET: the symbolic link $out/NAME.
link() {
    [ "$(readlink "$out/$1")" = "$2" ] || ln -sf "$2" "$out/$1"
}

# The configuration files find the prefix from their own place, so that an
# installed tree can be moved.
headers_and_configs() {
    local work="$out/files.tmp"
    rm -rf "$work"
    mkdir -p "$work" "$out/include" "$out/cmake"
    cp include/cuzk.h include/supraseal_c2.h bindings/c/cmake/cuzk-config.cmake "$work/"
    sed "s/@VERSION@/$version/" bindings/c/cuzk.pc.in >"$work/cuzk.pc"
    sed "s/@VERSION@/$version/" bindings/c/cmake/cuzk-config-version.cmake.in \
        >"$work/cuzk-config-version.cmake"
    mv "$work"/*.h "$out/include/"
    mv "$work"/*.cmake "$out/cmake/"
    mv "$work/cuzk.pc" "$out/"
    rmdir "$work"
}

lib() {
    headers_and_configs
    # nodelete: the Go runtime cannot be unloaded, so dlclose must not try.
    run env CGO_ENABLED=1 go build -trimpath -tags netgo -buildmode=c-shared -o "$out/lib.tmp/libcuzk.so" \
        -ldflags "-s -w -extldflags '-Wl,-soname,$soname -Wl,--version-script=$PWD/include/cuzk.map -Wl,-z,nodelete -Wl,-z,now'" \
        ./capi
    mv "$out/lib.tmp/libcuzk.so" "$out/$shared"
    rm -rf "$out/lib.tmp" # cgo's own header
    link $soname "$shared"
    link libcuzk.so $soname
}

# A c-archive cannot be linked into a Go program: both bring the Go runtime's
# symbols. So its objects become one, in which only the documented names stay
# global.
static() {
    headers_and_configs
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
    run ar rcsD "$work/libcuzk.a" "$work/libcuzk.o"
    mv "$work/libcuzk.a" "$out/"
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
    sed -n '3,10s/^# \{0,1\}//p' capi/build.sh
    exit 2
    ;;
esac
