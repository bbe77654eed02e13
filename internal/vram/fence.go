package vram

import "slices"

// Event is a device's handle of a point in a stream.
type Event uint64

// Mark is one recorded event. It is recorded once and completes once; Done
// stays true, so the event itself can be given back as soon as it is seen.
type Mark struct {
	Event  Event
	Seq    uint64 // counts what is recorded on the device, from 1
	Stream uint8
	Done   bool
}

// Fence stands for the last use of a block by one holder: one mark for each
// stream that touched it. It is made, open, when the block is claimed, and
// recorded when the holder hands the block on. Whoever claims the block next
// takes the fence along at that moment; it never becomes another fence, and
// so can never be the claimant's own.
type Fence struct {
	recorded bool
	poisoned bool
	marks    []*Mark
	late     uint8 // Request.Late of the block
}

// Record closes f with the marks after its holder's last use; none if the
// block was never touched. A fence is recorded once.
func (f *Fence) Record(marks []*Mark) {
	if f.recorded {
		panic("BUG: vram: fence recorded twice")
	}
	f.recorded = true
	f.marks = marks
}

// Poison closes f for good: its last use is unknown because the device did
// not record it. A poisoned fence never passes.
func (f *Fence) Poison() {
	f.recorded = true
	f.poisoned = true
	f.marks = nil
}

// Recorded reports whether the holder has handed the block on.
func (f *Fence) Recorded() bool { return f.recorded }

// Poisoned reports whether f can never pass.
func (f *Fence) Poisoned() bool { return f.poisoned }

// Passed reports whether the holder's last use has completed.
func (f *Fence) Passed() bool {
	return f.recorded && !f.poisoned && !slices.ContainsFunc(f.marks, func(m *Mark) bool { return !m.Done })
}

// Pending are the marks of a recorded fence that have not been seen done.
func (f *Fence) Pending() []*Mark {
	var p []*Mark
	for _, m := range f.marks {
		if !m.Done {
			p = append(p, m)
		}
	}
	return p
}

// unpassed returns the fences that have not passed, each once.
func unpassed(fences []*Fence) []*Fence {
	var left []*Fence
	for _, f := range fences {
		if !f.Passed() && !slices.Contains(left, f) {
			left = append(left, f)
		}
	}
	return left
}
