package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"github.com/libcuzk/libcuzk/engine/backend"
	"github.com/libcuzk/libcuzk/engine/groth16"
	"github.com/libcuzk/libcuzk/engine/srs"
)

// SRSOptions are the settings of OpenSRS.
type SRSOptions struct {
	CheckSubgroup bool // every point, not only the verifying key's; slow
	AllowTrailing bool // bytes after the last section, which bellperson ignores
}

// SRS is a user's reference to a parameter set. A set that is opened twice is in
// memory once. Retain and Release count the owners of an SRS; a new one has one.
type SRS struct {
	engine *Engine
	set    *paramSet

	mu   sync.Mutex
	refs int // guarded by mu; 0 means released
}

// SRSInfo are the facts of a parameter set.
type SRSInfo struct {
	DomainSize uint64 // m
	NumInputs  uint64 // with the leading one
	NumAux     uint64
	NumA       uint64 // points of the A query
	NumB       uint64 // points of the B query, in each group
	FileBytes  uint64 // of the set as a file
	PointBytes uint64 // of all points, in host or in device memory
}

// paramSet is one srs.Params with what the engine keeps beside it.
//
// Who uses a set is counted where it is used, each count under its own lock:
//
//	C handle       the owners of a cuzk_srs (package capi); together one owner of its SRS
//	SRS.refs       the owners of one SRS, which Go users retain and release
//	paramSet.refs  the SRS and jobs of one engine; with the last the set is closed
//	srs.Params     the engines that have the set and what reads its points; the
//	               last release frees the points and closes the file
//	vram.Set       its pins on one device: partitions that it may not be evicted under
//	host points    the devices that hold them, and the partitions that read them
type paramSet struct {
	engine *Engine
	params *srs.Params
	refs   int // guarded by engine.mu; of SRS and jobs

	mu     sync.Mutex
	loaded map[*device]backend.Device // guarded by mu; where Load succeeded

	key     func() (*groth16.PreparedKey, error)
	dropped sync.Once
}

// OpenSRS reads and checks a parameter file and makes it ready on the device
// that will use it. The path may be deleted as soon as this returns.
// Errors: those of package srs, of the device, ErrClosed.
func (e *Engine) OpenSRS(ctx context.Context, path string, opt SRSOptions) (*SRS, error) {
	p, err := srs.Open(path, srs.Options{SubgroupCheck: opt.CheckSubgroup, AllowTrailing: opt.AllowTrailing})
	if err != nil {
		return nil, err
	}
	return e.AddSRS(ctx, p)
}

// AddSRS makes an opened set ready as OpenSRS does. It takes over one reference
// to p, also when it fails. Errors: those of the device, of reading the points
// (package srs), ErrNoDevice, ErrClosed.
func (e *Engine) AddSRS(ctx context.Context, p *srs.Params) (*SRS, error) {
	if err := e.begin(); err != nil {
		return nil, errors.Join(err, p.Release())
	}
	defer e.ended.Done()
	set := e.adopt(p)
	if err := e.loadSomewhere(ctx, set); err != nil {
		set.release()
		return nil, err
	}
	return &SRS{engine: e, set: set, refs: 1}, nil
}

// loadSomewhere makes the set usable on the device that the next job would go
// to, or the next one if that cannot be opened, is lost or full. One that turns
// out to be gone or unusable is no such device.
func (e *Engine) loadSomewhere(ctx context.Context, set *paramSet) error {
	var tried []*device
	var failed error // of the first that was tried in vain
	for {
		d, err := e.chooseAny(tried)
		if err != nil {
			return cmp.Or(failed, err)
		}
		err = set.loadFirst(ctx, d)
		switch {
		case d.outOfUse(err):
		case !unwell(err) || ctx.Err() != nil:
			return err
		default:
			d.avoid(err)
			tried = append(tried, d)
			failed = cmp.Or(failed, err)
		}
	}
}

// adopt finds or makes the set of p and acquires it. The set holds one reference
// to p, however many SRS there are.
func (e *Engine) adopt(p *srs.Params) *paramSet {
	e.mu.Lock()
	defer e.mu.Unlock()
	set := e.sets[p]
	if set == nil {
		set = &paramSet{engine: e, params: p, loaded: map[*device]backend.Device{}}
		set.key = sync.OnceValues(func() (*groth16.PreparedKey, error) {
			return groth16.Prepare(p.VerifyingKey())
		})
		e.sets[p] = set
	} else if err := p.Release(); err != nil {
		e.log.Warn("parameter set shared twice", "error", err)
	}
	set.refs++
	return set
}

func (s *paramSet) preparedKey() (*groth16.PreparedKey, error) { return s.key() }

// loadFirst is loadOn before there is any job.
func (s *paramSet) loadFirst(ctx context.Context, d *device) error {
	dev, done, err := d.use(ctx)
	if err != nil {
		return err
	}
	defer done()
	return s.loadOn(ctx, d, dev)
}

// isLoadedOn reports whether the set has been loaded on dev, which is d opened.
func (s *paramSet) isLoadedOn(d *device, dev backend.Device) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.loaded[d] == dev
}

// loadOn makes the set usable on d, once.
func (s *paramSet) loadOn(ctx context.Context, d *device, dev backend.Device) error {
	if err := dev.Load(ctx, s.params); err != nil {
		return fmt.Errorf("engine: loading parameters on %s: %w", d.info.Name, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.loaded[d] = dev
	return nil
}

// release releases one reference; with the last one the set is closed.
func (s *paramSet) release() {
	e := s.engine
	e.mu.Lock()
	s.refs--
	last := s.refs == 0
	if last {
		delete(e.sets, s.params)
	}
	e.mu.Unlock()
	if last {
		s.drop()
	}
}

// drop evicts the set from every device and releases its host memory, once. It
// holds no lock meanwhile: unregistering 44 GiB of host memory takes time.
func (s *paramSet) drop() {
	s.dropped.Do(func() {
		s.mu.Lock()
		loaded := s.loaded
		s.loaded = nil
		s.mu.Unlock()
		for _, dev := range loaded {
			dev.Drop(s.params)
		}
		if err := s.params.Release(); err != nil {
			s.engine.log.Warn("freeing a parameter set", "error", err)
		}
	})
}

// dropAllSets drops the sets that still have an SRS when the engine closes. All
// jobs have ended. Calls that still hold a reference read the verifying key only.
func (e *Engine) dropAllSets() {
	e.mu.Lock()
	sets := e.sets
	e.sets = nil
	e.mu.Unlock()
	for _, set := range sets {
		set.drop()
	}
}

// acquire acquires the set for a job or call of engine e. Errors: ErrOption,
// ErrReleased, ErrClosed.
func (s *SRS) acquire(e *Engine) (*paramSet, error) {
	if s.engine != e {
		return nil, fmt.Errorf("%w: the parameter set was opened by another engine", ErrOption)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refs == 0 {
		return nil, errReleased
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil, errClosed
	}
	s.set.refs++
	return s.set, nil
}

// Retain adds an owner. Error: ErrReleased after the last Release.
func (s *SRS) Retain() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refs == 0 {
		return errReleased
	}
	s.refs++
	return nil
}

// Release takes an owner away. With the last one the SRS becomes invalid; jobs
// that were started keep the set until they end. Error: ErrReleased after the
// last one.
func (s *SRS) Release() error {
	s.mu.Lock()
	if s.refs == 0 {
		s.mu.Unlock()
		return errReleased
	}
	s.refs--
	last := s.refs == 0
	s.mu.Unlock()
	if last {
		s.set.release()
	}
	return nil
}

// Info returns the facts of the set. Error: ErrReleased.
func (s *SRS) Info() (SRSInfo, error) {
	set, err := s.acquire(s.engine)
	if err != nil {
		return SRSInfo{}, err
	}
	defer set.release()
	c := set.params.Counts()
	return SRSInfo{
		DomainSize: domainSize(c.H),
		NumInputs:  uint64(c.IC),
		NumAux:     uint64(c.L),
		NumA:       uint64(c.A),
		NumB:       uint64(c.BG1),
		FileBytes:  uint64(set.params.FileBytes()),
		PointBytes: uint64(set.params.PointBytes()),
	}, nil
}

// domainSize is the m that h points belong to: there are m-1 of them, or m
// where the setup kept the last one, which is never used. One point fits both
// m = 1 and m = 2; rows decide, and the larger is told.
func domainSize(h int) uint64 {
	if h > 1 && h&(h-1) == 0 {
		return uint64(h)
	}
	return uint64(h) + 1
}

// Verify checks a proof from anywhere against the set's verifying key. inputs
// includes the leading one. Errors: those of groth16.PreparedKey.Verify.
func (s *SRS) Verify(inputs []fr.Element, proof *Proof) error {
	if proof == nil {
		return fmt.Errorf("%w: the proof is nil", ErrOption)
	}
	set, err := s.acquire(s.engine)
	if err != nil {
		return err
	}
	defer set.release()
	key, err := set.preparedKey()
	if err != nil {
		return err
	}
	return key.Verify(inputs, proof)
}
