package engine

import (
	"time"

	"github.com/libcuzk/libcuzk/engine/backend"
)

// restartIdle begins the time anew after which an idle device is closed.
func (d *device) restartIdle() {
	after := d.engine.closeIdle
	if after == 0 || d.info.Backend == backend.CPU {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.closed:
	case d.idle == nil:
		d.idle = time.AfterFunc(after, d.closeIdle)
	default:
		d.idle.Reset(after)
	}
}

// closeIdle closes the device, with all that it holds, unless somebody uses
// it, who then begins the time anew. The next use opens it again.
func (d *device) closeIdle() {
	if !d.inUse.TryLock() {
		return
	}
	defer d.inUse.Unlock()
	d.opening.Lock()
	defer d.opening.Unlock()
	opened := d.opened.Load()
	if opened == nil || d.isClosed() {
		return
	}
	d.opened.Store(nil)
	if err := (*opened).Close(); err != nil {
		d.engine.log.Error("closing an idle device", "device", d.info.Name, "error", err)
		return
	}
	d.engine.log.Info("closed an idle device", "device", d.info.Name, "after", d.engine.closeIdle)
}
