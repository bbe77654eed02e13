package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"golang.org/x/sync/errgroup"

	"github.com/libcuzk/libcuzk/engine"
	"github.com/libcuzk/libcuzk/engine/backend"
	"github.com/libcuzk/libcuzk/engine/timeline"
	"github.com/libcuzk/libcuzk/internal/circuits/synth"
)

// benchCase is one circuit.
type benchCase struct {
	log    int
	like   string
	device backend.Info

	circuit *synth.Circuit
	engine  *engine.Engine
	srs     *engine.SRS
}

// run makes the circuit and its parameters, proves it with each number of
// workers, and adds a row for each to the table.
func (c *benchCase) run(ctx context.Context, p backend.Provider, req *request, out *table, log io.Writer) (err error) {
	start := time.Now()
	if c.circuit, err = synth.New(shapes[c.like](c.log), req.seed); err != nil {
		return err
	}
	a := c.circuit.Assignment()
	fmt.Fprintf(log, "2^%d %s: %d rows, %d inputs, %d aux (%.1f s)\n", c.log, c.like, len(a.A), len(a.Inputs), len(a.Aux), time.Since(start).Seconds())
	params, err := makeParameters(ctx, c.circuit, c.device, log)
	if err != nil {
		return err
	}
	debug.FreeOSMemory() // the exponents were as large as the witness
	// Last, when the engine has let go of the set.
	defer params.free()
	// An engine for each circuit: the card's memory is free for the
	// parameters of the next.
	if c.engine, err = engine.New(engine.Config{Providers: []backend.Provider{p}}); err != nil {
		return errors.Join(err, params.Release())
	}
	defer func() { err = errors.Join(err, c.engine.Close()) }()
	start = time.Now()
	if c.srs, err = c.engine.AddSRS(ctx, params.Params); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.srs.Release()) }()
	fmt.Fprintf(log, "parameters made ready on the device: %.2f s\n", time.Since(start).Seconds())
	for _, workers := range req.workers {
		m, err := c.measure(ctx, workers, req)
		if err != nil {
			return fmt.Errorf("%d workers: %w", workers, err)
		}
		out.add(c, m)
	}
	return nil
}

// measurement is what one number of workers gave.
type measurement struct {
	workers int
	wall    time.Duration
	calls   []time.Duration
	stages  map[string]float64 // seconds, over all calls
}

// measure keeps as many calls under way as there are workers.
func (c *benchCase) measure(ctx context.Context, workers int, req *request) (m *measurement, err error) {
	if err := c.engine.SetWorkers(workers); err != nil {
		return nil, err
	}
	// One call a worker first, so that memory is mapped and pinned.
	if _, err := c.calls(ctx, workers, workers); err != nil {
		return nil, err
	}
	if req.timelines != "" {
		name := fmt.Sprintf("%s-%d-%d.json", c.like, c.log, workers)
		if err := timeline.Start(filepath.Join(req.timelines, name)); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, timeline.Stop()) }()
	}
	return c.calls(ctx, workers, req.partitions)
}

func (c *benchCase) calls(ctx context.Context, workers, n int) (*measurement, error) {
	m := &measurement{workers: workers, calls: make([]time.Duration, n), stages: map[string]float64{}}
	proofs := make([]engine.Proof, n)
	var next atomic.Int64
	var mu sync.Mutex // guards m.stages
	group, callCtx := errgroup.WithContext(ctx)
	start := time.Now()
	for range min(workers, n) {
		group.Go(func() error {
			for {
				i := int(next.Add(1)) - 1
				if i >= n {
					return nil
				}
				began := time.Now()
				job, err := c.engine.Start(callCtx, c.srs, []engine.Partition{c.partition(i)}, engine.DefaultProveOptions())
				if err != nil {
					return err
				}
				// The job stops by itself when callCtx ends.
				done, err := job.Wait(context.WithoutCancel(callCtx))
				if err != nil {
					return fmt.Errorf("call %d: %w", i, err)
				}
				m.calls[i], proofs[i] = time.Since(began), done[0]
				mu.Lock()
				for name, seconds := range job.Stages(0) {
					m.stages[name] += seconds
				}
				mu.Unlock()
			}
		})
	}
	err := group.Wait()
	m.wall = time.Since(start)
	if err == nil {
		err = c.check(proofs)
	}
	return m, err
}

// partition is the circuit's, with other blinding scalars for each call.
func (c *benchCase) partition(i int) engine.Partition {
	r, s := c.circuit.Blinding()
	step := fr.NewElement(uint64(i))
	r.Add(&r, &step)
	s.Sub(&s, &step)
	return engine.Partition{Assignment: c.circuit.Assignment(), R: r, S: s}
}

// check verifies every proof by pairing and compares it with the expected one.
func (c *benchCase) check(proofs []engine.Proof) error {
	var group errgroup.Group
	group.SetLimit(checksAtOnce)
	for i := range proofs {
		group.Go(func() error {
			if err := c.srs.Verify(c.circuit.Assignment().Inputs, &proofs[i]); err != nil {
				return fmt.Errorf("proof %d does not verify: %w", i, err)
			}
			p := c.partition(i)
			if proofs[i] != c.circuit.ExpectedProof(p.R, p.S) {
				return fmt.Errorf("proof %d verifies and is not the expected one", i)
			}
			return nil
		})
	}
	return group.Wait()
}

// checksAtOnce: checking is not measured, and a few cores are enough.
const checksAtOnce = 8
