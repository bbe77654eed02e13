package engine

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/stretchr/testify/require"

	"github.com/libcuzk/libcuzk/engine/backend"
	"github.com/libcuzk/libcuzk/engine/groth16"
	"github.com/libcuzk/libcuzk/engine/srs"
)

func TestJobOutcomes(t *testing.T) {
	t.Run("no partitions is done at once, with no proofs", func(t *testing.T) {
		b := newBench(t, Config{Providers: []backend.Provider{newScripted(backend.CPU, 1)}})
		j := b.start(t, 0, any1())
		proofs, err := j.Wait(soon(t))
		require.NoError(t, err)
		require.Empty(t, proofs)
		require.NoError(t, j.WaitRows(soon(t)))
	})

	t.Run("a failing partition stops the others and names itself", func(t *testing.T) {
		s := newScripted(backend.CPU, 1)
		var calls atomic.Int64
		s.script = func(ctx context.Context, _ *backend.Partition) error {
			if calls.Add(1) == 2 {
				return errScripted
			}
			return untilCancelled(ctx, nil)
		}
		b := newBench(t, Config{Providers: []backend.Provider{s}, Workers: 3})
		j := b.start(t, 6, any1())
		_, err := j.Wait(soon(t))
		require.ErrorIs(t, err, errScripted)
		require.Regexp(t, `^partition [0-5]: `, err.Error())
		require.NoError(t, j.WaitRows(soon(t)))
		require.EqualValues(t, 0, b.all()[0].backlog.Load())
	})

	t.Run("an answered job weighs on no device and is counted whole", func(t *testing.T) {
		const jobs, partitions = 200, 4 // fewer than begun holds
		b := newBench(t, Config{Providers: []backend.Provider{newScripted(backend.CPU, 1)}, Workers: partitions})
		opt := any1()
		opt.SkipSelfCheck = true
		for i := range uint64(jobs) {
			_, err := b.start(t, partitions, opt).Wait(soon(t))
			require.NoError(t, err)
			require.EqualValues(t, 0, b.all()[0].backlog.Load())
			require.Equal(t, (i+1)*partitions, b.all()[0].metrics().Outcomes[OutcomeDone])
		}
	})

	t.Run("a panic in the back end fails its partition alone", func(t *testing.T) {
		s := newScripted(backend.CPU, 1)
		var calls atomic.Int64
		s.script = func(context.Context, *backend.Partition) error {
			if calls.Add(1) == 1 {
				panic("scripted panic")
			}
			return nil
		}
		b := newBench(t, Config{Providers: []backend.Provider{s}})
		_, err := b.start(t, 1, any1()).Wait(soon(t))
		require.ErrorIs(t, err, ErrInternal)
		require.Contains(t, err.Error(), "scripted panic")
		_, err = b.start(t, 1, any1()).Wait(soon(t))
		require.NoError(t, err)
	})

	t.Run("sums that belong to no proof are withheld by the self-check", func(t *testing.T) {
		b := newBench(t, Config{Providers: []backend.Provider{newScripted(backend.CPU, 1)}})
		_, err := b.Prove(t.Context(), b.set, b.part, any1())
		require.ErrorIs(t, err, ErrUnsatisfied)
	})

	t.Run("a device that does not open fails the job and is tried again", func(t *testing.T) {
		s := newScripted(backend.CUDA, 1)
		b := newBench(t, Config{Providers: []backend.Provider{newScripted(backend.CPU, 1), s}})
		opt := any1()
		opt.Device = 1
		s.openErr = errScripted
		_, err := b.start(t, 1, opt).Wait(soon(t))
		require.ErrorIs(t, err, errScripted)
		s.openErr = nil
		_, err = b.start(t, 1, opt).Wait(soon(t))
		require.NoError(t, err)
	})
}

func TestCancel(t *testing.T) {
	t.Run("a running job stops, a waiting one of the same engine goes on", func(t *testing.T) {
		s := newScripted(backend.CPU, 1)
		var calls atomic.Int64
		s.script = func(ctx context.Context, partition *backend.Partition) error {
			if calls.Add(1) == 1 {
				return untilCancelled(ctx, partition)
			}
			return nil
		}
		b := newBench(t, Config{Providers: []backend.Provider{s}})
		first, second := b.start(t, 1, any1()), b.start(t, 1, any1())
		<-s.begun
		first.Cancel()
		_, err := first.Wait(soon(t))
		require.ErrorIs(t, err, ErrCancelled)
		_, err = second.Wait(soon(t))
		require.NoError(t, err)
	})

	t.Run("a job still in the queue answers while every worker is busy", func(t *testing.T) {
		s := newScripted(backend.CPU, 1)
		s.script = untilCancelled
		b := newBench(t, Config{Providers: []backend.Provider{s}})
		busy, waiting := b.start(t, 1, any1()), b.start(t, 3, any1())
		<-s.begun
		waiting.Cancel()
		_, err := waiting.Wait(soon(t))
		require.ErrorIs(t, err, ErrCancelled)
		require.NoError(t, waiting.WaitRows(soon(t)))
		require.EqualValues(t, 1, b.all()[0].backlog.Load())
		busy.Cancel()
		_, err = busy.Wait(soon(t))
		require.ErrorIs(t, err, ErrCancelled)
	})

	t.Run("the context of Prove cancels the job", func(t *testing.T) {
		s := newScripted(backend.CPU, 1)
		s.script = untilCancelled
		b := newBench(t, Config{Providers: []backend.Provider{s}})
		ctx, cancel := context.WithCancel(t.Context())
		go func() { <-s.begun; cancel() }()
		_, err := b.Prove(ctx, b.set, b.part, any1())
		require.ErrorIs(t, err, ErrCancelled)
		require.ErrorIs(t, err, context.Canceled)
	})

	t.Run("a wait that times out leaves the job alone", func(t *testing.T) {
		s := newScripted(backend.CPU, 1)
		release := make(chan struct{})
		s.script = func(context.Context, *backend.Partition) error { <-release; return nil }
		b := newBench(t, Config{Providers: []backend.Provider{s}})
		j := b.start(t, 1, any1())
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		_, err := j.Wait(ctx)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		close(release)
		_, err = j.Wait(soon(t))
		require.NoError(t, err)
		_, err = j.Wait(ctx)
		require.NoError(t, err, "a finished job answers an expired context")
	})
}

func TestRowsAreReleasedBeforeTheEnd(t *testing.T) {
	s := newScripted(backend.CPU, 1)
	release := make(chan struct{})
	s.script = func(_ context.Context, partition *backend.Partition) error {
		partition.RowsRead()
		<-release
		return nil
	}
	b := newBench(t, Config{Providers: []backend.Provider{s}, Workers: 2})
	j := b.start(t, 2, any1())
	require.NoError(t, j.WaitRows(soon(t)))
	select {
	case <-j.Done():
		t.Fatal("the job ended before it was let go")
	default:
	}
	close(release)
	_, err := j.Wait(soon(t))
	require.NoError(t, err)
}

func TestStagesOfEachPartition(t *testing.T) {
	s := newScripted(backend.CPU, 1)
	var calls atomic.Int64
	s.script = func(_ context.Context, partition *backend.Partition) error {
		partition.Stage("sums", float64(calls.Add(1)))
		partition.Stage("sums", 0.5)
		return nil
	}
	b := newBench(t, Config{Providers: []backend.Provider{s}, Workers: 1})
	j := b.start(t, 2, any1())
	_, err := j.Wait(soon(t))
	require.NoError(t, err)
	require.Equal(t, map[string]float64{"sums": 1.5}, j.Stages(0), "a stage that runs twice adds up")
	require.Equal(t, map[string]float64{"sums": 2.5}, j.Stages(1))
}

func TestPrioritiesOrderTheQueue(t *testing.T) {
	s := newScripted(backend.CPU, 1)
	hold := make(chan struct{})
	s.script = func(context.Context, *backend.Partition) error { <-hold; return nil }
	b := newBench(t, Config{Providers: []backend.Provider{s}})
	jobs := []*Job{b.start(t, 1, any1())}
	<-s.begun // the only worker is busy, so what follows waits in the queue

	priorityOf := map[*Assignment]Priority{}
	for _, p := range []Priority{PriorityLow, PriorityDefault, PriorityHigh, PriorityCritical} {
		own := *b.part.Assignment
		priorityOf[&own] = p
		opt := any1()
		opt.Priority, opt.SkipSelfCheck = p, true
		j, err := b.Start(t.Context(), b.set, []Partition{{Assignment: &own}}, opt)
		require.NoError(t, err)
		jobs = append(jobs, j)
	}
	close(hold)
	var order []Priority
	for _, j := range jobs {
		_, err := j.Wait(soon(t))
		require.NoError(t, err)
	}
	for range jobs[1:] {
		order = append(order, priorityOf[(<-s.begun).Assignment])
	}
	require.Equal(t, []Priority{PriorityCritical, PriorityHigh, PriorityDefault, PriorityLow}, order)
}

func TestBadPartitionsStartNothing(t *testing.T) {
	s := newScripted(backend.CPU, 1)
	b := newBench(t, Config{Providers: []backend.Provider{s}})
	short := *b.part.Assignment
	short.A = short.A[:len(short.A)-1]
	var outside fr.Element
	for i := range outside {
		outside[i] = ^uint64(0)
	}
	good := any1()
	for name, c := range map[string]struct {
		bad  Partition
		opt  ProveOptions
		want error
	}{
		"no assignment":              {Partition{}, good, ErrOption},
		"rows that differ":           {Partition{Assignment: &short}, good, groth16.ErrSize},
		"r outside the field":        {Partition{Assignment: b.part.Assignment, R: outside}, good, groth16.ErrScalarRange},
		"s outside the field":        {Partition{Assignment: b.part.Assignment, S: outside}, good, groth16.ErrScalarRange},
		"a priority that is none":    {b.part, ProveOptions{Priority: 9, Device: AnyDevice}, ErrOption},
		"a device that is not there": {b.part, ProveOptions{Device: 7}, ErrNoDevice},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := b.Start(t.Context(), b.set, []Partition{b.part, c.bad}, c.opt)
			require.ErrorIs(t, err, c.want)
			require.Empty(t, s.begun)
		})
	}
}

// Start looks at every partition while its caller waits, so there are not too many.
func TestTooManyPartitionsAreRefused(t *testing.T) {
	b := newBench(t, Config{Providers: []backend.Provider{newScripted(backend.CPU, 1)}})
	parts := make([]Partition, MaxPartitions+1)
	_, err := b.Start(t.Context(), b.set, parts, any1())
	require.ErrorIs(t, err, groth16.ErrSize)
	require.ErrorContains(t, err, "4097 partitions, at most 4096")
}

// The blinding scalars stay nowhere, whatever becomes of a job: with them a proof
// tells sums over the witness.
func TestBlindingScalarsAreWiped(t *testing.T) {
	b := newBench(t, Config{Providers: []backend.Provider{newScripted(backend.CPU, 1)}})
	for name, outcome := range map[string]error{"proved": nil, "failed": errScripted, "cancelled": ErrCancelled} {
		j, err := b.newJob(t.Context(), b.set.set, []Partition{b.part}, any1())
		require.NoError(t, err)
		b.set.set.refs++ // the job's, which its end takes
		p := &partition{job: j, in: b.part}
		p.in.R.SetUint64(7)
		p.in.S.SetUint64(9)
		j.finish(p, Proof{}, outcome)
		require.True(t, p.in.R.IsZero() && p.in.S.IsZero(), name)
	}
}

// A point of the parameters outside the subgroup is no mistake of who proves.
func TestAPointOutsideTheSubgroupIsTheFiles(t *testing.T) {
	b := newBench(t, Config{Providers: []backend.Provider{newScripted(backend.CPU, 1)}})
	j := b.start(t, 1, any1())
	_, err := j.Wait(soon(t))
	require.NoError(t, err)
	proof := Proof{}
	proof.A.X.SetZero() // (0, 2) has order 3
	proof.A.Y.SetUint64(2)
	p := &partition{job: j, in: b.part, stages: new(stageTimes), device: b.all()[0]}
	err = p.selfCheck(b.set.set, &proof)
	require.ErrorIs(t, err, srs.ErrNotInSubgroup)
	require.NotErrorIs(t, err, groth16.ErrProofPoint)
}

func TestNilArgumentsAreRefused(t *testing.T) {
	b := newBench(t, Config{Providers: []backend.Provider{newScripted(backend.CPU, 1)}})
	_, err := b.Start(t.Context(), nil, []Partition{b.part}, any1())
	require.ErrorIs(t, err, ErrOption)
	require.ErrorIs(t, b.set.Verify(b.part.Assignment.Inputs, nil), ErrOption)
	require.EqualValues(t, 1, b.set.set.refs, "a refused call pins nothing")
}

func TestWaitersDoNotShareTheirProofs(t *testing.T) {
	b := newBench(t, Config{Providers: []backend.Provider{newScripted(backend.CPU, 1)}})
	j := b.start(t, 1, any1())
	first, err := j.Wait(soon(t))
	require.NoError(t, err)
	first[0] = Proof{}
	second, err := j.Wait(soon(t))
	require.NoError(t, err)
	require.NotEqual(t, first, second)
}

// Rows that a device has read may be read again until WaitRows has said that
// they are not read any more.
func TestRowsNeeded(t *testing.T) {
	s := newScripted(backend.CUDA, 1)
	hold := make(chan struct{})
	s.script = func(context.Context, *backend.Partition) error { <-hold; return nil }
	b := newBench(t, Config{Providers: []backend.Provider{s}})
	j := b.start(t, 2, any1())
	first, second := <-s.begun, <-s.begun
	unread := func() {
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		require.ErrorIs(t, j.WaitRows(ended), context.Canceled)
	}
	unread()
	require.True(t, first.RowsNeeded(), "they have not been read yet")
	first.RowsRead()
	first.RowsRead()
	unread()
	second.RowsRead()
	require.True(t, first.RowsNeeded())
	unread()
	require.True(t, second.RowsNeeded())
	second.RowsRead()
	unread()
	first.RowsRead()
	require.NoError(t, j.WaitRows(soon(t)))
	require.False(t, first.RowsNeeded())
	close(hold)
	_, err := j.Wait(soon(t))
	require.NoError(t, err)
	require.NoError(t, j.WaitRows(soon(t)))
}
