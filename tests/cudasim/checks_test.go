//go:build linux && (amd64 || arm64)

package cudasim

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libcuzk/libcuzk/cuda/driver"
)

const illegalAddress, launchFailed = driver.Result(700), driver.Result(719)

// Each test below plants one fault and sees it found; what has no fault beside it must pass.

func TestGlobalMemoryAccesses(t *testing.T) {
	const n = 100 // elements of four bytes
	for name, test := range map[string]struct {
		args  pokeArgs // P and Result are filled in
		other driver.DevicePtr
		kind  string
		code  driver.Result
		parts []string
	}{
		"the last element is inside":                        {args: pokeArgs{Index: n - 1}},
		"the last element is inside, raw":                   {args: pokeArgs{Index: n - 1, Raw: 1}},
		"a write to the last element":                       {args: pokeArgs{Index: n - 1, Write: 1}},
		"a read past the end":                               {args: pokeArgs{Index: n}, kind: KindBounds, code: illegalAddress, parts: []string{"read of 4 bytes", "byte 400 of an allocation of 400"}},
		"a raw read past the end":                           {args: pokeArgs{Index: n, Raw: 1}, kind: KindBounds, code: illegalAddress, parts: []string{"read of 4 bytes", "selftest_poke", "thread 0"}},
		"a write past the end":                              {args: pokeArgs{Index: n, Write: 1}, kind: KindBounds, code: illegalAddress, parts: []string{"write of 4 bytes"}},
		"a raw write past the end":                          {args: pokeArgs{Index: n, Write: 1, Raw: 1}, kind: KindBounds, code: illegalAddress, parts: []string{"write of 4 bytes"}},
		"a write far away":                                  {args: pokeArgs{Index: 1 << 30, Write: 1}, kind: KindBounds, code: illegalAddress, parts: []string{"nothing is there"}},
		"a write before the beginning, into the device's 0": {args: pokeArgs{Index: 1<<62 - 1<<30, Write: 1}, kind: KindBounds, code: illegalAddress},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, Config{})
			test.args.P, test.args.Result = l.zeroed(4*n), l.alloc(4)
			require.NoError(t, launch(l, l.a, "selftest_poke", 32, 32, &test.args, 0))
			err := l.settle()
			if test.kind == "" {
				require.NoError(t, err)
				return
			}
			assert.True(t, driver.Is(err, test.code), "%v", err)
			l.requireFound(test.kind, test.parts...)
			assert.True(t, driver.Is(l.settle(), test.code), "the context stays broken")
		})
	}
}

func TestReadsOfBytesNeverWritten(t *testing.T) {
	for name, raw := range map[string]uint32{"through an accessor": 0, "raw": 1} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, Config{})
			p, result := l.alloc(64), l.alloc(4)
			require.NoError(t, launch(l, l.a, "selftest_poke", 32, 32, &pokeArgs{P: p, Index: 3, Write: 1}, 0))
			require.NoError(t, launch(l, l.a, "selftest_poke", 32, 32, &pokeArgs{P: p, Result: result, Index: 3, Raw: raw}, 0))
			require.NoError(t, l.settle())
			require.Empty(t, l.sim.Report().Violations)
			require.NoError(t, launch(l, l.a, "selftest_poke", 32, 32, &pokeArgs{P: p, Result: result, Index: 4, Raw: raw}, 0))
			require.NoError(t, l.settle())
			l.requireFound(KindUnwritten, "byte 16 of an allocation of 64")
		})
	}
	t.Run("a download", func(t *testing.T) {
		l := newLab(t, Config{})
		p, host := l.alloc(64), l.pinned(64)
		l.must(func(b *driver.Bound) error {
			if err := b.Fill(p, 1, 63, l.a); err != nil {
				return err
			}
			return b.CopyToHost(host, p, l.a)
		})
		require.NoError(t, l.settle())
		l.requireFound(KindUnwritten, "download of 64 bytes", "byte 63 of an allocation of 64")
	})
}

func TestHostMemoryInKernels(t *testing.T) {
	l := newLab(t, Config{})
	host := l.pinned(64)
	clear(host)
	result := l.alloc(4)
	require.NoError(t, launch(l, l.a, "selftest_poke", 32, 32, &pokeArgs{P: hostAddress(host), Result: result, Index: 15}, 0))
	require.NoError(t, l.settle(), "pinned memory may be read")
	pageable := make([]byte, 64)
	require.NoError(t, launch(l, l.a, "selftest_poke", 32, 32, &pokeArgs{P: hostAddress(pageable), Result: result}, 0))
	assert.True(t, driver.Is(l.settle(), illegalAddress))
	l.requireFound(KindBounds, "host memory that is not pinned")
}

func TestMemoryOfAnotherDevice(t *testing.T) {
	l := newLab(t, Config{Devices: 2})
	other := newContext(t, 1)
	var far driver.DevicePtr
	require.NoError(t, other.Main().Do(func(b *driver.Bound) (err error) {
		far, err = b.MemAlloc(64)
		return err
	}))
	require.NoError(t, launch(l, l.a, "selftest_poke", 32, 32, &pokeArgs{P: far, Write: 1}, 0))
	assert.True(t, driver.Is(l.settle(), illegalAddress))
	l.requireFound(KindBounds, "on device 1")
	require.NoError(t, other.Main().Do(func(b *driver.Bound) error { return b.MemFreeDeviceWide(far) }))
}

func TestDeclaredRanges(t *testing.T) {
	const n = 64
	declare := func(args *addArgs, sumMode driver.Access, aBytes uint64) []driver.Range {
		return []driver.Range{
			{Base: args.Sum, Bytes: 4 * n, Mode: sumMode},
			{Base: args.A, Bytes: aBytes, Mode: driver.Read},
			{Base: args.B, Bytes: 4 * n, Mode: driver.Read},
		}
	}
	for name, test := range map[string]struct {
		sumMode driver.Access
		aBytes  uint64
		parts   []string
	}{
		"what is touched is declared":              {sumMode: driver.Write, aBytes: 4 * n},
		"more is declared than touched":            {sumMode: driver.ReadWrite, aBytes: 4 * n},
		"one element less is declared":             {sumMode: driver.Write, aBytes: 4*n - 4, parts: []string{"read of 4 bytes", "byte 252 of an allocation of 256"}},
		"a write is declared as no more than read": {sumMode: driver.Read, aBytes: 4 * n, parts: []string{"write of 4 bytes"}},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, Config{Declared: true})
			args := &addArgs{Sum: l.alloc(4 * n), A: l.zeroed(4 * n), B: l.zeroed(4 * n), N: n}
			require.NoError(t, launch(l, l.a, "selftest_add", n, 32, args, 0, declare(args, test.sumMode, test.aBytes)...))
			require.NoError(t, l.settle())
			if test.parts != nil {
				l.requireFound(KindUndeclared, test.parts...)
			}
		})
	}
	t.Run("nothing is declared where it must be", func(t *testing.T) {
		l := newLab(t, Config{Declared: true})
		require.NoError(t, launch(l, l.a, "selftest_poke", 32, 32, &pokeArgs{P: l.alloc(4), Write: 1}, 0))
		require.NoError(t, l.settle())
		l.requireFound(KindUndeclared, "declares no ranges")
	})
}

func TestOrderBetweenStreams(t *testing.T) {
	for name, test := range map[string]struct {
		between func(l *lab) // after the write on stream a, before the read on stream b
		found   bool
	}{
		"an event and a wait": {between: func(l *lab) { l.wait(l.b, l.event(l.a)) }},
		"the host has seen the event": {between: func(l *lab) {
			e := l.event(l.a)
			l.must(func(b *driver.Bound) error {
				for {
					if done, err := b.Done(e); done || err != nil {
						return err
					}
				}
			})
		}},
		"the host has waited for the stream": {between: func(l *lab) { l.must(func(b *driver.Bound) error { return b.Synchronize(l.a) }) }},
		"nothing":                            {found: true, between: func(*lab) {}},
		"an event that nobody waits for":     {found: true, between: func(l *lab) { l.event(l.a) }},
		"a wait for an event recorded too early": {found: true, between: func(l *lab) {
			l.wait(l.b, l.event(l.b))
		}},
		"it ran, but nobody knew": {found: true, between: func(l *lab) { l.sim.Run(100) }},
		"the wait on the wrong stream": {found: true, between: func(l *lab) {
			l.wait(l.a, l.event(l.a))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, Config{})
			p, result := l.zeroed(64), l.alloc(4)
			require.NoError(t, launch(l, l.a, "selftest_poke", 32, 32, &pokeArgs{P: p, Write: 1}, 0))
			test.between(l)
			require.NoError(t, launch(l, l.b, "selftest_poke", 32, 32, &pokeArgs{P: p, Result: result}, 0))
			require.NoError(t, l.settle())
			if test.found {
				l.requireFound(KindOrder, "selftest_poke", "not ordered after")
			}
		})
	}
}

func TestOrderOfWritesAfterReads(t *testing.T) {
	for name, test := range map[string]struct {
		waits int // for how many of the two readers the writer waits
		found bool
	}{
		"the writer waits for both readers":   {waits: 2},
		"the writer waits for one of them":    {waits: 1, found: true},
		"the writer waits for neither reader": {waits: 0, found: true},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, Config{})
			p := l.zeroed(64)
			var c driver.Stream
			l.must(func(b *driver.Bound) (err error) {
				c, err = b.NewStream()
				return err
			})
			for i, s := range []driver.Stream{l.a, c} {
				require.NoError(t, launch(l, s, "selftest_poke", 32, 32, &pokeArgs{P: p, Result: l.alloc(4)}, 0))
				if e := l.event(s); i < test.waits {
					l.wait(l.b, e)
				}
			}
			l.must(func(b *driver.Bound) error { return b.Fill(p, 1, 64, l.b) })
			require.NoError(t, l.settle())
			l.must(func(b *driver.Bound) error { return b.Synchronize(c) })
			if test.found {
				assert.NotEmpty(t, l.messages(KindOrder))
				l.sim.Expect(KindOrder)
			}
		})
	}
}

func TestAWaitForAnEventNeverRecordedIsNoWait(t *testing.T) {
	l := newLab(t, Config{})
	var e driver.Event
	l.must(func(b *driver.Bound) (err error) {
		e, err = b.NewEvent()
		return err
	})
	l.wait(l.a, e)
	assert.EqualValues(t, 1, l.sim.Report().UnrecordedWaits)
	p := l.alloc(64)
	l.must(func(b *driver.Bound) error { return b.Fill(p, 0, 64, l.a) })
	l.must(func(b *driver.Bound) error { return b.Record(e, l.b) })
	require.NoError(t, l.settle(), "the stream does not wait for the later record")
}

func TestBlocksOfMemoryGoFromJobToJob(t *testing.T) {
	const bytes = 64
	fill := func(l *lab, p driver.DevicePtr, owner uint64) {
		l.must(func(b *driver.Bound) error {
			b.For(owner)
			return b.Fill(p, 1, bytes, l.a)
		})
	}
	for name, test := range map[string]struct {
		steps func(l *lab, p driver.DevicePtr)
		parts []string
		kind  string
	}{
		"claimed, used, handed on, claimed, used": {steps: func(l *lab, p driver.DevicePtr) {
			for owner := uint64(1); owner <= 2; owner++ {
				l.note(driver.NoteClaim, owner, p, bytes)
				fill(l, p, owner)
				l.note(driver.NoteHandOn, owner, p, bytes)
			}
		}},
		"used after hand-on": {kind: KindHandedOn, parts: []string{"job 1", "after job 1 handed them on"}, steps: func(l *lab, p driver.DevicePtr) {
			l.note(driver.NoteClaim, 1, p, bytes)
			l.note(driver.NoteHandOn, 1, p, bytes)
			fill(l, p, 1)
		}},
		"used by nobody in particular": {kind: KindHandedOn, parts: []string{"which job 1 holds"}, steps: func(l *lab, p driver.DevicePtr) {
			l.note(driver.NoteClaim, 1, p, bytes)
			fill(l, p, 0)
		}},
		"used by another job": {kind: KindHandedOn, parts: []string{"job 2", "which job 1 holds"}, steps: func(l *lab, p driver.DevicePtr) {
			l.note(driver.NoteClaim, 1, p, bytes)
			fill(l, p, 2)
		}},
		"claimed while held: the first job must not go on": {kind: KindHandedOn, parts: []string{"job 1 uses", "which job 2 holds"}, steps: func(l *lab, p driver.DevicePtr) {
			l.note(driver.NoteClaim, 1, p, bytes)
			fill(l, p, 1)
			l.note(driver.NoteClaim, 2, p, bytes)
			fill(l, p, 1)
		}},
		"handed on twice": {kind: KindHandedOn, parts: []string{"was handed on by job 1"}, steps: func(l *lab, p driver.DevicePtr) {
			l.note(driver.NoteClaim, 1, p, bytes)
			l.note(driver.NoteHandOn, 1, p, bytes)
			l.note(driver.NoteHandOn, 1, p, bytes)
		}},
		"more handed on than held": {kind: KindHandedOn, parts: []string{"it holds 32 bytes"}, steps: func(l *lab, p driver.DevicePtr) {
			l.note(driver.NoteClaim, 1, p, bytes/2)
			l.note(driver.NoteHandOn, 1, p, bytes)
		}},
		"the earlier job's bytes count as never written": {kind: KindUnwritten, steps: func(l *lab, p driver.DevicePtr) {
			l.note(driver.NoteClaim, 1, p, bytes)
			fill(l, p, 1)
			l.note(driver.NoteHandOn, 1, p, bytes)
			l.note(driver.NoteClaim, 2, p, bytes)
			result := l.alloc(4)
			require.NoError(t, launch(l, l.a, "selftest_poke", 32, 32, &pokeArgs{P: p, Result: result}, 2,
				driver.Range{Base: p, Bytes: bytes, Mode: driver.Read}, driver.Range{Base: result, Bytes: 4, Mode: driver.Write}))
		}},
		"the next job before the fence": {kind: KindOrder, steps: func(l *lab, p driver.DevicePtr) {
			l.note(driver.NoteClaim, 1, p, bytes)
			fill(l, p, 1)
			l.note(driver.NoteHandOn, 1, p, bytes)
			l.note(driver.NoteClaim, 2, p, bytes)
			l.must(func(b *driver.Bound) error {
				b.For(2)
				return b.Fill(p, 2, bytes, l.b)
			})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, Config{})
			test.steps(l, l.alloc(bytes))
			require.NoError(t, l.settle())
			if test.kind != "" {
				l.requireFound(test.kind, test.parts...)
			}
		})
	}
}

func TestSharedMemoryAndBarriers(t *testing.T) {
	const noBarrier, halfAtBarrier, outside, unwritten = 1, 2, 3, 4
	for name, test := range map[string]struct {
		args  reverseArgs
		kind  string
		code  driver.Result
		parts []string
	}{
		"no barrier between write and read": {args: reverseArgs{Fault: noBarrier}, kind: KindSharedRace, parts: []string{"no barrier between"}},
		"half of the threads go elsewhere":  {args: reverseArgs{Fault: halfAtBarrier}, kind: KindBarrier, code: launchFailed, parts: []string{"32 wait at a barrier and 32 in a warp exchange"}},
		"one element past the array":        {args: reverseArgs{Fault: outside}, kind: KindBounds, code: illegalAddress, parts: []string{"outside the block's shared arrays", "thread 5"}},
		"an element that nobody wrote":      {args: reverseArgs{Fault: unwritten}, kind: KindUnwritten, parts: []string{"never written in this block, at byte 36"}},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, Config{})
			test.args.P = l.zeroed(4 * 64)
			require.NoError(t, launch(l, l.a, "selftest_reverse", 64, 64, &test.args, 0))
			err := l.settle()
			if test.code != 0 {
				assert.True(t, driver.Is(err, test.code), "%v", err)
			} else {
				assert.NoError(t, err)
			}
			l.requireFound(test.kind, test.parts...)
		})
	}
	t.Run("a warp exchange with a lane gone", func(t *testing.T) {
		l := newLab(t, Config{})
		require.NoError(t, launch(l, l.a, "selftest_vote", 32, 32, &voteArgs{Ballots: l.alloc(4), Leave: 1}, 0))
		assert.True(t, driver.Is(l.settle(), launchFailed))
		l.requireFound(KindBarrier, "31 in a warp exchange, 1 have returned")
	})
	t.Run("a count without atomics", func(t *testing.T) {
		l := newLab(t, Config{})
		p, counts := l.zeroed(4*128), l.zeroed(64)
		require.NoError(t, launch(l, l.a, "selftest_histogram", 128, 128, &histogramArgs{P: p, Counts: counts, N: 128}, 0))
		require.NoError(t, l.settle())
		l.requireFound(KindSharedRace, "selftest_histogram")
	})
}

func TestRacesOnGlobalMemory(t *testing.T) {
	const writeOwn, writeSame, readNeighbour, readAfterBarrier, readOtherBlock, readAfterExchange, count, countAndRead = 0, 1, 2, 3, 4, 5, 6, 7
	const n = 256
	for name, test := range map[string]struct {
		how  uint32
		part string
	}{
		"each thread writes its own word":        {how: writeOwn},
		"a neighbour's word, behind a barrier":   {how: readAfterBarrier},
		"a neighbour's word, behind an exchange": {how: readAfterExchange},
		"all add atomically":                     {how: count},
		"all write one word":                     {writeSame, "touches memory that another of the launch writes"},
		"a neighbour's word at once":             {readNeighbour, "of the launch"},
		"a word of another block":                {readOtherBlock, "of the launch"},
		"the sum is read in the same launch":     {countAndRead, "of the launch"},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, Config{})
			p := l.zeroed(4 * n)
			for range 2 { // two launches in a row are ordered by their stream
				require.NoError(t, launch(l, l.a, "selftest_race", n, 64, &raceArgs{P: p, How: test.how}, 0))
				if test.part != "" {
					break
				}
			}
			require.NoError(t, l.settle())
			if test.part != "" {
				l.requireFound(KindRace, test.part)
			}
		})
	}
}

func TestUndefinedBehaviourInKernels(t *testing.T) {
	for name, test := range map[string]struct {
		args undefinedArgs
		part string
	}{
		"a misaligned access":            {undefinedArgs{Which: 0, Amount: 2}, "misaligned"},
		"an index past a local array":    {undefinedArgs{Which: 1, Amount: 4}, "index out of bounds"},
		"a shift by the width of a word": {undefinedArgs{Which: 2, Amount: 32}, "shift"},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, Config{})
			test.args.P = l.zeroed(64)
			require.NoError(t, launch(l, l.a, "selftest_undefined", 32, 32, &test.args, 0))
			require.NoError(t, l.settle())
			l.requireFound(KindUndefined, test.part, "global.cu:")
		})
	}
}

func TestPinnedMemoryThatChangesTooEarly(t *testing.T) {
	for name, early := range map[string]bool{"after the copy has run": false, "before the copy has run": true} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, Config{})
			p, host := l.alloc(64), l.pinned(64)
			copyUp := func(b *driver.Bound) error { return b.CopyToDevice(p, host, l.a) }
			l.must(copyUp)
			if !early {
				require.NoError(t, l.settle())
			}
			host[17]++
			require.NoError(t, l.settle())
			if early {
				l.requireFound(KindHostChanged, "upload of 64 bytes")
			}
		})
	}
	t.Run("the host announces the change itself", func(t *testing.T) {
		l := newLab(t, Config{})
		p, host := l.zeroed(64), l.pinned(64)
		l.must(func(b *driver.Bound) error { return b.CopyToHost(host, p, l.a) })
		l.note(driver.NoteHost, 0, hostAddress(host), 64)
		require.NoError(t, l.settle())
		l.requireFound(KindHostChanged, "before \"download of 64 bytes")
	})
	t.Run("memory that is not pinned", func(t *testing.T) {
		l := newLab(t, Config{})
		p := l.alloc(64)
		l.must(func(b *driver.Bound) error { return b.CopyToDevice(p, make([]byte, 64), l.a) })
		require.NoError(t, l.settle())
		l.requireFound(KindUnpinned, "64 bytes of host memory")
	})
}
