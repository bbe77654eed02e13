package srs

import (
	"fmt"

	"github.com/libcuzk/libcuzk/internal/hostmem"
)

// Retain adds a reference. Fails with ErrReleased if there is none left.
func (p *Params) Retain() error {
	p.refsMu.Lock()
	defer p.refsMu.Unlock()
	if p.refs == 0 {
		return fmt.Errorf("srs: %s: retain: %w", p.name, ErrReleased)
	}
	p.refs++
	return nil
}

// Release gives a reference back. The last one closes the file and frees the
// points. Fails with ErrReleased if there is none left, or with the system's
// error if closing failed; the reference is gone in any case.
func (p *Params) Release() error {
	p.refsMu.Lock()
	if p.refs == 0 {
		p.refsMu.Unlock()
		return fmt.Errorf("srs: %s: release: %w", p.name, ErrReleased)
	}
	p.refs--
	last := p.refs == 0
	p.refsMu.Unlock()
	if !last {
		return nil
	}

	// No method gets past Retain any more, so nothing else touches the fields.
	if p.onFree != nil {
		p.onFree()
	}
	var failed error
	if p.source != nil {
		if err := p.source.Close(); err != nil {
			failed = fmt.Errorf("srs: %s: close: %w", p.name, err)
		}
	}
	memory := p.memory
	p.memory, p.points, p.paged = nil, nil, nil
	hostmem.Free(memory)
	return failed
}
