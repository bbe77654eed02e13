package cuda

import "github.com/libcuzk/libcuzk/engine/backend"

var _ backend.Reporter = (*device)(nil)

// Stats implements backend.Reporter.
func (d *device) Stats() backend.Stats {
	u := d.jobs.Stats()
	return backend.Stats{
		BudgetBytes:   u.Budget + d.current.Load().fixed(),
		FixedBytes:    d.current.Load().fixed() + d.lost.bytes(),
		MappedBytes:   u.Mapped,
		JobBytes:      u.Held,
		FencedBytes:   u.Fenced,
		SetBytes:      u.Sets,
		PinnedBytes:   d.current.Load().pinned(),
		HostSetBytes:  bytesPinnedBy(d.current.Load()),
		UploadedBytes: d.card.Uploaded(),
		Streamed:      d.streamed.Load(),
		Retries:       d.retries.Load(),
		Resets:        u.Losses,
	}
}

// pinned is the host memory of all rings and results, and what AllocHost gave.
func (s *session) pinned() uint64 {
	slots := len(s.uploads.slots) + len(s.loads.slots) + len(s.tiles.slots)
	s.results.mu.Lock()
	defer s.results.mu.Unlock()
	return uint64(slots)*slotBytes + uint64(len(s.results.all))*maxResultBytes + s.pinning.pinned()
}
