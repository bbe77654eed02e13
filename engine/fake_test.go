package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	bls "github.com/consensys/gnark-crypto/ecc/bls12-381"

	"github.com/libcuzk/libcuzk/engine/backend"
	"github.com/libcuzk/libcuzk/engine/groth16"
	"github.com/libcuzk/libcuzk/engine/srs"
)

// scripted is a back end whose devices do what a test says: each Prove is
// announced on begun and then runs script. Its sums are those of no circuit,
// so tests that use it skip the self-check or expect it to fail.
type scripted struct {
	name      string
	infos     []backend.Info
	listErr   error
	openErr   error
	opening   func() error            // called by Open if openErr is nil; nil: nothing
	refusing  func(ordinal int) error // called by Open before those; nil: nothing
	loadErr   error
	script    func(ctx context.Context, t *backend.Partition) error
	losing    func(ordinal int) bool  // devices that are lost under a partition once it has been read; nil: none
	taking    func(ordinal int) error // called with each partition, before it is read; nil: nothing
	dropping  func()                  // called by Drop; nil: nothing
	begun     chan *backend.Partition
	loads     atomic.Int64
	drops     atomic.Int64
	closes    atomic.Int64
	running   atomic.Int64
	mostAtOne atomic.Int64
	opens     sync.Map // ordinal → times opened
}

func newScripted(name string, devices int) *scripted {
	s := &scripted{name: name, begun: make(chan *backend.Partition, 1024)}
	for i := range devices {
		s.infos = append(s.infos, backend.Info{Backend: name, Ordinal: i, Name: name + " device"})
	}
	s.script = func(context.Context, *backend.Partition) error { return nil }
	return s
}

func (s *scripted) Name() string                     { return s.name }
func (s *scripted) Devices() ([]backend.Info, error) { return s.infos, s.listErr }

func (s *scripted) Open(ordinal int) (backend.Device, error) {
	if s.refusing != nil {
		if err := s.refusing(ordinal); err != nil {
			return nil, err
		}
	}
	if s.openErr != nil {
		return nil, s.openErr
	}
	if s.opening != nil {
		if err := s.opening(); err != nil {
			return nil, err
		}
	}
	times, _ := s.opens.LoadOrStore(ordinal, new(atomic.Int64))
	times.(*atomic.Int64).Add(1)
	return &scriptedDevice{s, ordinal}, nil
}

type scriptedDevice struct {
	*scripted
	ordinal int
}

func (d *scriptedDevice) Info() backend.Info { return d.infos[d.ordinal] }

func (d *scriptedDevice) Load(context.Context, *srs.Params) error {
	d.loads.Add(1)
	return d.loadErr
}

func (d *scriptedDevice) Drop(*srs.Params) {
	d.drops.Add(1)
	if d.dropping != nil {
		d.dropping()
	}
}

func (d *scriptedDevice) Close() error {
	d.closes.Add(1)
	return nil
}

func (d *scriptedDevice) Prove(ctx context.Context, t *backend.Partition) (*groth16.Sums, error) {
	now := d.running.Add(1)
	defer d.running.Add(-1)
	for {
		most := d.mostAtOne.Load()
		if now <= most || d.mostAtOne.CompareAndSwap(most, now) {
			break
		}
	}
	d.begun <- t
	if d.taking != nil {
		if err := d.taking(d.ordinal); err != nil {
			return nil, err
		}
	}
	if d.losing != nil {
		t.RowsRead()
		if d.losing(d.ordinal) {
			return nil, fmt.Errorf("%w: %w", ErrDeviceLost, errScripted)
		}
	}
	if err := d.script(ctx, t); err != nil {
		return nil, err
	}
	g1, g2, _, _ := bls.Generators()
	return &groth16.Sums{H: g1, L: g1, A: g1, B1: g1, B2: g2}, nil
}

// untilCancelled is a script that computes until its context ends.
func untilCancelled(ctx context.Context, _ *backend.Partition) error {
	<-ctx.Done()
	return ctx.Err()
}

var errScripted = errors.New("scripted failure")
