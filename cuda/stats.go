package cuda

import (
	"github.com/libcuzk/libcuzk/cuda/internal/plan"
	"github.com/libcuzk/libcuzk/cuda/internal/registered"
	"github.com/libcuzk/libcuzk/cuda/internal/staging"
	"github.com/libcuzk/libcuzk/engine/backend"
)

var _ backend.Reporter = (*device)(nil)

// Stats implements backend.Reporter. Of a card that is gone nothing is in use
// but what the driver has not taken back; the ledger tells of memory that went
// with the context.
func (d *device) Stats() backend.Stats {
	u := d.jobs.Stats()
	counts := backend.Stats{
		UploadedBytes: d.card.Uploaded(),
		Streamed:      d.streamed.Load(),
		Retries:       d.retries.Load(),
		Resets:        u.Losses,
	}
	if d.gone.Load() != nil {
		counts.FixedBytes = d.lost.bytes()
		return counts
	}
	counts.BudgetBytes = u.Budget + d.current.Load().fixed()
	counts.FixedBytes = d.current.Load().fixed() + d.lost.bytes()
	counts.MappedBytes = u.Mapped
	counts.JobBytes = u.Held
	counts.FencedBytes = u.Fenced
	counts.SetBytes = u.Sets
	counts.PinnedBytes = d.current.Load().pinned()
	counts.HostSetBytes = registered.PointBytes(d.current.Load().pins)
	return counts
}

// pinned is the host memory of all rings and results, and what AllocHost gave.
func (s *session) pinned() uint64 {
	slots := len(s.uploads.Slots) + len(s.loads.Slots) + len(s.tiles.Slots)
	s.results.mu.Lock()
	defer s.results.mu.Unlock()
	return uint64(slots)*staging.SlotBytes + uint64(len(s.results.all))*plan.MaxResultBytes + s.pins.MemoryBytes()
}
