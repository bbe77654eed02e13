package plan

import "github.com/libcuzk/libcuzk/internal/launch"

// maxHold is how many launches are enqueued in one hold of the compute lock. With
// the two stamps of a timeline that is fewer than 150 driver calls, 0.75 ms at 5 us
// a launch (measured on an H200), for which a background load may have to wait.
// The compute turn keeps the job's launches in order between two holds.
const maxHold = 140

// InHolds gives calls to enqueue, maxHold at a time; none are one hold too.
func InHolds(calls []launch.Call, enqueue func([]launch.Call) error) error {
	for len(calls) > maxHold {
		if err := enqueue(calls[:maxHold]); err != nil {
			return err
		}
		calls = calls[maxHold:]
	}
	return enqueue(calls)
}
