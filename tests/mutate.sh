#!/usr/bin/env bash
# Changes the code in one place at a time and runs the tests of the changed package: a change that no test notices is a
# blind spot. The changes are those of gremlins (https://gremlins.dev), which runs none that no test executes.
#
#   tests/mutate.sh [PACKAGE...]
#
# Without a package: those whose tests take seconds. Prints the score of each package, killed of all that are not
# equivalent, and what survived; build/mutants/ has the whole account. tests/mutants/judged.tsv has survivors that no test
# can notice, or none should, each with the reason. Takes about a second for each change and each second of the tests.
set -euo pipefail
cd "$(dirname "$0")/.."
packages="internal/vram engine/groth16 engine/srs internal/sched"
[ $# -eq 0 ] || packages=$*

version=v0.6.0
tool=$PWD/.tools/gremlins-$version/gremlins
[ -x "$tool" ] || GOBIN=$(dirname "$tool") ./retry.sh go install "github.com/go-gremlins/gremlins/cmd/gremlins@$version"

mkdir -p build/mutants
failed=0
for package in $packages; do
    account=build/mutants/$(echo "$package" | tr / -).json
    echo "$package: tests of a changed package, one change at a time"
    # Few partitions in the random schedules: each change runs them anew.
    CUZK_SCHED_JOBS=${CUZK_SCHED_JOBS:-300} CUZK_REQUIRE_CUDASIM=1 "$tool" unleash "./$package" --silent --workers 2 \
        --timeout-coefficient 15 --exclude-files '.*/.*' --invert-logical --invert-loopctrl --remove-self-assignments \
        --output "$account" || true
    python3 tests/mutants/score.py "$package" "$account" tests/mutants/judged.tsv || failed=1
done
exit $failed
