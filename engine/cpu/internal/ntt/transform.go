package ntt

import (
	"context"

	"github.com/libcuzk/libcuzk/internal/par"
)

// transform does transforms one after another until one fails.
type transform[V any] struct {
	ctx     context.Context
	workers int
	plan    *plan[V]
	err     error
}

// blockElems is the size of a block that one goroutine transforms on its own:
// it stays in the second-level cache.
const blockElems = 1 << 13

// each calls do for ranges of n elements of V, unless something failed.
func (t *transform[V]) each(n int, do func(lo, hi int)) {
	if t.err != nil {
		return
	}
	t.err = par.Ranges(t.ctx, t.workers, n, max(1, pieceElems/t.plan.elems()), func(lo, hi int) error {
		do(lo, hi)
		return nil
	})
}

// forward turns coefficients of a polynomial modulo that of node j into
// values at its roots, in bit-reversed order: passes over the whole vector
// until blocks are small, then block after block.
func (t *transform[V]) forward(x []V, j int) {
	blocks, size := 1, len(x)
	for ; t.tooLarge(size); blocks, size = blocks*4, size/4 {
		for b := range blocks {
			block, q := x[b*size:(b+1)*size], size/4
			t.each(q, func(lo, hi int) {
				t.plan.forward4(block[lo:hi], block[q+lo:q+hi], block[2*q+lo:2*q+hi], block[3*q+lo:3*q+hi], j*blocks+b)
			})
		}
	}
	t.blocks(blocks, func(b int) { t.plan.forwardBlock(x[b*size:(b+1)*size], j*blocks+b) })
}

// inverse undoes forward, but for a factor of m.
func (t *transform[V]) inverse(x []V, j int) {
	blocks, size := 1, len(x)
	for t.tooLarge(size) {
		blocks, size = blocks*4, size/4
	}
	t.blocks(blocks, func(b int) { t.plan.inverseBlock(x[b*size:(b+1)*size], j*blocks+b) })
	for blocks > 1 {
		blocks, size = blocks/4, size*4
		for b := range blocks {
			block, q := x[b*size:(b+1)*size], size/4
			t.each(q, func(lo, hi int) {
				t.plan.inverse4(block[lo:hi], block[q+lo:q+hi], block[2*q+lo:2*q+hi], block[3*q+lo:3*q+hi], j*blocks+b)
			})
		}
	}
}

// tooLarge reports whether a block of size elements of V is to be cut in four:
// for the cache, or so that all workers have some. Leaves are done on as many
// elements of V as one holds.
func (t *transform[V]) tooLarge(size int) bool {
	const blocksPerWorker = 2
	e := t.plan.elems()
	perWorker := t.plan.m / (t.workers * blocksPerWorker)
	return size*e > min(blockElems, perWorker) && size/4 >= e
}

func (t *transform[V]) blocks(n int, do func(b int)) {
	if t.err != nil {
		return
	}
	t.err = par.For(t.ctx, t.workers, n, func(b int) error {
		do(b)
		return nil
	})
}

// forwardBlock does the whole tree below node j on x.
func (p *plan[V]) forwardBlock(x []V, j int) {
	blocks, size := 1, len(x)
	for ; size >= 4; blocks, size = blocks*4, size/4 {
		q := size / 4
		for b := range blocks {
			y := x[b*size : (b+1)*size]
			p.forward4(y[:q], y[q:2*q], y[2*q:3*q], y[3*q:], j*blocks+b)
		}
	}
	if size == 2 {
		for b := range blocks {
			p.forward2(x[2*b:2*b+1], x[2*b+1:2*b+2], j*blocks+b)
		}
	}
	p.forwardLeaves(x, j*len(x))
}

// inverseBlock undoes forwardBlock, but for a factor.
func (p *plan[V]) inverseBlock(x []V, j int) {
	p.inverseLeaves(x, j*len(x))
	blocks, size := len(x), 1
	for ; blocks >= 4; blocks, size = blocks/4, size*4 {
		for b := range blocks / 4 {
			y := x[b*4*size : (b+1)*4*size]
			p.inverse4(y[:size], y[size:2*size], y[2*size:3*size], y[3*size:], j*(blocks/4)+b)
		}
	}
	if blocks == 2 {
		p.inverse2(x[:size], x[size:], j)
	}
}
