package backend

// The stages whose times are reported, by the names that Partition.Stage gets
// and that metrics and timelines show. A stage that a back end does not have is
// not reported.
const (
	StageQueue      = "queue"      // waits for a worker of the device; reported by the engine
	StageParameters = "parameters" // waits for its set, without a worker; reported by the engine
	StageClaim      = "claim"      // waits for its turn and for device memory
	StageUpload     = "upload"     // copies to the device
	StageCompute    = "compute"    // kernels are enqueued
	StageFinish     = "finish"     // results are awaited and joined
	StageQuotient   = "quotient"   // the coefficients of h
	StageClassify   = "classify"   // which scalars of the witness are 0, 1 and dense
	StageSums       = "sums"       // all five sums
	StageSelfCheck  = "self-check" // of the proof; reported by the engine
)

// Stages lists the names of all stages, in the order in which a partition goes
// through those that its back end has.
func Stages() []string {
	return []string{
		StageQueue, StageParameters, StageClaim, StageUpload, StageCompute, StageFinish,
		StageQuotient, StageClassify, StageSums, StageSelfCheck,
	}
}
