package gpu

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libcuzk/libcuzk/cuda"
	"github.com/libcuzk/libcuzk/engine"
	"github.com/libcuzk/libcuzk/internal/circuits/gv"
	"github.com/libcuzk/libcuzk/tests/golden"
)

// Every witness of a case alone, then all of them in one call, each twice.
func TestGoldenCases(t *testing.T) {
	r := open(t, cuda.Options{})
	golden.Each(t, func(t *testing.T, c golden.Case) {
		if most := 400; c.Rows+c.Aux > most && !onCard() {
			t.Skipf("%d rows and %d aux take long on the simulator, and are proved there by the tests of package cuda", c.Rows, c.Aux)
		}
		srs, err := r.OpenSRS(t.Context(), c.Params, engine.SRSOptions{})
		require.NoError(t, err)
		defer func() { assert.NoError(t, srs.Release()) }()
		var parts []engine.Partition
		var want []engine.Proof
		for _, path := range c.Witnesses {
			f, err := gv.Read(path)
			require.NoError(t, err)
			p := engine.Partition{Assignment: &f.Assignment, R: f.R, S: f.S}
			require.Equal(t, *f.Proof, r.prove(srs, p, engine.AnyDevice), path)
			parts, want = append(parts, p, p), append(want, *f.Proof, *f.Proof)
		}
		job, err := r.Start(t.Context(), srs, parts, engine.DefaultProveOptions())
		require.NoError(t, err)
		proofs, err := job.Wait(t.Context())
		require.NoError(t, err)
		assert.Equal(t, want, proofs, "all witnesses in one call")
	})
}
