package launch

import (
	"fmt"
	"math"
	"reflect"
)

// Arguments is the type of the kernel's argument struct.
func (k *Kernel) Arguments() reflect.Type { return k.args }

// Constants are the twins of constants in the kernels' sources, by their name
// there.
var Constants = map[string]int64{
	"NONE":        int64(None),
	"LOG_STAGES":  logStages,
	"LOG_LOCAL":   logLocal,
	"LOG_HIGH":    logHigh,
	"LOG_BATCH":   logBatch,
	"POWERS_EACH": powersEach,
	"MAX_SIDE":    1 << maxSideLog,

	"SCAN_BATCH":       scanBatch,
	"DIGIT_LIMBS":      digitLimbs,
	"MAX_BANDS":        maxBands,
	"MAX_WINDOW_BANDS": 1 << maxBandLog,
	"MAX_LOW":          maxLow,
	"COUNT_THREADS":    countThreads,
	"COUNT_BATCH":      countBatch,
	"SORT_THREADS":     sortThreads,

	"RANK_RUN":       rankRun,
	"ONES_BATCH":     onesBatch,
	"INPUTS_NONE":    int64(InputsNone),
	"INPUTS_ALL":     int64(InputsAll),
	"INPUTS_DENSITY": int64(InputsDensity),

	"COORDINATE_WORDS":   FpBytes / WordBytes,
	"FIXED_ENTRIES":      fixedEntries,
	"POINT_NOT_ON_CURVE": pointFaults,

	"FIELD_RESULTS": ProbeFieldResults,
	"POINT_RESULTS": ProbePointResults,
}

// PlanSort is a plan for sorting alone, in two steps if so wanted: `batch`
// windows of the given size at a time.
func PlanSort(n, window, batch uint32, inTwo bool) MSM {
	p := MSM{N: n}.shape(window, windowsOf(window), batch)
	p.bandLog = 0
	if inTwo {
		p.bandLog = p.bestBands()
	}
	return p
}

// SortCalls sort the pairs of the windows first, first + 1, ... by bucket.
func (p MSM) SortCalls(in MSMInput, first uint32) []Call {
	return p.sort(in, p.scratch(in.Scratch), first)
}

// Sorted is where SortCalls leave the values, and the offset of each bucket in
// them.
func (p MSM) Sorted(in MSMInput) (values, offsets Range) {
	s := p.scratch(in.Scratch)
	return s.sorted, s.offsets
}

// PlanTiledMSM is the cheapest of TiledMSMs whose scratch fits the limit. If
// none does, the error says how much the smallest takes.
func PlanTiledMSM(n, tile uint32, scratchLimit uint64, g Group) (TiledMSM, error) {
	all, err := TiledMSMs(n, tile, g)
	if err != nil {
		return TiledMSM{}, err
	}
	smallest := uint64(math.MaxUint64)
	for _, p := range all {
		scratch := p.ScratchBytes()
		if scratch <= scratchLimit {
			return p, nil
		}
		smallest = min(smallest, scratch)
	}
	return TiledMSM{}, fmt.Errorf("launch: an MSM in tiles of %d points needs %d bytes of scratch, %d are allowed",
		min(tile, n), smallest, scratchLimit)
}
