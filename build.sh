#!/usr/bin/env bash
# The one door to building and testing libcuzk. `./build.sh help` lists the commands.
set -euo pipefail
cd "$(dirname "$0")"

TOOLS=$PWD/.tools
FUZZ_FACTOR=${CUZK_FUZZ_FACTOR:-1}

usage() {
    cat <<'TEXT'
usage: ./build.sh [command]

  lib              build/libcuzk.so, headers, pkg-config and CMake files (the default)
  static           build/libcuzk.a
  kernels          the CUDA kernel image; needs no GPU (CUZK_CUDA_ARCHS=90 narrows it)
  demo             build, prove a real SHA-256 circuit and verify it; on the GPU if there is one
  test             everything: formatting, lint, unit tests, race tests, model, C, Rust
  lint             formatting and static checks only
  install PREFIX   copy what was built under PREFIX
  clean            remove build/ and what the tests made; keeps .tools/
  help             this text

options: --cpu-only leaves the CUDA kernels out of lib, static, demo and test
TEXT
}

# need TOOL PACKAGE: stops unless TOOL is there, naming the Debian package.
need() {
    command -v "$1" >/dev/null || {
        echo "build.sh: $1 is missing; on Debian: apt-get install $2" >&2
        exit 1
    }
}

# step NAME COMMAND...: runs it and prints how long it took.
step() {
    local name=$1 start=$SECONDS
    shift
    echo "=== $name: $*"
    "$@"
    echo "=== $name: ok, $((SECONDS - start)) s"
}

need_compilers() {
    need go golang
    need gcc gcc
    need python3 python3
    need nm binutils
}

# The images are embedded, so without them the library has the CPU alone.
kernels() {
    if [ "$CPU_ONLY" = 1 ]; then
        rm -f cuda/kernels/images/*.fatbin cuda/kernels/images/.stamp
    else
        step kernels cuda/kernels/build.sh
    fi
}

lib() {
    need_compilers
    kernels
    step lib capi/build.sh lib
}

static() {
    need_compilers
    kernels
    step static capi/build.sh static
}

demo() {
    need cargo cargo
    lib
    step demo bindings/rust/check.sh demo
}

check_gofmt() {
    local bad
    bad=$(git ls-files '*.go' | xargs gofmt -l)
    [ -z "$bad" ] || { echo "not gofmt-ed: $bad" >&2; return 1; }
}

# From PyPI, in .tools/ under the version that .ci/clang-format.txt names.
clang_format_tool() {
    local dir
    dir=$TOOLS/$(sed -n 's/^\(clang-format\)==\([0-9.]*\).*/\1-\2/p' .ci/clang-format.txt)
    if [ ! -x "$dir/bin/clang-format" ]; then
        python3 -m venv "$dir" >&2
        ./retry.sh "$dir/bin/pip" install --quiet --disable-pip-version-check --require-hashes \
            -r .ci/clang-format.txt >&2
    fi
    echo "$dir/bin/clang-format"
}

check_clang_format() {
    local tool
    tool=$(clang_format_tool)
    git ls-files '*.c' '*.h' '*.cpp' '*.cu' '*.cuh' | xargs "$tool" --dry-run --Werror
}

# Debian's package, unpacked into .tools/ where the system has none.
shellcheck_tool() {
    command -v shellcheck && return
    if [ ! -x "$TOOLS/shellcheck/usr/bin/shellcheck" ]; then
        need apt-get shellcheck
        tests/debian.sh shellcheck "$TOOLS/shellcheck" >&2
    fi
    echo "$TOOLS/shellcheck/usr/bin/shellcheck"
}

# Scripts that take a command say which, from whatever folder they are called.
check_usage() {
    local script
    for script in bindings/rust/check.sh bindings/rust/consumers.sh capi/build.sh tests/filecoin/seal.sh; do
        (cd tests && ! "../$script" no-such-command) | grep -q "$(basename "$script") " || {
            echo "build.sh: $script has no usage text" >&2
            return 1
        }
    done
}

check_shell() {
    local tool
    tool=$(shellcheck_tool)
    git ls-files '*.sh' .ci/run | xargs "$tool"
}

# What go and cargo would get from the network later, all at once and with patience.
fetch() {
    ./retry.sh go list -deps -test ./... tool >/dev/null
    bindings/rust/check.sh fetch
}

lint() {
    need_compilers
    need cargo cargo
    step fetch fetch
    step gofmt check_gofmt
    step vet go vet ./...
    step staticcheck go tool staticcheck ./...
    step clang-format check_clang_format
    step shellcheck check_shell
    step usage check_usage
    step rustfmt bindings/rust/check.sh fmt
    step clippy bindings/rust/check.sh clippy
}

# Seconds each. Inputs are counted, not time: at the end of a time go 1.26 fails now
# and then with "context deadline exceeded" on a busy machine (golang/go issue 75804).
fuzz() {
    local package target inputs
    while read -r package target inputs; do
        step "fuzz $target" go test "./$package" -run '^$' -fuzz "^$target\$" \
            -fuzztime "$((inputs * FUZZ_FACTOR))x" -fuzzminimizetime 10x </dev/null
    done <<'TARGETS'
engine/srs FuzzParams 100000
internal/circuits/gv FuzzDecode 200000
capi FuzzAssignment 10000
TARGETS
}

tests() {
    need g++ g++
    need cmake cmake
    need pkg-config pkg-config
    lint
    lib
    static
    # The schedules run in full with the race detector, the rest of the time briefly.
    step "go test" env CUZK_REQUIRE_CUDASIM=1 CUZK_SCHED_JOBS=3000 CUZK_EMBED_SECONDS=30 go test -timeout 60m ./...
    step "go test -race" go test -race -short -timeout 30m ./engine/... ./capi/... \
        ./internal/{circuits/gv,circuits/synth,hostmem,par,sched,settings,vram}/...
    step "go test -race, lost devices" env CUZK_REQUIRE_CUDASIM=1 go test -race -timeout 30m -run 'Lost|Reset|Drop|Recover|Pinned|Cancelled' ./cuda
    step "lock check" env CUZK_SCHED_JOBS=3000 go test -timeout 30m -tags cuzk_lockcheck ./internal/sched
    step "lock check, cuda" env CUZK_REQUIRE_CUDASIM=1 go test -timeout 30m -tags cuzk_lockcheck \
        -run 'Timeline|WorkersWithin|CancelAnywhere|LostDevice|ManyLaunches|Tiles' ./cuda
    step model tests/model/run.sh
    fuzz
    step rust bindings/rust/check.sh test
    step "bellperson's own tests" bindings/rust/check.sh bellperson 0.27.0
    step "rust doc" bindings/rust/check.sh doc
    echo "=== all tests passed in $SECONDS s"
}

install_to() {
    [ -n "${1:-}" ] || { echo "build.sh: install needs a PREFIX" >&2; exit 2; }
    [ -e build/libcuzk.so ] || { echo "build.sh: nothing is built; run ./build.sh lib first" >&2; exit 1; }
    # A relative PREFIX counts from where this was called: the cd above left it.
    case $1 in
    /*) capi/build.sh install "$1" ;;
    *) capi/build.sh install "$OLDPWD/$1" ;;
    esac
}

clean() {
    rm -rf build bindings/rust/target
}

CPU_ONLY=0
args=()
for arg in "$@"; do
    case $arg in
    --cpu-only) CPU_ONLY=1 ;;
    *) args+=("$arg") ;;
    esac
done
export CPU_ONLY
set -- "${args[@]:-lib}"

case $1 in
lib) lib ;;
static) static ;;
kernels) kernels ;;
demo) demo ;;
test) tests ;;
lint) lint ;;
install) install_to "${2:-}" ;;
clean) clean ;;
help | --help | -h) usage ;;
*)
    echo "build.sh: no command '$1'" >&2
    usage >&2
    exit 2
    ;;
esac
