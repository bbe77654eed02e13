package srs

import (
	"bytes"
	"context"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/libcuzk/libcuzk/tests/golden"
)

// memorySource is a file's bytes, so that a fuzzer needs no file.
type memorySource struct{ *bytes.Reader }

func (memorySource) Close() error     { return nil }
func (memorySource) Unchanged() error { return nil }

// FuzzParams gives arbitrary bytes to Open and Points under all options. What
// is accepted must write back as the same bytes. Coverage varies with the
// scheduling of goroutines, so run it with -fuzzminimizetime=10x: otherwise
// the fuzzer spends its time on minimizing what cannot be made smaller.
func FuzzParams(f *testing.F) {
	cases, err := golden.Small()
	require.NoError(f, err)
	for _, c := range cases[:3] {
		data, err := os.ReadFile(c.Params)
		require.NoError(f, err)
		for options := range byte(8) {
			f.Add(data, options)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte, bits byte) {
		options := Options{SubgroupCheck: bits&1 != 0, AllowInfinity: bits&2 != 0, AllowTrailing: bits&4 != 0}
		p := newParams("fuzz", options)
		if p.open(memorySource{bytes.NewReader(data)}) != nil {
			return
		}
		points, err := p.Points(context.Background())
		if err != nil {
			return
		}
		var out bytes.Buffer
		require.NoError(t, Write(&out, p.VerifyingKey(), points))
		if !options.AllowTrailing {
			require.Equal(t, len(data), out.Len())
		}
		require.True(t, bytes.Equal(data[:out.Len()], out.Bytes()))
		require.NoError(t, p.Release())
	})
}

// BenchmarkPoints reads, converts and checks points; the rate is in bytes of
// the file. The large golden case where it is present, else pow2.
func BenchmarkPoints(b *testing.B) {
	c, err := golden.Large()
	if err != nil {
		c, err = golden.Named("pow2")
	}
	require.NoError(b, err)
	for _, options := range []Options{{}, {SubgroupCheck: true}} {
		name := "on the curve"
		if options.SubgroupCheck {
			name = "in the subgroup"
		}
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				p, err := Open(c.Params, options)
				require.NoError(b, err)
				_, err = p.Points(b.Context())
				require.NoError(b, err)
				b.SetBytes(p.FileBytes())
				require.NoError(b, p.Release())
			}
		})
	}
}
