package main

import (
	"bytes"
	"context"
	"flag"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libcuzk/libcuzk/engine/groth16"
	"github.com/libcuzk/libcuzk/internal/circuits/synth"
	"github.com/libcuzk/libcuzk/tests/cudasim"
)

// rows of the table that args print, without its head.
func rows(t *testing.T, args ...string) []string {
	t.Helper()
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), args, &out, io.Discard))
	t.Log(out.String())
	assert.Contains(t, out.String(), "Every proof was verified")
	lines := regexp.MustCompile(`(?m)^\| .*`).FindAllString(out.String(), -1)
	require.Greater(t, len(lines), 1)
	return lines[1:]
}

func TestTheTableHasARowForEachMeasurement(t *testing.T) {
	table := rows(t, "-device", "cpu", "-sizes", "3,5-6", "-shapes", "porep,dense", "-workers", "1,2", "-n", "3")
	require.Len(t, table, 3*2*2)
	for i, start := range []string{
		"| porep | 2^3 | 1 | 3 |", "| porep | 2^3 | 2 | 3 |", "| dense | 2^3 | 1 | 3 |", "| dense | 2^3 | 2 | 3 |",
		"| porep | 2^5 | 1 | 3 |",
	} {
		assert.True(t, strings.HasPrefix(table[i], start), "%s: %s", start, table[i])
	}
	for _, row := range table {
		assert.Regexp(t, `quotient \d+\.\d, classify \d+\.\d, sums \d+\.\d, self-check \d+\.\d \|$`, row)
	}
}

func TestOnASimulatedCard(t *testing.T) {
	cudasim.New(t, cudasim.Config{})
	table := rows(t, "-device", "gpu", "-sizes", "4", "-workers", "2", "-n", "3")
	require.Len(t, table, 1)
	assert.Regexp(t, `claim \d+\.\d, upload \d+\.\d, compute \d+\.\d, finish \d+\.\d, self-check \d+\.\d \|$`, table[0])
}

func TestSizesFillTheirDomain(t *testing.T) {
	for log := 1; log <= 28; log++ {
		rows, inputs := sizeOf(log)
		assert.Equal(t, 1<<log, groth16.Domain(rows), "2^%d", log)
		assert.LessOrEqual(t, inputs, rows)
	}
	rows, inputs := sizeOf(27)
	assert.Equal(t, []int{130278869, 328}, []int{rows, inputs})
}

func TestQuantilesAreNearestRanks(t *testing.T) {
	calls := make([]time.Duration, 1000)
	for i := range calls {
		calls[i] = time.Duration(i+1) * time.Millisecond
	}
	assert.Equal(t, []float64{500, 999}, []float64{quantile(calls, 0.5), quantile(calls, 0.999)})
	assert.Equal(t, 1.0, quantile(calls[:1], 0.999))
}

func TestBaselines(t *testing.T) {
	for _, test := range []struct {
		like         string
		log, workers int
		want         float64
	}{
		{"porep", 14, 1, 29}, {"porep", 24, 3, 479}, {"porep", 27, 1, 4620}, {"porep", 27, 2, 3060}, {"porep", 27, 3, 2960},
		{"porep", 15, 1, 0}, {"dense", 14, 1, 0},
	} {
		assert.Equal(t, test.want, baseline(test.like, test.log, test.workers), "%+v", test)
	}
}

func TestAWrongProofIsFound(t *testing.T) {
	// Spoilt: the engine withholds the proof, and the bench says so.
	saved := shapes["dense"]
	defer func() { shapes["dense"] = saved }()
	shapes["dense"] = func(log int) synth.Shape {
		s := saved(log)
		s.Spoil = true
		return s
	}
	err := run(context.Background(), []string{"-device", "cpu", "-sizes", "4", "-shapes", "dense"}, io.Discard, io.Discard)
	require.ErrorContains(t, err, "2^4, dense: 1 workers: call 0")
}

func TestTimelines(t *testing.T) {
	folder := t.TempDir()
	args := []string{"-device", "cpu", "-sizes", "4", "-shapes", "dense", "-workers", "1,2", "-n", "2", "-timelines", folder}
	require.NoError(t, run(t.Context(), args, io.Discard, io.Discard))
	for _, name := range []string{"dense-4-1.json", "dense-4-2.json"} {
		text, err := os.ReadFile(filepath.Join(folder, name))
		require.NoError(t, err)
		assert.Equal(t, 2, strings.Count(string(text), `"name":"partition"`), name)
	}
	args[len(args)-1] = filepath.Join(folder, "missing")
	require.ErrorIs(t, run(t.Context(), args, io.Discard, io.Discard), os.ErrNotExist)
}

func TestWrongUsageIsExplained(t *testing.T) {
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"an argument":         {[]string{"x"}, `expected only flags, got "x"`},
		"no partitions":       {[]string{"-n", "0"}, "-n: expected at least 1, got 0"},
		"less than no copies": {[]string{"-staging", "-1"}, "-staging: expected at least 0, got -1"},
		"an unknown device":   {[]string{"-device", "tpu"}, `-device: expected auto, gpu or cpu, got "tpu"`},
		"a size too large":    {[]string{"-sizes", "14,99"}, `-sizes: expected numbers or ranges of 1 to`},
		"a range backwards":   {[]string{"-sizes", "9-7"}, `got "9-7"`},
		"no workers":          {[]string{"-workers", "0"}, "-workers: expected numbers or ranges of 1 to 64"},
		"an unknown shape":    {[]string{"-shapes", "round"}, `-shapes: expected porep or dense, got "round"`},
		"an unknown flag":     {[]string{"-frobnicate"}, "flag provided but not defined"},
	} {
		t.Run(name, func(t *testing.T) {
			var errs bytes.Buffer
			require.ErrorIs(t, run(t.Context(), test.args, io.Discard, &errs), errUsage)
			assert.Contains(t, errs.String(), test.want)
		})
	}
	require.ErrorIs(t, run(t.Context(), []string{"-h"}, io.Discard, io.Discard), flag.ErrHelp)
}
