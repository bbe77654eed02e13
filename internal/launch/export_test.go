package launch

// PlanSort is a plan for sorting alone, in two steps if so wanted: `batch`
// windows of the given size at a time.
func PlanSort(n, window, batch uint32, inTwo bool) MSM {
	p := MSM{N: n}.shape(window, (256+window-1)/window, batch)
	p.partitionLog = 0
	if inTwo {
		p.partitionLog = p.bestPartition()
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
