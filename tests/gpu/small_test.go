package gpu

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libcuzk/libcuzk/cuda"
	"github.com/libcuzk/libcuzk/engine"
	"github.com/libcuzk/libcuzk/internal/circuits/synth"
)

// Small proofs that launch every kernel of the hot path: what compute-sanitizer
// runs, which is a hundred times slower.
func TestSmallProofs(t *testing.T) {
	for name, o := range map[string]cuda.Options{
		"the list holds all": {}, "the list overflows": {ListScalars: 50},
	} {
		t.Run(name, func(t *testing.T) {
			r := open(t, o)
			for _, shape := range []synth.Shape{synth.PoRepLike(pick(1500, 200), 7), synth.Dense(pick(300, 70), 3)} {
				c := r.circuitOfCPU(shape, 1)
				p := c.partition(0)
				proof := r.prove(c.srs, p, engine.AnyDevice)
				require.Equal(t, c.ExpectedProof(p.R, p.S), proof)
				c.free()
			}
		})
	}
}
