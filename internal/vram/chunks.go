package vram

// chunks says which parts of the address range have physical memory.
type chunks struct {
	size   uint64 // bytes of one chunk; the last may be shorter
	total  uint64
	mapped []bool
	claims []uint64 // how often each has been claimed, to tell idle from busy
}

func newChunks(total, size uint64) chunks {
	n := (total + size - 1) / size
	return chunks{size: size, total: total, mapped: make([]bool, n), claims: make([]uint64, n)}
}

func (c *chunks) block(i int) Block {
	off := uint64(i) * c.size
	return Block{off, min(c.size, c.total-off)}
}

func (c *chunks) bytes() uint64 {
	var n uint64
	for i, m := range c.mapped {
		if m {
			n += c.block(i).Bytes
		}
	}
	return n
}

// use counts a claim of b.
func (c *chunks) use(b Block) {
	for i := b.Offset / c.size; i*c.size < b.End(); i++ {
		c.claims[i]++
	}
}

// Claims counts how often a part of the chunk c has been claimed.
func (l *Ledger) Claims(c Block) uint64 { return l.chunks.claims[c.Offset/l.chunks.size] }

// Unmapped are the chunks under b that have no physical memory yet.
func (l *Ledger) Unmapped(b Block) []Block {
	var need []Block
	for i := int(b.Offset / l.chunks.size); i < len(l.chunks.mapped) && l.chunks.block(i).Offset < b.End(); i++ {
		if !l.chunks.mapped[i] {
			need = append(need, l.chunks.block(i))
		}
	}
	return need
}

// SetMapped notes that the chunk c has got or lost its physical memory.
func (l *Ledger) SetMapped(c Block, mapped bool) {
	i := c.Offset / l.chunks.size
	if l.chunks.mapped[i] == mapped {
		panic("BUG: vram: chunk mapped or unmapped twice")
	}
	l.chunks.mapped[i] = mapped
}

// IdleChunks are the mapped chunks that nobody holds and whose fences have all
// passed, in order.
func (l *Ledger) IdleChunks() []Block {
	l.spans.tidy()
	used := make([]bool, len(l.chunks.mapped))
	for i := range l.spans {
		s := &l.spans[i]
		if s.free() && len(s.fences) == 0 {
			continue
		}
		for c := s.off / l.chunks.size; c*l.chunks.size < s.end; c++ {
			used[c] = true
		}
	}
	var out []Block
	for i, m := range l.chunks.mapped {
		if m && !used[i] {
			out = append(out, l.chunks.block(i))
		}
	}
	return out
}
