package engine

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libcuzk/libcuzk/engine/backend"
	"github.com/libcuzk/libcuzk/engine/groth16"
	"github.com/libcuzk/libcuzk/engine/timeline"
)

func TestOutcomesAreCounted(t *testing.T) {
	for name, c := range map[string]struct {
		fail error
		want Outcome
	}{
		"a proof":                       {nil, OutcomeDone},
		"a scalar out of range":         {groth16.ErrScalarRange, OutcomeInvalid},
		"a device that was lost":        {ErrDeviceLost, OutcomeLost},
		"anything else that goes wrong": {errScripted, OutcomeFailed},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScripted(backend.CPU, 1)
			s.script = func(context.Context, *backend.Partition) error { return c.fail }
			b := newBench(t, Config{Providers: []backend.Provider{s}})
			_, err := b.start(t, 1, any1()).Wait(soon(t))
			require.ErrorIs(t, err, c.fail)
			require.Equal(t, map[Outcome]uint64{c.want: 1}, b.Metrics().Devices[0].Outcomes)
		})
	}
	t.Run("a proof that the self-check refuses", func(t *testing.T) {
		b := newBench(t, Config{Providers: []backend.Provider{newScripted(backend.CPU, 1)}})
		_, err := b.Prove(t.Context(), b.set, b.part, any1())
		require.ErrorIs(t, err, ErrUnsatisfied)
		require.Equal(t, map[Outcome]uint64{OutcomeUnsatisfied: 1}, b.Metrics().Devices[0].Outcomes)
	})
	t.Run("partitions that a failing one stopped are cancelled, running or waiting", func(t *testing.T) {
		s := newScripted(backend.CPU, 1)
		running := make(chan struct{})
		s.script = func(ctx context.Context, _ *backend.Partition) error {
			select {
			case running <- struct{}{}: // the second of them
				return errScripted
			case <-running:
				return untilCancelled(ctx, nil)
			}
		}
		b := newBench(t, Config{Providers: []backend.Provider{s}, Workers: 2})
		_, err := b.start(t, 5, any1()).Wait(soon(t))
		require.ErrorIs(t, err, errScripted)
		require.Equal(t, map[Outcome]uint64{OutcomeFailed: 1, OutcomeCancelled: 4}, b.Metrics().Devices[0].Outcomes)
	})
}

func TestMetricsOfNow(t *testing.T) {
	s := newScripted(backend.CPU, 1)
	s.script = untilCancelled
	b := newBench(t, Config{Providers: []backend.Provider{s}, Workers: 2})
	j := b.start(t, 5, any1())
	<-s.begun
	<-s.begun
	m := b.Metrics()
	require.Equal(t, 1, m.ParameterSets)
	require.Len(t, m.Devices, 1)
	assert.Equal(t, 2, m.Devices[0].Workers)
	assert.Equal(t, 3, m.Devices[0].Waiting)
	assert.Equal(t, 2, m.Devices[0].Carried)
	assert.EqualValues(t, 2, m.Devices[0].Stages[backend.StageQueue].Count)
	j.Cancel()
	_, err := j.Wait(soon(t))
	require.ErrorIs(t, err, ErrCancelled)
	assert.Equal(t, map[Outcome]uint64{OutcomeCancelled: 5}, b.Metrics().Devices[0].Outcomes)
}

func TestTimelineOfAnEngine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.json")
	s := newScripted(backend.CPU, 1)
	s.script = func(_ context.Context, partition *backend.Partition) error {
		partition.Stage("sums", 0.001)
		return nil
	}
	e, err := New(Config{Providers: []backend.Provider{s}, Timeline: path})
	require.NoError(t, err)
	b := &bench{Engine: e}
	b.set, b.part = openCase(t, e)
	_, err = b.start(t, 2, any1()).Wait(soon(t))
	require.NoError(t, err)
	require.NoError(t, e.Close())
	require.False(t, timeline.On())

	text, err := os.ReadFile(path)
	require.NoError(t, err)
	for _, name := range []string{"queue", "partition", "open", "sums", "assemble"} {
		assert.GreaterOrEqual(t, strings.Count(string(text), `"name":"`+name+`"`), 2, name)
	}
	assert.Contains(t, string(text), `"partition":1`)

	t.Run("a file that cannot be made is an error of New", func(t *testing.T) {
		_, err := New(Config{Providers: []backend.Provider{s}, Timeline: filepath.Join(path, "below a file")})
		require.ErrorContains(t, err, "timeline")
	})
}
