package sched

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/libcuzk/libcuzk/internal/vram"
	"github.com/stretchr/testify/require"
)

// randomJobs is how many jobs the random schedules run in all. The variable
// CUZK_SCHED_JOBS sets another number.
const randomJobs = 20_000

// jobsPerSchedule is how many share one device and one set of settings.
const jobsPerSchedule = 300

// TestRandomSchedules runs jobs of random sizes, priorities, cancels and
// failures through one device after another, with budgets from exactly one
// job up, while the number of workers changes, memory is given back, other
// processes take some, sets are made resident and dropped, and the device is
// lost now and then. The simulated device and the ledger's audit check the
// guarantees at every step; the virtual clock bounds every job.
func TestRandomSchedules(t *testing.T) {
	jobs := randomJobs
	if s := os.Getenv("CUZK_SCHED_JOBS"); s != "" {
		var err error
		jobs, err = strconv.Atoi(s)
		require.NoError(t, err, "CUZK_SCHED_JOBS")
	}
	var all tally
	for seed := range uint64(max(1, jobs/jobsPerSchedule)) {
		synctest.Test(t, func(t *testing.T) { newSchedule(t, seed).run(&all) })
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	all.report(t)
	// A test of what does not happen: each kind of end has to have occurred.
	for _, kind := range []string{"done", "cancelled", "failed", "panicked", "too large", "device lost", "cancelled in the queue"} {
		require.NotZero(t, all.ends[kind], kind)
	}
}

// tally is what became of all jobs.
type tally struct {
	mu    sync.Mutex
	ends  map[string]int
	waits [levels][]time.Duration // from Push to the worker, of jobs not cancelled
}

func (a *tally) end(kind string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.ends == nil {
		a.ends = map[string]int{}
	}
	a.ends[kind]++
}

func (a *tally) wait(p Priority, d time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.waits[p.level()] = append(a.waits[p.level()], d)
}

func (a *tally) report(t *testing.T) {
	t.Logf("ends: %v", a.ends)
	for l, w := range a.waits {
		if len(w) == 0 {
			continue
		}
		slices.Sort(w)
		t.Logf("%-8v %6d jobs waited for a worker: p50 %v, p99.9 %v, most %v (virtual)", Priority(l+1), len(w),
			w[len(w)/2].Round(time.Millisecond), w[len(w)*999/1000].Round(time.Millisecond), w[len(w)-1].Round(time.Millisecond))
	}
}

// schedule is one device with its random settings.
type schedule struct {
	*bench
	rng   *rand.Rand // guarded by mu
	mu    sync.Mutex
	sets  []*vram.Set
	needs []vram.Need
	lossy bool
}

func newSchedule(t *testing.T, seed uint64) *schedule {
	rng := rand.New(rand.NewPCG(7, seed))
	s := &schedule{rng: rng, lossy: rng.IntN(4) == 0}
	for i := range rng.IntN(4) {
		s.sets = append(s.sets, vram.NewSet(fmt.Sprintf("set %d", i), uint64(1+rng.IntN(20))*mib))
	}
	var least uint64 // the largest need in its cheaper tier
	for range 6 {
		n := s.randomNeed()
		s.needs = append(s.needs, n)
		peak := vram.Peak(n.Resident, 0)
		if n.Set != nil {
			peak = vram.Peak(n.Resident, n.Set.Bytes())
			if n.Streaming != nil {
				peak = min(peak, vram.Peak(n.Streaming, 0))
			}
		}
		least = max(least, peak)
	}
	budget := least
	if rng.IntN(3) > 0 {
		budget += uint64(rng.IntN(64)) * mib
	}
	s.bench = newBench(t, budget, func(c *Config) {
		c.Chunk = vram.Granule << rng.IntN(3)
		c.MemoryWait = time.Hour
		if rng.IntN(2) == 0 {
			c.IdleAfter = time.Duration(1+rng.IntN(200)) * time.Millisecond
		}
	})
	if s.lossy {
		s.dev.fault = func(string) error {
			if s.chance(4000) {
				return errSticky
			}
			return nil
		}
	}
	return s
}

// randomNeed is a job of three equal blocks and some scratch, of a size
// between 256 bytes and 8 MiB.
func (s *schedule) randomNeed() vram.Need {
	size := uint64(256) << s.rng.IntN(16)
	scratch := vram.Request{Bytes: 1 + s.rng.Uint64N(2*size), Exact: true}
	row := vram.Request{Bytes: size}
	n := vram.Need{Resident: []vram.Request{row, row, row, scratch}}
	if len(s.sets) > 0 && s.rng.IntN(3) > 0 {
		n.Set = s.sets[s.rng.IntN(len(s.sets))]
		if s.rng.IntN(4) > 0 {
			n.Streaming = append(slices.Clone(n.Resident), vram.Request{Bytes: 1 + s.rng.Uint64N(size), Exact: true})
		}
	}
	return n
}

func (s *schedule) chance(oneIn int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rng.IntN(oneIn) == 0
}

func (s *schedule) intN(n int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rng.IntN(n)
}

// queued is a job in the queue.
type queued struct {
	need     vram.Need
	priority Priority
	pushed   time.Time
	ctx      context.Context
	done     func()
}

// errOurs is how a random job fails.
var errOurs = errors.New("test: job fails")

func (s *schedule) run(all *tally) {
	queue := NewQueue[*queued]()
	var left sync.WaitGroup
	pool := NewPool(queue, func(c *Carried, q *queued) {
		all.wait(q.priority, time.Since(q.pushed))
		all.end(s.carry(c, q))
		q.done()
	})
	pool.SetWorkers(1 + s.intN(4))
	stop := make(chan struct{})
	var others sync.WaitGroup
	others.Go(func() { s.disturb(stop, pool) })

	for range jobsPerSchedule {
		s.push(queue, &left, all)
		if s.chance(3) {
			time.Sleep(time.Duration(s.intN(60)) * time.Millisecond)
		}
	}
	left.Wait()
	close(stop)
	others.Wait()
	pool.Close()
	require.Empty(s.t, queue.Close())
	s.dev.mu.Lock() // a load may go on
	s.dev.fault = nil
	s.dev.mu.Unlock()
	if s.Lost() != nil {
		require.NoError(s.t, s.renew())
	}
	s.close()
	require.LessOrEqual(s.t, s.dev.maxUsed, s.ledger.Bytes())
}

// push queues one job and may cancel it, then or later.
func (s *schedule) push(queue *Queue[*queued], left *sync.WaitGroup, all *tally) {
	ctx, cancel := context.WithCancel(context.Background())
	n := s.needs[s.intN(len(s.needs))]
	if s.chance(100) {
		n = vram.Need{Resident: []vram.Request{{Bytes: s.ledger.Bytes() + 1}}}
	}
	left.Add(1)
	q := &queued{need: n, priority: Priority(1 + s.intN(levels)), pushed: time.Now(), ctx: ctx,
		done: func() { cancel(); left.Done() }}
	e, err := queue.Push(q, q.priority)
	require.NoError(s.t, err)
	switch {
	case s.chance(50):
		if queue.Remove(e) {
			all.end("cancelled in the queue")
			q.done()
		}
	case s.chance(10):
		time.AfterFunc(time.Duration(s.intN(200_000))*time.Microsecond, cancel)
	}
}

// carry runs one job and names its end. A job may take an hour of virtual
// time; none comes near it unless something waits for ever.
func (s *schedule) carry(c *Carried, q *queued) string {
	ctx, cancel := context.WithTimeoutCause(q.ctx, time.Hour, errors.New("test: job takes an hour"))
	defer cancel()
	w := s.randomJob().work()
	w.Fill = s.fill
	w.Park = func(wait func() error) error { return c.Park(ctx, wait) }
	err := s.Run(ctx, q.need, w)
	var tooLarge *vram.TooLargeError
	switch {
	case err == nil:
		return "done"
	case errors.Is(err, ErrDeviceLost):
		if err := s.renew(); err != nil {
			s.t.Errorf("recover: %v", err)
		}
		return "device lost"
	case errors.As(err, &tooLarge):
		return "too large"
	case errors.Is(err, errOurs):
		return "failed"
	case errors.Is(err, context.Canceled):
		return "cancelled"
	case strings.HasPrefix(err.Error(), "BUG") && strings.Contains(err.Error(), "test: panics"):
		return "panicked"
	}
	s.t.Errorf("unexpected end: %v", err)
	return "unexpected"
}

// randomJob has random times, and may fail or panic at a random place.
func (s *schedule) randomJob() simJob {
	ms := func(n int) time.Duration { return time.Duration(s.intN(n*1000)) * time.Microsecond }
	j := simJob{dev: s.dev, copyTime: ms(20), product: ms(20), subtract: ms(10), lasts: ms(50), tiles: s.intN(6), tileTime: ms(5)}
	if !s.chance(8) {
		return j
	}
	countdown, panics := s.intN(20), s.chance(3)
	j.fail = func(at string) error {
		s.mu.Lock()
		defer s.mu.Unlock()
		countdown--
		if countdown != 0 {
			return nil
		}
		if panics {
			panic("test: panics at " + at)
		}
		return fmt.Errorf("%w at %s", errOurs, at)
	}
	return j
}

// renew makes a lost device usable again.
func (s *schedule) renew() error {
	return s.Recover(context.Background(), func() (Device, error) {
		s.dev.reset()
		return s.dev, nil
	})
}

// disturb does to a device what happens to it beside jobs.
func (s *schedule) disturb(stop chan struct{}, pool *Pool[*queued]) {
	for {
		select {
		case <-stop:
			s.dev.steal(0)
			return
		case <-time.After(time.Duration(1+s.intN(100)) * time.Millisecond):
		}
		switch s.intN(6) {
		case 0:
			pool.SetWorkers(1 + s.intN(4))
		case 1:
			s.expect(s.Trim())
		case 2:
			s.dev.steal(s.rngBytes(s.ledger.Bytes()))
		case 3:
			s.dev.steal(0)
		case 4:
			if len(s.sets) > 0 {
				s.Evict(s.sets[s.intN(len(s.sets))])
			}
		case 5:
			s.loadOne()
		}
	}
}

func (s *schedule) rngBytes(n uint64) uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rng.Uint64N(n)
}

// loadOne loads a random set, fails half way, or is cancelled.
func (s *schedule) loadOne() {
	n := s.needs[s.intN(len(s.needs))]
	if n.Set == nil || n.Resident == nil {
		return
	}
	ctx, cancel := context.WithTimeoutCause(context.Background(), time.Duration(s.intN(100))*time.Millisecond, errOurs)
	defer cancel()
	s.expect(s.Load(ctx, n, s.fill))
}

// fill loads a set in a random time, and may fail or panic between pieces.
func (s *schedule) fill(ctx context.Context, l *Loading) error {
	fails, pieces := -1, 1+s.intN(8)
	if s.chance(8) {
		fails = s.intN(pieces)
	}
	for i := range pieces {
		if i == fails && s.chance(3) {
			panic("test: panics between pieces")
		}
		if i == fails {
			return errOurs
		}
		err := l.Enqueue(ctx, func() error {
			return s.dev.work(-1, Load, time.Duration(s.intN(20_000))*time.Microsecond, true, l.Block())
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// expect takes the errors that random trouble may cause.
func (s *schedule) expect(err error) {
	for _, ok := range []error{nil, ErrNoMemory, ErrDeviceLost, errOurs} {
		if err == ok || ok != nil && errors.Is(err, ok) {
			return
		}
	}
	var tooLarge *vram.TooLargeError
	if errors.As(err, &tooLarge) || strings.Contains(err.Error(), "test: panics") {
		return
	}
	s.t.Errorf("unexpected: %v", err)
}
