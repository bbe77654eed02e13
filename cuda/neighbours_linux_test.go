package cuda

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/libcuzk/libcuzk/cuda/driver"
	"github.com/libcuzk/libcuzk/internal/circuits/synth"
	"github.com/libcuzk/libcuzk/internal/sched"
	"github.com/libcuzk/libcuzk/tests/cudasim"
)

func TestNeighboursLock(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	card := [16]byte{1, 2, 3}
	a, b := neighboursOf(card), neighboursOf(card)
	other := neighboursOf([16]byte{4})
	require.NotNil(t, a)
	defer func() {
		for _, n := range []sched.Neighbours{a, b, other} {
			assert.NoError(t, n.Close())
			assert.NoError(t, n.Close())
		}
	}()
	assert.False(t, a.Asked())
	release, err := a.Ask(t.Context())
	require.NoError(t, err)
	assert.False(t, a.Asked(), "it asks itself")
	assert.True(t, b.Asked())
	assert.False(t, other.Asked(), "another card")

	ctx, stop := context.WithTimeout(t.Context(), 3*askInterval)
	defer stop()
	refused, err := b.Ask(ctx)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	refused()
	assert.True(t, b.Asked(), "a release without a lock takes nothing away")

	release()
	assert.False(t, b.Asked())
	release, err = b.Ask(t.Context())
	require.NoError(t, err)
	release()
}

func TestNeighboursFile(t *testing.T) {
	folder := t.TempDir()
	t.Setenv("TMPDIR", folder)
	n := neighboursOf([16]byte{0xab})
	require.NotNil(t, n)
	require.NoError(t, n.Close())
	files, err := filepath.Glob(filepath.Join(folder, "libcuzk-gpu-ab*.lock"))
	require.NoError(t, err)
	require.Len(t, files, 1)
	info, err := os.Stat(files[0])
	require.NoError(t, err)
	assert.Zero(t, info.Size())

	t.Setenv("TMPDIR", filepath.Join(folder, "missing"))
	assert.Nil(t, neighboursOf([16]byte{0xab}), "no folder, no file, and no failure")
}

// Any user can make what the others' lock file is named after, for instance a
// pipe, which would be waited for, or a link to a file that is not to be opened.
func TestSomethingElseUnderTheLockFilesName(t *testing.T) {
	folder := t.TempDir()
	t.Setenv("TMPDIR", folder)
	elsewhere := filepath.Join(t.TempDir(), "made through the link")
	for name, make := range map[string]func(path string) error{
		"pipe":   func(path string) error { return unix.Mkfifo(path, 0o666) },
		"link":   func(path string) error { return os.Symlink(elsewhere, path) },
		"folder": func(path string) error { return os.Mkdir(path, 0o777) },
	} {
		t.Run(name, func(t *testing.T) {
			card := [16]byte{0xcd}
			path := filepath.Join(folder, fmt.Sprintf("libcuzk-gpu-%x.lock", card))
			require.NoError(t, make(path))
			defer os.Remove(path)
			assert.Nil(t, neighboursOf(card))
			assert.NoFileExists(t, elsewhere)
		})
	}
}

// TestMemoryThatANeighbourHolds lets another process take nearly all of the
// card: jobs fail with the numbers, or wait until it lets go.
func TestMemoryThatANeighbourHolds(t *testing.T) {
	if onCard() {
		t.Skip("the simulator plays the neighbour")
	}
	t.Setenv("TMPDIR", t.TempDir())
	const cardBytes = 4 << 30
	p := makeProven(t, synth.PoRepLike(500, 9), 1)
	// seize lets the neighbour take all but too little for one chunk.
	seize := func(sim *cudasim.Sim, d *device) (giveBack func()) {
		t.Helper()
		var free uint64
		require.NoError(t, d.current.Load().Watch.Do(func(b *driver.Bound) (err error) {
			free, _, err = b.MemInfo()
			return err
		}))
		bytes := int64(free - sched.ChunkBytes/2)
		sim.Seize(0, bytes)
		return func() { sim.Seize(0, -bytes) }
	}
	t.Run("an error tells the numbers", func(t *testing.T) {
		d, sim := open(t, Options{BudgetBytes: cardBytes / 2}, cudasim.Config{VRAMBytes: cardBytes})
		giveBack := seize(sim, d)
		_, err := sums(t.Context(), d, p)
		require.ErrorIs(t, err, sched.ErrNoMemory)
		require.ErrorContains(t, err, "of the GPU's 4294967296 bytes are free")
		require.ErrorContains(t, err, "budget")
		giveBack()
	})
	t.Run("a job waits as long as it may", func(t *testing.T) {
		const wait = 100 * time.Millisecond
		d, sim := open(t, Options{BudgetBytes: cardBytes / 2, MemoryWait: wait}, cudasim.Config{VRAMBytes: cardBytes})
		giveBack := seize(sim, d)
		begin := time.Now()
		_, err := sums(t.Context(), d, p)
		require.ErrorIs(t, err, sched.ErrNoMemory)
		require.ErrorContains(t, err, "waited")
		require.GreaterOrEqual(t, time.Since(begin), wait)
		giveBack()
	})
	t.Run("one that may wait plans with the whole card", func(t *testing.T) {
		sim := cudasim.New(t, cudasim.Config{VRAMBytes: cardBytes})
		sim.Seize(0, cardBytes/2)
		for wait, atMost := range map[time.Duration][2]float64{0: {0, 0.5}, time.Second: {0.9, 1}} {
			opened, err := NewProvider(Options{MemoryWait: wait}).Open(0)
			require.NoError(t, err)
			share := float64(opened.(*device).Stats().BudgetBytes) / cardBytes
			assert.True(t, share > atMost[0] && share < atMost[1], "waiting %v: %v", wait, share)
			require.NoError(t, opened.Close())
		}
		sim.Seize(0, -cardBytes/2)
	})
	t.Run("and goes on once there is room", func(t *testing.T) {
		d, sim := open(t, Options{BudgetBytes: cardBytes / 2, MemoryWait: time.Hour}, cudasim.Config{VRAMBytes: cardBytes})
		giveBack := seize(sim, d)
		done := make(chan error, 1)
		go func() {
			got, err := sums(t.Context(), d, p)
			if err == nil {
				p.check(t, got)
			}
			done <- err
		}()
		watching := neighboursOf(d.card.UUID)
		defer func() { assert.NoError(t, watching.Close()) }()
		require.Eventually(t, watching.Asked, time.Minute, askInterval, "the others are told")
		giveBack()
		require.NoError(t, <-done)
		require.False(t, watching.Asked())
	})
}
