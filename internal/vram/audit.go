package vram

import "fmt"

// Audit checks everything that must hold of a ledger at any time. It is for
// tests: it looks at every span.
func (l *Ledger) Audit() error {
	if err := l.auditSpans(); err != nil {
		return err
	}
	u := l.Usage()
	if sum := u.Held + u.Fenced + u.Sets; sum > u.Budget {
		return fmt.Errorf("vram: %d bytes accounted for, budget %d", sum, u.Budget)
	}
	if u.Mapped > u.Budget {
		return fmt.Errorf("vram: %d bytes mapped, budget %d", u.Mapped, u.Budget)
	}
	return l.auditSets()
}

// auditSpans checks that the spans cover the budget and agree with the holds.
func (l *Ledger) auditSpans() error {
	var at uint64
	holds := map[*Hold]uint64{}
	for _, s := range l.spans {
		if s.off != at || s.end <= s.off {
			return fmt.Errorf("vram: span [%d, %d), expected one that begins at %d", s.off, s.end, at)
		}
		at = s.end
		if s.hold != nil && s.set != nil {
			return fmt.Errorf("vram: span at %d belongs to a job and to a set", s.off)
		}
		if s.hold != nil {
			if s.hold.done {
				return fmt.Errorf("vram: span at %d is held by a job that handed it on", s.off)
			}
			holds[s.hold] += s.end - s.off
		}
	}
	if at != l.bytes {
		return fmt.Errorf("vram: spans end at %d, expected %d", at, l.bytes)
	}
	for h, n := range holds {
		// Less than its block: the next holder has claimed the rest behind it.
		if n > h.block.Bytes || n < h.block.Bytes && !h.yielding {
			return fmt.Errorf("vram: spans of a block sum to %d bytes, expected %d", n, h.block.Bytes)
		}
	}
	if len(holds) > l.holds {
		return fmt.Errorf("vram: %d blocks on the spans, %d claimed and not handed on", len(holds), l.holds)
	}
	return nil
}

// auditSets checks that each resident set has exactly its place.
func (l *Ledger) auditSets() error {
	place := map[*Set]Block{}
	for _, s := range l.spans {
		if s.set != nil {
			if _, twice := place[s.set]; twice {
				return fmt.Errorf("vram: set %s has two places", s.set.name)
			}
			place[s.set] = Block{s.off, s.end - s.off}
		}
	}
	for _, s := range l.sets {
		if place[s] != s.block {
			return fmt.Errorf("vram: set %s lies at %v, expected %v", s.name, place[s], s.block)
		}
		if !s.loaded && s.pins != 1 {
			return fmt.Errorf("vram: set %s has a place and is not loaded, with %d pins, expected its load's", s.name, s.pins)
		}
		if s.pins < 0 {
			return fmt.Errorf("vram: set %s has %d pins", s.name, s.pins)
		}
	}
	if len(place) != len(l.sets) {
		return fmt.Errorf("vram: %d sets on the spans, %d in the list", len(place), len(l.sets))
	}
	return nil
}
