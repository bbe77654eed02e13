package gpu

import (
	"context"
	"flag"
	"os"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libcuzk/libcuzk/cuda"
	"github.com/libcuzk/libcuzk/engine"
	"github.com/libcuzk/libcuzk/engine/backend"
	"github.com/libcuzk/libcuzk/engine/cpu"
	"github.com/libcuzk/libcuzk/internal/circuits/ondevice"
	"github.com/libcuzk/libcuzk/internal/circuits/synth"
	"github.com/libcuzk/libcuzk/internal/cudatest"
	"github.com/libcuzk/libcuzk/tests/cudasim"
)

var (
	smallest = flag.Int("smallest", 0, "logarithm of the smallest domain of TestCircuits")
	largest  = flag.Int("largest", -1, "logarithm of the largest domain of TestCircuits; default: 22 on a card, 6 on the simulator")
)

// onCard reports whether tests run on a card: CUZK_REQUIRE_GPU=1.
func onCard() bool { return os.Getenv(cudatest.RequireVariable) == "1" }

// pick is one size on a card and another on the simulator.
func pick[T any](card, simulated T) T {
	if onCard() {
		return card
	}
	return simulated
}

// rig is an engine with a GPU, and the CPU beside it.
type rig struct {
	*engine.Engine
	t   *testing.T
	sim *cudasim.Sim // nil on a card
	gpu *watched     // the provider of the card
	cpu int          // index of the CPU in Devices

	closed   bool            // by the test itself
	fallback engine.Fallback // of start

	card *ondevice.Maker // makes parameters; nil until the first
}

func open(t *testing.T, o cuda.Options) *rig {
	t.Helper()
	return openWith(t, o, cudasim.Config{})
}

// openWith is open with settings of the simulator, if it is used.
func openWith(t *testing.T, o cuda.Options, c cudasim.Config) *rig {
	t.Helper()
	return openFalling(t, o, c, engine.FallbackGPU)
}

// openFalling is openWith with a place for the jobs of a lost card.
func openFalling(t *testing.T, o cuda.Options, c cudasim.Config, to engine.Fallback) *rig {
	t.Helper()
	r := &rig{t: t, fallback: to}
	if !onCard() {
		r.sim = cudasim.New(t, c)
	}
	r.start(o)
	return r
}

func providers(o cuda.Options) []backend.Provider {
	return []backend.Provider{cuda.NewProvider(o), cpu.New(cpu.Options{})}
}

// start makes the engine.
func (r *rig) start(o cuda.Options) {
	r.t.Helper()
	r.gpu = &watched{Provider: cuda.NewProvider(o)}
	e, err := engine.New(engine.Config{Providers: []backend.Provider{r.gpu, cpu.New(cpu.Options{})}, Fallback: r.fallback})
	require.NoError(r.t, err)
	r.t.Cleanup(func() {
		if !r.closed {
			assert.NoError(r.t, e.Close())
		}
	})
	require.Empty(r.t, e.GPUReason(), "the GPU is not used")
	r.Engine, r.cpu = e, len(e.Devices())-1
	require.Equal(r.t, backend.CPU, e.Devices()[r.cpu].Backend)
}

// circuit is a circuit with its parameter set.
type circuit struct {
	*synth.Circuit
	srs  *engine.SRS
	free func()
}

// circuit makes a circuit and, on the card, its parameters.
func (r *rig) circuit(shape synth.Shape, seed uint64) *circuit {
	r.t.Helper()
	c, err := synth.New(shape, seed)
	require.NoError(r.t, err)
	set, err := r.setup().Points(r.t.Context(), c.Exponents())
	require.NoError(r.t, err)
	params, err := set.Params()
	require.NoError(r.t, err)
	srs, err := r.AddSRS(r.t.Context(), params)
	require.NoError(r.t, err)
	return &circuit{c, srs, func() {
		assert.NoError(r.t, srs.Release())
		set.Free()
	}}
}

// setup is a context beside the engine's, for parameters.
func (r *rig) setup() *ondevice.Maker {
	r.t.Helper()
	if r.card == nil {
		card, err := ondevice.OpenFirst()
		require.NoError(r.t, err)
		r.t.Cleanup(func() { assert.NoError(r.t, card.Close()) })
		r.card = card
	}
	return r.card
}

// circuitOfCPU is circuit with parameters made on the CPU: for small ones, the
// card does nothing then but prove.
func (r *rig) circuitOfCPU(shape synth.Shape, seed uint64) *circuit {
	r.t.Helper()
	c, err := r.addCircuit(shape, seed)
	require.NoError(r.t, err)
	return c
}

// addCircuit is circuitOfCPU, or why the engine refuses the parameters.
func (r *rig) addCircuit(shape synth.Shape, seed uint64) (*circuit, error) {
	r.t.Helper()
	c, err := synth.New(shape, seed)
	require.NoError(r.t, err)
	params, err := c.Params()
	require.NoError(r.t, err)
	srs, err := r.AddSRS(r.t.Context(), params)
	if err != nil {
		return nil, err
	}
	return &circuit{c, srs, func() { assert.NoError(r.t, srs.Release()) }}, nil
}

// partition has the circuit's own blinding scalars, each larger by step.
func (c *circuit) partition(step uint64) engine.Partition {
	r, s := c.Blinding()
	by := fr.NewElement(step)
	r.Add(&r, &by)
	s.Add(&s, &by)
	return engine.Partition{Assignment: c.Assignment(), R: r, S: s}
}

// prove proves p on a device and verifies the proof by pairing.
func (r *rig) prove(srs *engine.SRS, p engine.Partition, device int) engine.Proof {
	r.t.Helper()
	o := engine.DefaultProveOptions()
	o.Device = device
	proof, err := r.Prove(context.Background(), srs, p, o)
	require.NoError(r.t, err)
	require.NoError(r.t, srs.Verify(p.Assignment.Inputs, &proof))
	return proof
}

// proveCall proves n partitions in one call, the i-th of its size.
func (r *rig) proveCall(c *circuit, i, n int) ([]engine.Partition, []engine.Proof) {
	r.t.Helper()
	var parts []engine.Partition
	for k := range n {
		parts = append(parts, c.partition(uint64(i*n+k)))
	}
	job, err := r.Start(r.t.Context(), c.srs, parts, engine.DefaultProveOptions())
	require.NoError(r.t, err)
	proofs, err := job.Wait(r.t.Context())
	require.NoError(r.t, err)
	return parts, proofs
}
