package cpu

import (
	"context"
	"fmt"
	"math/bits"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"github.com/libcuzk/libcuzk/engine/cpu/internal/msm"
	"github.com/libcuzk/libcuzk/engine/groth16"
	"github.com/libcuzk/libcuzk/internal/hostmem"
	"github.com/libcuzk/libcuzk/internal/modulus"
	"github.com/libcuzk/libcuzk/internal/par"
)

// vector is a part of the witness, inputs or aux, by class: nearly all scalars
// of real circuits are zero or one.
type vector struct {
	ones, others []uint64 // bitmaps, as in groth16.Density
	otherBefore  []uint32 // number of others before each piece
	otherCount   int
	scalars      []msm.Scalar // of the others, canonical, in order
}

// pieceWords is how many words of a bitmap make a piece of work.
const pieceWords = 64

// section is which points of a parameter section go with the witness: those
// with scalar one, and the others with the index of their scalar.
type section struct {
	ones     []uint32
	at       []uint32
	scalarAt []uint32
}

// witness is the classified witness of a job.
type witness struct {
	inputs, aux vector
	scalars     []msm.Scalar // of all others: those of inputs, then of aux

	l, a, b section

	buffers []interface{ Release() }
}

func (w *witness) release() {
	for _, b := range w.buffers {
		b.Release()
	}
}

// get takes a buffer that is released with the witness.
func get[T any](w *witness, pool *hostmem.Pool, n int) ([]T, error) {
	b, err := hostmem.Get[T](pool, n)
	if err != nil {
		return nil, err
	}
	w.buffers = append(w.buffers, b)
	return b.Data, nil
}

// classify reads the witness once and lists, for the sections l, a and b, the
// points to add up and those to multiply. b serves G1 and G2 alike.
//
// Fails with groth16.ErrScalarRange.
func classify(ctx context.Context, pool *hostmem.Pool, workers int, a *groth16.Assignment) (*witness, error) {
	w := new(witness)
	if err := w.classify(ctx, pool, workers, a); err != nil {
		w.release()
		return nil, err
	}
	return w, nil
}

func (w *witness) classify(ctx context.Context, pool *hostmem.Pool, workers int, a *groth16.Assignment) (err error) {
	if err := w.scan(ctx, pool, workers, "inputs", a.Inputs, &w.inputs); err != nil {
		return err
	}
	if err := w.scan(ctx, pool, workers, "aux", a.Aux, &w.aux); err != nil {
		return err
	}
	first := w.inputs.otherCount
	if w.scalars, err = get[msm.Scalar](w, pool, first+w.aux.otherCount); err != nil {
		return fmt.Errorf("cpu: scalars: %w", err)
	}
	w.inputs.scalars, w.aux.scalars = w.scalars[:first], w.scalars[first:]
	if err := w.inputs.convert(ctx, workers, a.Inputs); err != nil {
		return err
	}
	if err := w.aux.convert(ctx, workers, a.Aux); err != nil {
		return err
	}

	inputs, aux := groth16.Full(len(a.Inputs)), groth16.Full(len(a.Aux))
	type part struct {
		vector  *vector
		density func(word int) uint64
	}
	for _, s := range []struct {
		section *section
		parts   []part
	}{
		{&w.l, []part{{&w.aux, aux.Word}}},
		{&w.a, []part{{&w.inputs, inputs.Word}, {&w.aux, a.AAux.Word}}},
		{&w.b, []part{{&w.inputs, a.BInputs.Word}, {&w.aux, a.BAux.Word}}},
	} {
		lists := make([]*lister, len(s.parts))
		points, ones, others := 0, 0, 0
		for i, p := range s.parts {
			list := newLister(p.vector, p.density)
			list.points, list.ones, list.others = points, ones, others
			if p.vector == &w.aux {
				list.scalars = first
			}
			points, ones, others = points+list.total.points, ones+list.total.ones, others+list.total.others
			lists[i] = list
		}
		if s.section.ones, err = get[uint32](w, pool, ones); err != nil {
			return fmt.Errorf("cpu: list of %d points: %w", ones, err)
		}
		if s.section.at, err = get[uint32](w, pool, 2*others); err != nil {
			return fmt.Errorf("cpu: list of %d points: %w", others, err)
		}
		s.section.at, s.section.scalarAt = s.section.at[:others], s.section.at[others:]
		for _, list := range lists {
			if err := list.fill(ctx, workers, s.section); err != nil {
				return err
			}
		}
	}
	return nil
}

// scan fills in the bitmaps and counts of v.
func (w *witness) scan(ctx context.Context, pool *hostmem.Pool, workers int, name string, x []fr.Element, v *vector) error {
	words := (len(x) + 63) / 64
	bitmaps, err := get[uint64](w, pool, 2*words)
	if err != nil {
		return fmt.Errorf("cpu: classes of %d scalars: %w", len(x), err)
	}
	v.ones, v.others = bitmaps[:words], bitmaps[words:]
	pieces := (words + pieceWords - 1) / pieceWords
	v.otherBefore = make([]uint32, pieces)
	one := fr.One()
	err = par.Ranges(ctx, workers, words, pieceWords, func(lo, hi int) error {
		count := 0
		for word := lo; word < hi; word++ {
			var ones, others uint64
			for i := range min(64, len(x)-64*word) {
				k := &x[64*word+i]
				switch {
				case *k == fr.Element{}:
				case *k == one:
					ones |= 1 << i
				case modulus.BelowR(k):
					others |= 1 << i
				default:
					return fmt.Errorf("cpu: %w: %s[%d]", groth16.ErrScalarRange, name, 64*word+i)
				}
			}
			v.ones[word], v.others[word] = ones, others
			count += bits.OnesCount64(others)
		}
		v.otherBefore[lo/pieceWords] = uint32(count)
		return nil
	})
	for i, n := range v.otherBefore {
		v.otherBefore[i] = uint32(v.otherCount)
		v.otherCount += int(n)
	}
	return err
}

// convert fills in the canonical scalars of the others.
func (v *vector) convert(ctx context.Context, workers int, x []fr.Element) error {
	return par.Ranges(ctx, workers, len(v.others), pieceWords, func(lo, hi int) error {
		at := v.otherBefore[lo/pieceWords]
		for word := lo; word < hi; word++ {
			for set := v.others[word]; set != 0; set &= set - 1 {
				v.scalars[at] = x[64*word+bits.TrailingZeros64(set)].Bits()
				at++
			}
		}
		return nil
	})
}

// tally counts points of a section: all, those with scalar one, the others.
type tally struct{ points, ones, others int }

// lister makes the lists of one vector for one section.
type lister struct {
	vector  *vector
	density func(word int) uint64
	before  []tally // what comes before each piece
	total   tally
	tally       // what comes before the vector in the section
	scalars int // index of the vector's first scalar
}

func newLister(v *vector, density func(int) uint64) *lister {
	l := &lister{vector: v, density: density}
	for word := range v.ones {
		if word%pieceWords == 0 {
			l.before = append(l.before, l.total)
		}
		d := density(word)
		l.total.points += bits.OnesCount64(d)
		l.total.ones += bits.OnesCount64(d & v.ones[word])
		l.total.others += bits.OnesCount64(d & v.others[word])
	}
	return l
}

func (l *lister) fill(ctx context.Context, workers int, s *section) error {
	v := l.vector
	return par.Ranges(ctx, workers, len(v.ones), pieceWords, func(lo, hi int) error {
		piece := lo / pieceWords
		before := l.before[piece]
		point := l.points + before.points
		one, other := l.ones+before.ones, l.others+before.others
		scalar := l.scalars + int(v.otherBefore[piece])
		for word := lo; word < hi; word++ {
			d := l.density(word)
			for set := d & v.ones[word]; set != 0; set &= set - 1 {
				below := set&-set - 1
				s.ones[one] = uint32(point + bits.OnesCount64(d&below))
				one++
			}
			for set := d & v.others[word]; set != 0; set &= set - 1 {
				below := set&-set - 1
				s.at[other] = uint32(point + bits.OnesCount64(d&below))
				s.scalarAt[other] = uint32(scalar + bits.OnesCount64(v.others[word]&below))
				other++
			}
			point += bits.OnesCount64(d)
			scalar += bits.OnesCount64(v.others[word])
		}
		return nil
	})
}
