package main

import (
	"context"
	"errors"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libcuzk/libcuzk/engine"
	"github.com/libcuzk/libcuzk/engine/groth16"
	"github.com/libcuzk/libcuzk/internal/circuits/gv"
)

const (
	hammerThreads = 16
	hammerRounds  = 12
)

// What many threads of a caller do at once: open through the cache and beside
// it, start, wait with and without patience, cancel, release while others
// wait, evict. For the race detector; tests/c does the same from C.
func TestHammer(t *testing.T) {
	file, err := gv.Read(filepath.Join(goldenDir, "two.gv"))
	require.NoError(t, err)
	var all sync.WaitGroup
	for thread := range hammerThreads {
		proof := guarded(t, make([]groth16.Proof, 1), 1)
		all.Go(func() {
			for round := range hammerRounds {
				if err := hammer(file, proof, thread+round); !assert.NoError(t, err) {
					return
				}
			}
		})
	}
	all.Wait()
	require.NoError(t, suprasealSets.evict(filepath.Join(goldenDir, "two.params")))
	assert.Len(t, jobHandles.free, len(jobHandles.slots), "every handle was given back")
	assert.Len(t, srsHandles.free, len(srsHandles.slots), "every handle was given back")
}

func hammer(file *gv.File, proof *groth16.Proof, variant int) error {
	path := filepath.Join(goldenDir, "two.params")
	open := suprasealSets.open
	if variant%3 == 0 {
		open = func(path string) (uint64, error) { return openSRS(path, engine.SRSOptions{}) }
	}
	h, err := open(path)
	if err != nil {
		return err
	}
	set, err := srsHandles.get(h)
	if err != nil {
		return err
	}
	j, err := startJob(set, []engine.Partition{{Assignment: &file.Assignment, R: file.R, S: file.S}}, engine.DefaultProveOptions())
	if err != nil {
		return err
	}
	jh := jobHandles.add(j)
	if variant%4 == 1 {
		if err := suprasealSets.evict(path); err != nil {
			return err
		}
	}
	if err := releaseSRS(h); err != nil {
		return err
	}
	err = useJob(jh, proof, file.Proof, variant)
	last, _, releaseErr := jobHandles.release(jh)
	if last != nil {
		last.cancelAndWait()
	}
	return errors.Join(err, releaseErr)
}

// useJob has the job's proof written to proof, which is guarded memory.
func useJob(h uint64, proof, want *groth16.Proof, variant int) error {
	j, err := jobHandles.get(h)
	if err != nil {
		return err
	}
	out := addressOf(proof)
	if variant%5 == 2 {
		j.Cancel()
	}
	err = withTimeout(uint64(variant%2), func(ctx context.Context) error { return j.wait(ctx, out) })
	if errors.Is(err, errTimeout) {
		err = j.wait(context.Background(), out)
	}
	switch {
	case variant%5 == 2 && errors.Is(err, engine.ErrCancelled):
		return nil
	case err != nil:
		return err
	case *proof != *want:
		return errors.New("not the expected proof")
	}
	return nil
}
