package gpu

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libcuzk/libcuzk/cuda"
	"github.com/libcuzk/libcuzk/engine"
	"github.com/libcuzk/libcuzk/internal/circuits/synth"
)

// comparedUpTo is the largest domain whose proofs are compared with the CPU
// back end's; larger ones are proved twice.
const comparedUpTo = 18

// kinds of circuits of a domain of m rows, with so many inputs and rows.
var kinds = []struct {
	name   string
	inputs func(m int) int
	rows   func(m int) int // above m/2
	shape  func(rows, inputs int) synth.Shape
}{
	{"densities all 0", func(int) int { return 1 }, full, func(rows, inputs int) synth.Shape {
		s := synth.PoRepLike(rows, inputs)
		s.AAux, s.BAux, s.BInputs, s.BOne = 0, 0, 0, false
		return s
	}},
	{"densities all 1", func(int) int { return 3 }, justOverHalf, func(rows, inputs int) synth.Shape {
		s := synth.PoRepLike(rows, inputs)
		s.AAux, s.BAux, s.BInputs, s.BOne = 1, 1, 1, true
		return s
	}},
	{"all dense", func(m int) int { return 1 + m/50 }, oneLess, synth.Dense},
	{"mixed", func(int) int { return 40 }, full, func(rows, inputs int) synth.Shape {
		s := synth.PoRepLike(rows, inputs)
		s.AAux, s.BAux, s.BInputs = 0.6, 0.3, 0.5
		return s
	}},
	{"thousands of inputs", func(m int) int { return min(m/2, 5000) }, full, synth.SHA256Like},
}

func full(m int) int         { return m }
func oneLess(m int) int      { return max(m-1, m/2+1) }
func justOverHalf(m int) int { return m/2 + 1 }

func TestCircuits(t *testing.T) {
	r := open(t, cuda.Options{})
	upTo := *largest
	if upTo < 0 {
		upTo = pick(22, 6)
	}
	for log := *smallest; log <= upTo; log++ {
		start := time.Now()
		for i, kind := range kinds {
			m := 1 << log
			rows := kind.rows(m)
			inputs := max(1, min(kind.inputs(m), rows))
			// One test for all: a failure says which.
			what := fmt.Sprintf("2^%d, %s: %d rows, %d inputs", log, kind.name, rows, inputs)
			r.check(what, kind.shape(rows, inputs), uint64(10*log+i), log)
		}
		t.Logf("2^%d: %d kinds of circuits, %.2f s", log, len(kinds), time.Since(start).Seconds())
	}
}

func (r *rig) check(what string, shape synth.Shape, seed uint64, log int) {
	r.t.Helper()
	c := r.circuit(shape, seed)
	defer c.free()
	p := c.partition(0)
	proof := r.prove(c.srs, p, engine.AnyDevice)
	require.Equal(r.t, c.ExpectedProof(p.R, p.S), proof, "%s: the trapdoor's proof", what)
	if log <= comparedUpTo {
		require.Equal(r.t, r.prove(c.srs, p, r.cpu), proof, "%s: the CPU back end's proof", what)
	} else {
		require.Equal(r.t, proof, r.prove(c.srs, p, engine.AnyDevice), "%s: a second run", what)
	}
}

// The dense list holds few values, so that the witness goes in many rounds.
func TestWitnessesThatOverflowTheDenseList(t *testing.T) {
	for _, list := range pick([]int{1024, 100_000}, []int{9, 50}) {
		t.Run(fmt.Sprintf("a list of %d", list), func(t *testing.T) {
			r := open(t, cuda.Options{ListScalars: list})
			for log := range pick(17, 8) {
				r.check(fmt.Sprintf("2^%d", log), synth.Dense(1<<log, 1+log/2), uint64(log), log)
			}
			r.check("like a PoRep", synth.PoRepLike(pick(1<<20, 200), 40), 1, pick(20, 8))
		})
	}
}

// One call with partitions of one parameter set, whose rows differ in number:
// rows of zeros at the end change nothing of the proof.
func TestDifferentRowsInOneCall(t *testing.T) {
	r := open(t, cuda.Options{})
	m := pick(1<<14, 64)
	c := r.circuit(synth.PoRepLike(m/2+m/8, 5), 3)
	defer c.free()
	var parts []engine.Partition
	for i, rows := range []int{m/2 + m/8, m/2 + m/8 + 1, m - 1, m, m/2 + m/8} {
		p := c.partition(uint64(i))
		a := *p.Assignment
		a.A, a.B = padded(a.A, rows), padded(a.B, rows)
		p.Assignment = &a
		parts = append(parts, p)
	}
	job, err := r.Start(t.Context(), c.srs, parts, engine.DefaultProveOptions())
	require.NoError(t, err)
	proofs, err := job.Wait(t.Context())
	require.NoError(t, err)
	require.Len(t, proofs, len(parts))
	for i, p := range parts {
		assert.Equal(t, c.ExpectedProof(p.R, p.S), proofs[i], "partition %d, %d rows", i, len(p.Assignment.A))
	}
}

func padded[T any](rows []T, n int) []T {
	return append(append([]T{}, rows...), make([]T, n-len(rows))...)
}

// Jobs of circuits of very different sizes, at once and in every order.
func TestDifferentCircuitsAtOnce(t *testing.T) {
	r := open(t, cuda.Options{})
	var circuits []*circuit
	for i, log := range pick([]int{0, 5, 12, 16, 19, 20}, []int{0, 2, 5, 6}) {
		shape := synth.PoRepLike(1<<log, 1+log/2)
		if i%2 == 1 {
			shape = synth.Dense(1<<log-1, 1+log/2)
		}
		c := r.circuit(shape, uint64(log))
		defer c.free()
		circuits = append(circuits, c)
	}
	const rounds, each = 3, 2
	type running struct {
		c     *circuit
		parts []engine.Partition
		job   *engine.Job
	}
	var jobs []running
	for round := range rounds {
		for i := range circuits {
			c := circuits[(i*(round+1)+round)%len(circuits)]
			var parts []engine.Partition
			for k := range each {
				parts = append(parts, c.partition(uint64(100*round+k)))
			}
			job, err := r.Start(t.Context(), c.srs, parts, engine.DefaultProveOptions())
			require.NoError(t, err)
			jobs = append(jobs, running{c, parts, job})
		}
	}
	for _, j := range jobs {
		proofs, err := j.job.Wait(t.Context())
		require.NoError(t, err)
		for k, p := range j.parts {
			assert.Equal(t, j.c.ExpectedProof(p.R, p.S), proofs[k])
		}
	}
}
