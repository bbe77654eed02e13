package cuda

import (
	"github.com/libcuzk/libcuzk/cuda/internal/registered"
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
	counts.BudgetBytes = u.Budget + d.current.Load().FixedBytes()
	counts.FixedBytes = d.current.Load().FixedBytes() + d.lost.bytes()
	counts.MappedBytes = u.Mapped
	counts.JobBytes = u.Held
	counts.FencedBytes = u.Fenced
	counts.SetBytes = u.Sets
	counts.PinnedBytes = d.current.Load().RegisteredBytes()
	counts.HostSetBytes = registered.PointBytes(d.current.Load().Registrar)
	return counts
}
