#!/bin/bash
# Runs the acceptance of the CUDA back end with what build.sh collected, and sums up.
#
#   tests/gpu/run.sh [--simulated] [--from LOG] [--to LOG] [SECTION...]
#
# Without a section, those of `standard` run. Each has a time limit of its own, and all together take at most
# CUZK_GPU_SECONDS (default 570): what no time is left for is reported as not run. Full logs go to $OUT (default
# build/gpu-run/out), a short account to standard output, the summary last. Fails if any section failed or was not run.
#
# --simulated tries the script without a card: the tests take the simulator (tests/cudasim) and small sizes.
# --from and --to are the logarithms of the smallest and largest domain of `circuits`.
set -u

standard="info golden messages small kernels operations ondevice jobs circuits budget leaks lost neighbours hostmemory memcheck racecheck times"
# Also: cards (two cards: one that breaks, and how much faster both are), staging (locks beside 16 copying goroutines and the default), device (tests of package cuda), kerneltimes (time of each kernel), large (2^26 and 2^27), capped (2^27 within 16 GiB), initcheck, synccheck

root=$(cd "$(dirname "$0")/../.." && pwd)
carried=$root/build/gpu
kit=$root/build/gpu-run # unpacked: not to be carried
OUT=${OUT:-$kit/out}
simulated=0
from=0
to=-1
sections=
while [ $# -gt 0 ]; do
    case $1 in
    --simulated) simulated=1 ;;
    --from) from=$2 && shift ;;
    --to) to=$2 && shift ;;
    -*) echo "run.sh: no option $1" >&2 && exit 2 ;;
    *) sections="$sections $1" ;;
    esac
    shift
done
sections=${sections:-$standard}
end=$((SECONDS + ${CUZK_GPU_SECONDS:-570}))

mkdir -p "$OUT"
log=$OUT/log.txt
: >"$log"
mkdir -p "$kit/bin" "$kit/golden"
for packed in "$carried"/bin/*.gz "$carried"/golden/*.gz; do
    [ -e "$packed" ] || continue
    plain=$kit/${packed#"$carried"/}
    plain=${plain%.gz}
    [ "$plain" -nt "$packed" ] || gunzip -c "$packed" >"$plain" || exit 1
done
chmod +x "$kit"/bin/* || exit 1
[ -e "$kit/golden/sha512.params" ] && export CUZK_GOLDEN_DIR=$kit/golden
if [ $simulated = 1 ]; then
    # cuzk-bench loads the simulator by name; tests set it up themselves.
    "$root/tests/cudasim/build.sh" >>"$log" 2>&1 || exit 1
    simulator=(env "CUZK_CUDA_LIB=$root/build/cudasim/libcuda.so.1" "CUZK_KERNELS=$root/build/cudasim/images")
    sizes=4,6 large_sizes=7 few=2 many=3 lock_sizes=6 budget_timelines="budget/7 budget/9" capped_size=7
else
    export CUZK_REQUIRE_GPU=1
    # What is said of one card is measured and tested with one.
    export CUDA_VISIBLE_DEVICES=${CUDA_VISIBLE_DEVICES:-0}
    simulator=()
    sizes=14,16,18,20,22,24 large_sizes=26,27 few=20 many=30 lock_sizes=22,24 budget_timelines="budget/22 budget/24" capped_size=27
fi

skipped=77 # exit code of a section that is for a card only

# limited SECONDS COMMAND...: runs it in a test's folder, output to the log.
limited() {
    local seconds=$1 left=$((end - SECONDS))
    shift
    [ "$seconds" -le "$left" ] || seconds=$left
    echo "--- at most $seconds s: $*" >>"$log"
    (cd "$root/tests/gpu" && timeout -k 10 "$seconds" "$@") >>"$log" 2>&1
}

tests() { # SECONDS PROGRAM ARGUMENTS...
    local seconds=$1 program=$2
    shift 2
    limited "$seconds" "$kit/bin/$program" -test.v -test.timeout 0 "$@"
}

# sanitizer TOOL: small proofs, the kernels that they are too small for, and those that make parameters.
sanitizer() {
    if [ $simulated = 1 ]; then
        echo "there is no card for compute-sanitizer" >>"$log"
        return $skipped
    fi
    local check=(compute-sanitizer --tool "$1" --error-exitcode 99)
    # Tests ask each image for a kernel until one has it; the answers of the others are no errors.
    [ "$1" != memcheck ] || check+=(--report-api-errors no)
    limited 200 "${check[@]}" "$kit/bin/gpu.test" -test.v -test.run '^TestSmallProofs$' &&
        limited 200 "${check[@]}" "$kit/bin/launch.test" -test.v -test.short -test.run '^(TestSortOf|TestMSMOfGathered|TestMSMPlans|TestNTT|TestTiledMSMInUnequal)' &&
        limited 60 "${check[@]}" "$kit/bin/ondevice.test" -test.v -test.run '^TestPointsAreThoseOfTheCPU$/as_in_a_PoRep'
}

bench() { # SECONDS ARGUMENTS...
    local seconds=$1
    shift
    limited "$seconds" "${simulator[@]}" "$kit/bin/cuzk-bench" -device gpu "$@"
}

# figures NAME...: what cuzk-timeline makes of timelines in $OUT/timelines, which are then compressed.
figures() {
    local name
    for name in "$@"; do
        { echo "timeline $name" && "$kit/bin/cuzk-timeline" "$OUT/timelines/$name.json" && gzip -f "$OUT/timelines/$name.json"; } >>"$log" 2>&1 || return 1
    done
}

# timed SECONDS NAME ARGUMENTS...: bench with a timeline of each measurement, and the figures of those with three workers.
timed() {
    local seconds=$1 name=$2 file
    shift 2
    rm -rf "$OUT/timelines/$name" && mkdir -p "$OUT/timelines/$name" || return 1
    bench "$seconds" -timelines "$OUT/timelines/$name" "$@" || return 1
    for file in "$OUT/timelines/$name"/*-3.json; do
        file=${file#"$OUT/timelines/"}
        figures "${file%.json}" || return 1
    done
}

run_section() {
    case $1 in
    info)
        {
            nproc && grep -E 'MemTotal|MemAvailable' /proc/meminfo && grep -m1 'model name' /proc/cpuinfo
            [ $simulated = 1 ] ||
                nvidia-smi --query-gpu=name,driver_version,memory.total,memory.used,pcie.link.gen.current,pcie.link.width.current --format=csv
        } >>"$log" 2>&1
        ;;
    golden) tests 90 gpu.test -test.run '^TestGoldenCases$' ;;
    messages) tests 60 gpu.test -test.run '^(TestWithoutAGPU|TestTooSmall)' ;;
    small) tests 30 gpu.test -test.run '^TestSmallProofs$' ;;
    kernels) CUZK_PROBE_IMAGE=$carried/probe.fatbin tests 300 launch.test ;;
    operations) tests 200 launch.test -test.run '^$' -test.bench . -test.benchtime 2x ;;
    ondevice) tests 90 ondevice.test -test.bench . -test.benchtime 1x ;;
    device) tests 300 cuda.test ;;
    jobs) tests 120 gpu.test -test.run '^(TestWitnesses|TestDifferent)' ;;
    circuits) tests 300 gpu.test -test.run '^TestCircuits$' -smallest "$from" -largest "$to" ;;
    budget)
        rm -rf "$OUT/timelines/budget" && mkdir -p "$OUT/timelines/budget" || return 1
        # shellcheck disable=SC2086 # words
        tests 110 gpu.test -test.run '^TestBudgets$' -timelines "$OUT/timelines/budget" && figures $budget_timelines
        ;;
    capped) GOMEMLIMIT=60GiB timed 240 capped -budget 16384 -sizes "$capped_size" -workers 3 -n 9 ;;
    # The image breaks contexts; it is read by these two alone, each fault in a process of its own.
    lost) CUZK_FAULT_IMAGE=$carried/fault.fatbin tests 120 gpu.test -test.run '^(TestLostCard|TestCardLost|TestCardGone|TestOneOfTwo|TestTheFaultKernel)' ;;
    neighbours) tests 60 gpu.test -test.run '^(TestNeighbour|TestTwoProcesses)' ;;
    hostmemory) CUZK_FAULT_IMAGE=$carried/fault.fatbin tests 40 gpu.test -test.run '^TestPinnedHostMemory' ;;
    leaks) tests 120 gpu.test -test.run '^(TestAThousand|TestEngines)' ;;
    memcheck | racecheck | initcheck | synccheck) sanitizer "$1" ;;
    times) timed 200 times -sizes $sizes -workers 1,3 -n $few ;;
    # 16 goroutines, one a core of the machine that was measured, were the default once.
    staging) timed 60 staging-16 -staging 16 -sizes $lock_sizes -workers 3 -n $many && timed 60 staging-default -sizes $lock_sizes -workers 3 -n $many ;;
    cards)
        # Beside six calls on both cards, three on one.
        [ $simulated = 1 ] || [ "$(nvidia-smi -L | wc -l)" -ge 2 ] || return $skipped
        export CUDA_VISIBLE_DEVICES=0,1
        CUZK_FAULT_IMAGE=$carried/fault.fatbin tests 60 gpu.test -test.run '^TestOneOfTwo' &&
            CUDA_VISIBLE_DEVICES=0 bench 60 -sizes $lock_sizes -workers 3 -n $many &&
            bench 60 -sizes $lock_sizes -workers 6 -n $((2 * many))
        local code=$?
        export CUDA_VISIBLE_DEVICES=0
        return $code
        ;;
    large) GOMEMLIMIT=60GiB bench 400 -sizes $large_sizes -workers 1,2,3 -n $((few / 2)) ;;
    kerneltimes) tests 150 cuda.test -test.run '^$' -test.bench BenchmarkProve -test.benchtime 3x ;;
    *)
        echo "no section $1" >>"$log"
        return 2
        ;;
    esac
}

least=5    # seconds for a section to be begun
summary=
failed=0
for section in $sections; do
    if [ $((end - SECONDS)) -lt $least ]; then
        summary="$summary| $section | NOT RUN: no time left | |"$'\n'
        failed=1
        continue
    fi
    begin=$SECONDS
    echo "=== section $section" >>"$log"
    first=$(wc -l <"$log")
    run_section "$section"
    code=$?
    case $code in
    0) result=ok ;;
    "$skipped") result="skipped, for a card only" code=0 ;;
    124 | 137) result="FAILED: time limit" ;;
    *) result="FAILED: exit $code" ;;
    esac
    summary="$summary| $section | $result | $((SECONDS - begin)) |"$'\n'
    echo "=== $section: $result, $((SECONDS - begin)) s"
    part=$(tail -n "+$first" "$log")
    if [ $code != 0 ]; then
        failed=1
        # What failed, and how the log ends; a panic of Go is long.
        { echo "$part" | grep -E -A 12 -- '^ *--- FAIL|Error Trace|^panic|SIG|ERROR SUMMARY|Invalid|hazard' | head -n 40; echo ...; echo "$part" | tail -n 12; } | cut -c1-300 | head -c 3000
        echo
    fi
    # What each says in short, whatever the result.
    case $section in
    info) echo "$part" | tail -n +2 ;;
    times | staging | capped) echo "$part" | grep -E '^\| |^timeline |^  (GPU idle|uploads)|^ +(memory|compute) lock ' | cut -d'|' -f1-12 ;;
    cards) echo "$part" | grep -oE '(illegal|misaligned|assertion|trap)[a-z ]*: the (outcome is|other card): .{0,300}|^\| .*' | cut -d'|' -f1-12 ;;
    large) echo "$part" | grep '^| ' | cut -d'|' -f1-12 ;;
    lost) echo "$part" | grep -oE '(illegal|misaligned|assertion|trap)[a-z ]*: the (driver says|job says|outcome is): .{0,300}|before \{.*' ;;
    neighbours) echo "$part" | grep -oE 'neighbours_test.go:[0-9]+: .{0,300}' ;;
    hostmemory) echo "$part" | grep -oE 'the outcome is: .{0,300}' ;;
    operations) echo "$part" | grep '^Benchmark.*ms' | sed -E 's/[0-9.e+-]+ cuzk_[a-z0-9_]+-ms//g' | tr -s ' \t' ' ' ;; # each kernel's time is in the log
    ondevice) echo "$part" | grep '^Benchmark.*s/op' | tr -s ' \t' ' ' ;;
    circuits) echo "$part" | grep -oE '2\^[0-9]+: [0-9]+ kinds.*' | tail -n 5 ;;
    budget) echo "$part" | grep -oE '^timeline .*|2\^[0-9]+: [0-9]+ partitions.*|one job needs.*|vram: job needs.*|^  (window|GPU idle|uploads).*|^ +(memory|compute) lock .*' ;;
    leaks) echo "$part" | grep -oE 'before \{.*' ;;
    memcheck | racecheck | initcheck | synccheck) echo "$part" | grep -oE 'ERROR SUMMARY.*|RACECHECK SUMMARY.*' ;;
    messages) echo "$part" | grep -oE '^ *(no GPU: |messages_test.go:[0-9]+: engine: ).{0,220}' ;;
    kerneltimes) echo "$part" | grep -E '^Benchmark|launches|kernels of one' | head -n 60 ;;
    esac | head -c 3500
done

{
    echo "| section | result | seconds |"
    echo "|---|---|---|"
    printf '%s' "$summary"
} | tee "$OUT/summary.md"
exit $failed
