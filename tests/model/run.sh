#!/bin/sh
# Checks the model of the two locks with SPIN, and that every mutant of it
# fails in its own way. Prints one line a run: states and seconds.
#
#   tests/model/run.sh            all of it
#   tests/model/run.sh models     the models only
#   tests/model/run.sh mutants    the mutants only
#
# spin is taken from PATH, or from Debian's package unpacked under .tools/.
# Needs a C compiler. About two minutes on two cores.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
work=$root/build/model
what=${1:-all}
mkdir -p "$work"

spin=$(command -v spin || true)
if [ -z "$spin" ]; then
	spin=$root/.tools/spin/usr/bin/spin
	[ -x "$spin" ] || "$root/tests/debian.sh" spin "$root/.tools/spin"
fi

# build NAME MODEL CFLAGS DEFINES...: makes $work/NAME/pan.
build() {
	dir=$work/$1
	model=$2
	cflags=$3
	shift 3
	mkdir -p "$dir"
	(cd "$dir" && "$spin" -a "$@" "$here/$model.pml" >spin.log 2>&1) ||
		{ cat "$dir/spin.log"; exit 1; }
	# shellcheck disable=SC2086 # flags are several words
	(cd "$dir" && cc -O1 -w -DCOLLAPSE -DVECTORSZ=1024 $cflags -o pan pan.c)
}

# check NAME OPTIONS: runs pan; its output is in $work/NAME/pan.log.
check() {
	dir=$work/$1
	name=$1
	shift
	(cd "$dir" && ./pan -m400000 -w22 "$@" >pan.log 2>&1) || bad "$name" "the search broke off"
	states=$(sed -n 's/ states, stored.*//p' "$dir/pan.log" | tr -d ' ')
	seconds=$(sed -n 's/^pan: elapsed time \(.*\) seconds/\1/p' "$dir/pan.log")
}

bad() {
	echo "$1: $2"
	tail -n 40 "$work/$1/pan.log"
	exit 1
}

# holds NAME DEFINES...: the model has no error, and all of it was searched.
holds() {
	name=$1
	shift
	build "$name" twolocks -DSAFETY "$@"
	check "$name"
	grep -q 'errors: 0' "$work/$name/pan.log" || bad "$name" "error found"
	! grep -q 'max search depth too small' "$work/$name/pan.log" || bad "$name" "not searched to the end"
	echo "$name: holds, $states states, $seconds s"
}

# ends NAME DEFINES...: the model has no infinite run (a cycle without
# progress, and no state is marked as progress), so every job ends.
ends() {
	name=$1
	shift
	build "$name" twolocks "-DNP -DNFAIR=3" "$@"
	check "$name" -l -f
	grep -q 'errors: 0' "$work/$name/pan.log" || bad "$name" "error found"
	echo "$name: no infinite run under weak fairness, $states states, $seconds s"
}

# fails NAME HOW DEFINES...: the mutant fails with the message HOW.
fails() {
	name=$1
	how=$2
	shift 2
	build "$name" twolocks -DSAFETY "$@"
	check "$name"
	grep -q "^pan:1: $how" "$work/$name/pan.log" || bad "$name" "expected: $how"
	echo "$name: fails as expected ($how), $states states"
}

# again NAME PROPERTY DEFINES...: a kind of partition claims again and again.
again() {
	name=$1
	property=$2
	shift 2
	build "$name" loads -DNFAIR=3 "$@"
	check "$name" -a -f -N "$property"
	grep -q 'errors: 0' "$work/$name/pan.log" || bad "$name" "error found"
	! grep -q 'max search depth too small' "$work/$name/pan.log" || bad "$name" "not searched to the end"
	echo "$name: nobody starves, $states states, $seconds s"
}

# starves NAME PROPERTY DEFINES...: with the mutant, the kind is kept out for ever.
starves() {
	name=$1
	property=$2
	shift 2
	build "$name" loads -DNFAIR=3 "$@"
	check "$name" -a -f -N "$property"
	grep -q '^pan:1: acceptance cycle' "$work/$name/pan.log" || bad "$name" "expected: an acceptance cycle"
	echo "$name: fails as expected ($property starves), $states states"
}

deadlock='invalid end state'
use='assertion violated (((recorded\[i\]'
unmapped='assertion violated (mapped'
early='assertion violated (lost||'
overwritten='assertion violated (((recorded\[i\]&(1<<(3-1)))'

models() {
	holds blocks3 -DBLOCKS=3 -DBIG=2 -DSMALL=0 -DSETJOBS=1 -DPIECES=2
	holds blocks4 -DBLOCKS=4 -DBIG=2 -DSMALL=0 -DSETJOBS=1 -DPIECES=2
	holds fourjobs -DBLOCKS=3 -DBIG=2 -DSMALL=1 -DSETJOBS=1 -DPIECES=1 -DCANCELS=0
	holds trim -DBLOCKS=3 -DBIG=1 -DSMALL=1 -DSETJOBS=1 -DPIECES=1 -DTRIM=1
	holds loss -DBLOCKS=3 -DBIG=1 -DSMALL=1 -DSETJOBS=1 -DPIECES=1 -DCANCELS=0 -DLOSS=1
	holds workers4 -DWORKERS=4 -DBLOCKS=3 -DBIG=1 -DSMALL=2 -DSETJOBS=1 -DPIECES=1 -DCANCELS=0
	holds workers4sets -DWORKERS=4 -DBLOCKS=4 -DBIG=2 -DSMALL=0 -DSETJOBS=2 -DPIECES=1 -DCANCELS=0
	ends ends -DBLOCKS=4 -DBIG=2 -DSMALL=0 -DSETJOBS=1 -DPIECES=1
	holds load -DBLOCKS=3 -DBIG=1 -DSMALL=0 -DSETJOBS=0 -DMUST=2 -DAWAY=1 -DPIECES=1
	holds loadtrim -DWORKERS=2 -DBLOCKS=3 -DBIG=1 -DSMALL=0 -DSETJOBS=1 -DMUST=1 -DAWAY=1 -DKEPT=1 -DPIECES=1 -DTRIM=1
	holds loadbeside -DWORKERS=2 -DBLOCKS=3 -DBIG=1 -DSMALL=1 -DSETJOBS=0 -DMUST=2 -DPIECES=1
	holds loadloss -DBLOCKS=3 -DBIG=1 -DSMALL=0 -DSETJOBS=0 -DMUST=2 -DPIECES=1 -DCANCELS=0 -DLOSS=1
	ends loadends -DWORKERS=2 -DBLOCKS=3 -DBIG=1 -DSMALL=0 -DSETJOBS=0 -DMUST=2 -DAWAY=1 -DPIECES=1
	for property in a b bigs smalls; do
		again "again-$property" "$property"
	done
}

mutants() {
	fails third-block-late "$deadlock" -DMUTANT=1 -DBLOCKS=4 -DBIG=2 -DSMALL=1 -DSETJOBS=0 -DPIECES=1
	fails fence-read-late "$deadlock" -DMUTANT=2 -DBLOCKS=3 -DSMALL=0 -DPIECES=1
	fails no-fence "$use" -DMUTANT=3 -DBLOCKS=3 -DSMALL=0 -DPIECES=1
	fails wait-under-lock "$deadlock" -DMUTANT=4 -DBLOCKS=3 -DSMALL=0 -DPIECES=1
	fails tiles-on-upload "$deadlock" -DMUTANT=5 -DBLOCKS=3 -DSMALL=0 -DPIECES=1
	fails turn-not-advanced "$deadlock" -DMUTANT=6 -DBLOCKS=3 -DSMALL=0 -DPIECES=1
	fails frees-predecessor "$use" -DMUTANT=7 -DBLOCKS=3 -DSMALL=0 -DPIECES=1
	fails skips-predecessor "$use" -DMUTANT=8 -DBLOCKS=3 -DSMALL=0 -DPIECES=1
	fails one-stream-fence "$unmapped" -DMUTANT=9 -DBLOCKS=3 -DSMALL=0 -DPIECES=1 -DTRIM=1
	fails evicts-unfenced "$use" -DMUTANT=10 -DBLOCKS=3 -DBIG=1 -DSMALL=1 -DPIECES=1 -DCANCELS=0
	fails evicts-pinned "$use" -DMUTANT=11 -DBLOCKS=3 -DBIG=1 -DSMALL=1 -DPIECES=1 -DCANCELS=0
	fails trims-unfenced "$unmapped" -DMUTANT=12 -DBLOCKS=3 -DSMALL=0 -DPIECES=1 -DTRIM=1
	few="-DWORKERS=2 -DBLOCKS=3 -DBIG=1 -DSMALL=0 -DPIECES=1 -DAWAY=1"
	# shellcheck disable=SC2086 # several words
	{
		fails load-in-upload-turn "$deadlock" -DMUTANT=14 $few -DSETJOBS=0 -DMUST=2 -DCANCELS=0
		fails load-frees-unfenced "$use" -DMUTANT=15 $few -DSETJOBS=0 -DMUST=2
		fails claims-half-loaded "$use" -DMUTANT=16 $few -DSETJOBS=1 -DMUST=1 -DCANCELS=0
		fails load-on-upload-ring "$deadlock" -DMUTANT=17 $few -DSETJOBS=0 -DMUST=2 -DCANCELS=0
		fails reset-ignores-load "$unmapped" -DMUTANT=18 $few -DSETJOBS=0 -DMUST=2 -DCANCELS=0 -DLOSS=1
		fails load-unfenced "$overwritten" -DMUTANT=19 $few -DSETJOBS=0 -DMUST=2 -DCANCELS=0
	}
	starves endless-patience a -DMUTANT=1
	starves not-protected a -DMUTANT=2
	starves not-owed a -DMUTANT=3
	starves next-at-once bigs -DMUTANT=4
	starves placed-again a -DMUTANT=5
	starves stays-held a -DMUTANT=6
	fails turns-out-of-order "$early" -DMUTANT=13 -DBLOCKS=3 -DSMALL=0 -DPIECES=1
}

case $what in
all) models && mutants ;;
models) models ;;
mutants) mutants ;;
*)
	echo "usage: tests/model/run.sh [models|mutants]"
	exit 2
	;;
esac
