package srs

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libcuzk/libcuzk/tests/golden"
)

// scripted is a file whose reads a test controls.
type scripted struct {
	*bytes.Reader
	read     func() error // called before each read
	closed   int
	closeErr error
}

func (s *scripted) ReadAt(b []byte, offset int64) (int, error) {
	if err := s.read(); err != nil {
		return 0, err
	}
	return s.Reader.ReadAt(b, offset)
}
func (s *scripted) Close() error   { s.closed++; return s.closeErr }
func (*scripted) Unchanged() error { return nil }

func openScripted(t *testing.T) (*Params, *scripted) {
	t.Helper()
	c, err := golden.Named("two")
	require.NoError(t, err)
	data, err := os.ReadFile(c.Params)
	require.NoError(t, err)
	src := &scripted{Reader: bytes.NewReader(data), read: func() error { return nil }}
	p := newParams("scripted", Options{})
	require.NoError(t, p.open(src))
	return p, src
}

func TestAFailingDiskIsReportedAndCanBeTriedAgain(t *testing.T) {
	p, src := openScripted(t)
	broken := errors.New("input/output error")
	src.read = func() error { return broken }
	_, err := p.Points(t.Context())
	require.ErrorIs(t, err, ErrRead)
	require.ErrorIs(t, err, broken)
	assert.ErrorContains(t, err, "srs: scripted: section h: point 0: 2976 bytes at byte 1256")
	_, err = p.ReadSection(SectionA, 2, 3, make([]byte, 288))
	require.ErrorIs(t, err, broken)

	src.read = func() error { return nil }
	_, err = p.Points(t.Context())
	require.NoError(t, err)
	src.closeErr = broken
	require.ErrorIs(t, p.Release(), broken)
	assert.Equal(t, 1, src.closed)
	assert.Nil(t, p.memory, "the points are freed all the same")
}

func TestACallThatIsCancelledLeavesTheReadingToTheNext(t *testing.T) {
	p, src := openScripted(t)
	reading, goOn := make(chan struct{}), make(chan struct{})
	var once sync.Once
	src.read = func() error {
		once.Do(func() { close(reading); <-goOn })
		return nil
	}
	first, cancel := context.WithCancel(t.Context())
	var group sync.WaitGroup
	group.Go(func() {
		_, err := p.Points(first)
		assert.ErrorIs(t, err, context.Canceled)
	})
	<-reading
	results := make(chan *Points, 8)
	for range cap(results) {
		group.Go(func() {
			points, err := p.Points(t.Context())
			assert.NoError(t, err)
			results <- points
		})
	}
	// A call that waits for another's reading can be cancelled too.
	waiter, give := context.WithCancel(t.Context())
	waited := make(chan error)
	go func() {
		_, err := p.Points(waiter)
		waited <- err
	}()
	give()
	require.ErrorIs(t, <-waited, context.Canceled)
	cancel()
	close(goOn)
	group.Wait()
	want := <-results
	for range cap(results) - 1 {
		assert.Same(t, want, <-results, "all share one copy")
	}
	require.NoError(t, p.Release())
}

func TestReleaseDuringReadingWaitsForItsEnd(t *testing.T) {
	p, src := openScripted(t)
	reading, goOn := make(chan struct{}), make(chan struct{})
	var once sync.Once
	src.read = func() error {
		once.Do(func() { close(reading); <-goOn })
		return nil
	}
	var group sync.WaitGroup
	group.Go(func() {
		_, err := p.Points(t.Context())
		assert.NoError(t, err)
	})
	<-reading
	require.NoError(t, p.Release())
	assert.Zero(t, src.closed, "the call in progress still holds the file")
	close(goOn)
	group.Wait()
	assert.Equal(t, 1, src.closed)
	require.ErrorIs(t, p.Retain(), ErrReleased)
}

// TestHostileCountsAllocateNothing: a sparse file can be as long as its counts
// say without taking space.
func TestHostileCountsAllocateNothing(t *testing.T) {
	c, err := golden.Named("two")
	require.NoError(t, err)
	valid, err := os.ReadFile(c.Params)
	require.NoError(t, err)
	const ic, h = 4, 1 << 30
	counts := []struct{ n, pointBytes int64 }{{ic, G1Bytes}, {h, G1Bytes}, {0, G1Bytes}, {ic, G1Bytes}, {0, G1Bytes}, {0, G2Bytes}}

	path := filepath.Join(t.TempDir(), "sparse.params")
	f, err := os.Create(path)
	require.NoError(t, err)
	_, err = f.Write(valid[:headerBytes+countBytes+ic*G1Bytes])
	require.NoError(t, err)
	at := int64(headerBytes)
	for _, section := range counts {
		var b [countBytes]byte
		binary.BigEndian.PutUint32(b[:], uint32(section.n))
		_, err = f.WriteAt(b[:], at)
		require.NoError(t, err)
		at += countBytes + section.n*section.pointBytes
	}
	require.NoError(t, f.Truncate(at))
	require.NoError(t, f.Close())

	p, err := Open(path, Options{})
	require.NoError(t, err, "nothing is wrong with its counts")
	assert.EqualValues(t, at, p.FileBytes())
	// 96 GiB are more than a machine may promise; if it does promise them, the
	// first point is not on the curve and none of the rest is touched.
	_, err = p.Points(t.Context())
	if !errors.Is(err, ErrMemory) {
		require.ErrorIs(t, err, ErrNotOnCurve)
		assert.ErrorContains(t, err, "section h: point 0 at byte 1256")
	}
	require.NoError(t, p.Release())
}

func TestPointsLieOutsideTheGoHeap(t *testing.T) {
	c, err := golden.Named("dup")
	require.NoError(t, err)
	p, err := Open(c.Params, Options{})
	require.NoError(t, err)
	heap := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := heap()
	points, err := p.Points(t.Context())
	require.NoError(t, err)
	grown := heap() - before
	require.EqualValues(t, 1731480-864-6*countBytes-6*G1Bytes, p.PointBytes())
	assert.Less(t, grown, p.PointBytes()/4)
	assert.Len(t, points.L, 6000)
	require.NoError(t, p.Release())
}
