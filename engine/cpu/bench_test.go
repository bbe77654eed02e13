package cpu_test

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/libcuzk/libcuzk/engine/backend"
	"github.com/libcuzk/libcuzk/engine/cpu"
	"github.com/libcuzk/libcuzk/engine/groth16"
	"github.com/libcuzk/libcuzk/engine/srs"
	"github.com/libcuzk/libcuzk/internal/circuits/gv"
	"github.com/libcuzk/libcuzk/internal/circuits/synth"
	"github.com/libcuzk/libcuzk/tests/golden"
)

// BenchmarkGolden proves golden cases, assembly and self-check included.
func BenchmarkGolden(b *testing.B) {
	var cases []golden.Case
	for _, name := range []string{"zero", "mimc", "pow2"} {
		c, err := golden.Named(name)
		require.NoError(b, err)
		cases = append(cases, c)
	}
	large, err := golden.Large()
	if err != nil {
		b.Log(err)
	} else {
		cases = append(cases, large)
	}
	for _, c := range cases {
		b.Run(c.Name, func(b *testing.B) { benchmarkFile(b, c.Params, c.Witnesses[0], cpu.Options{}) })
		b.Run(c.Name+" portable", func(b *testing.B) { benchmarkFile(b, c.Params, c.Witnesses[0], cpu.Options{Portable: true}) })
	}
}

func benchmarkFile(b *testing.B, paramsPath, assignment string, options cpu.Options) {
	params, err := srs.Open(paramsPath, srs.Options{})
	require.NoError(b, err)
	defer func() { require.NoError(b, params.Release()) }()
	file, err := gv.Read(assignment)
	require.NoError(b, err)
	benchmarkProof(b, params, file, options)
}

func benchmarkProof(b *testing.B, params *srs.Params, file *gv.File, options cpu.Options) {
	d, err := cpu.New(options).Open(0)
	require.NoError(b, err)
	defer d.Close()
	require.NoError(b, d.Load(b.Context(), params))
	defer d.Drop(params)
	key, err := groth16.Prepare(params.VerifyingKey())
	require.NoError(b, err)

	stages := map[string]float64{}
	partition := &backend.Partition{Params: params, Assignment: &file.Assignment, RowsRead: func() {},
		Stage: func(name string, seconds float64) { stages[name] += seconds }}
	start, cpuStart := time.Now(), cpuSeconds()
	for b.Loop() {
		sums, err := d.Prove(b.Context(), partition)
		require.NoError(b, err)
		proof, err := groth16.Assemble(params.VerifyingKey(), sums, &file.R, &file.S)
		require.NoError(b, err)
		require.NoError(b, key.Verify(file.Assignment.Inputs, proof))
	}
	rest := time.Since(start).Seconds()
	b.ReportMetric(1000*(cpuSeconds()-cpuStart)/float64(b.N), "cpu-ms")
	for _, name := range []string{backend.StageQuotient, backend.StageClassify, backend.StageSums} {
		b.ReportMetric(1000*stages[name]/float64(b.N), fmt.Sprintf("%s-ms", name))
		rest -= stages[name]
	}
	b.ReportMetric(1000*rest/float64(b.N), "rest-ms")
	b.ReportMetric(float64(d.(*cpu.Device).PeakBytes())/(1<<20), "peak-MiB")
}

// BenchmarkSynthetic proves generated circuits of the shapes in
// docs/performance.md. The largest needs 6 GB of memory and minutes to make
// its parameters, so it runs only with CUZK_BENCH_LARGE=1.
func BenchmarkSynthetic(b *testing.B) {
	const inputs = 3
	cases := []struct {
		name  string
		shape synth.Shape
		large bool
	}{
		{"dense 2^16", synth.Dense(1<<16, inputs), false},
		{"SHA-256 chain 2^18", synth.SHA256Like(222_099, inputs), false},
		{"PoRep 2 KiB 2^22", synth.PoRepLike(2_687_961, 40), true},
	}
	for _, c := range cases {
		b.Run(c.name, func(b *testing.B) {
			if c.large && os.Getenv("CUZK_BENCH_LARGE") != "1" {
				b.Skip("set CUZK_BENCH_LARGE=1 to run it")
			}
			circuit, err := synth.New(c.shape, 1)
			require.NoError(b, err)
			params, err := circuit.Params()
			require.NoError(b, err)
			defer func() { require.NoError(b, params.Release()) }()
			r, s := circuit.Blinding()
			benchmarkProof(b, params, &gv.File{Assignment: *circuit.Assignment(), R: r, S: s}, cpu.Options{})
		})
	}
}
