package timeline

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// recorded runs f while recording and returns the events of the file.
func recorded(t *testing.T, f func()) []object {
	t.Helper()
	path := filepath.Join(t.TempDir(), "t.json")
	require.NoError(t, Start(path))
	f()
	require.NoError(t, Stop())
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	var events []object
	require.NoError(t, json.Unmarshal(text, &events))
	return events
}

func named(events []object, name string) (found []object) {
	for _, e := range events {
		if e.Name == name {
			found = append(found, e)
		}
	}
	return found
}

func TestSpansOfAPartition(t *testing.T) {
	d := DeviceOf("test", 0, "spans")
	events := recorded(t, func() {
		partition := &Partition{Track: d.Track(Host, "worker 1"), Job: 7, Index: 2}
		begin := time.Now()
		partition.Span("upload", begin, begin.Add(1500*time.Microsecond))
		partition.SpanIn(d.Track(Kernels, "compute stream"), "quotient", begin, begin.Add(time.Millisecond))
		partition.SpanIn(d.Track(Queue, "queue"), "waits", begin, begin.Add(time.Millisecond))
		partition.Begin("finish")()
	})

	upload := named(events, "upload")
	require.Len(t, upload, 1)
	assert.Equal(t, "X", upload[0].Phase)
	assert.Equal(t, Host, upload[0].Category)
	assert.Equal(t, json.Number("1500.000"), upload[0].Duration)
	assert.EqualValues(t, map[string]any{"job": 7.0, "partition": 2.0}, upload[0].Args)

	quotient := named(events, "quotient")
	require.Len(t, quotient, 1)
	assert.Equal(t, Kernels, quotient[0].Category)
	assert.Equal(t, upload[0].Process, quotient[0].Process)
	assert.NotEqual(t, upload[0].Thread, quotient[0].Thread)

	waits := named(events, "waits")
	require.Len(t, waits, 2)
	assert.Equal(t, []string{"b", "e"}, []string{waits[0].Phase, waits[1].Phase})
	assert.Equal(t, "7.2", waits[0].ID)
	assert.Equal(t, waits[0].ID, waits[1].ID)

	require.Len(t, named(events, "finish"), 1)
	threads := map[string]bool{}
	for _, e := range named(events, NameThread) {
		threads[fmt.Sprint(e.Args["name"])] = true
	}
	assert.Equal(t, map[string]bool{"worker 1": true, "compute stream": true, "queue": true}, threads)
	assert.Equal(t, "test0 spans", named(events, NameProcess)[0].Args["name"])
}

func TestShortHoldsAreCounted(t *testing.T) {
	track := DeviceOf("test", 0, "locks").Track(Lock, "memory lock")
	events := recorded(t, func() {
		begin := Now()
		for range 3 {
			track.Hold(begin, begin.Add(ShortHold-1))
		}
		track.Hold(begin, begin.Add(ShortHold))
	})
	require.Len(t, named(events, "held"), 1)
	count := 0.0
	for _, c := range named(events, NameShort) {
		count += c.Args["count"].(float64)
	}
	assert.Equal(t, 3.0, count)
}

func TestNothingIsRecordedWhileOff(t *testing.T) {
	require.False(t, On())
	assert.True(t, Now().IsZero())
	track := DeviceOf("test", 0, "off").Track(Host, "worker 1")
	partition := &Partition{Track: track, Job: 1}
	endLate := partition.Begin("began before")
	events := recorded(t, func() {
		endLate()
		partition.Span("no begin", time.Time{}, time.Now())
		var none *Partition
		none.Span("no partition", time.Now(), time.Now())
		none.Begin("no partition")()
		none.SpanIn(track, "no partition", time.Now(), time.Now())
	})
	assert.Len(t, events, 1, "nothing but the start: %v", events)
}

func TestOneRecordingAtATime(t *testing.T) {
	require.ErrorIs(t, Stop(), ErrNotRecording)
	path := filepath.Join(t.TempDir(), "%p.json")
	require.NoError(t, Start(path))
	require.ErrorIs(t, Start(path), ErrRecording)
	require.NoError(t, Stop())
	require.ErrorIs(t, Stop(), ErrNotRecording)
	assert.FileExists(t, filepath.Join(filepath.Dir(path), fmt.Sprintf("%d.json", os.Getpid())))
}

func TestAFileThatCannotBeMade(t *testing.T) {
	require.ErrorIs(t, Start(filepath.Join(t.TempDir(), "missing", "t.json")), os.ErrNotExist)
	require.False(t, On())
}

// Stop says what was lost, and so does the log, long before.
func TestAFullDiskIsReported(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip(err)
	}
	lines := make(chan string, 1)
	require.NoError(t, start(full, slog.New(slog.NewTextHandler(lineWriter(lines), nil))))
	assert.Contains(t, <-lines, "no space left")
	require.ErrorContains(t, Stop(), "no space left")
}

// lineWriter sends what is written, and fails when nobody takes it: a lost
// recording is told once.
type lineWriter chan string

func (w lineWriter) Write(text []byte) (int, error) {
	select {
	case w <- string(text):
		return len(text), nil
	default:
		panic("told twice")
	}
}

// Whoever can write to the folder could have the file written elsewhere, or keep
// the recording waiting for a reader.
func TestWhatIsNoRegularFileIsRefused(t *testing.T) {
	folder := t.TempDir()
	target, link, pipe := filepath.Join(folder, "target"), filepath.Join(folder, "link"), filepath.Join(folder, "pipe")
	require.NoError(t, os.WriteFile(target, []byte("kept"), 0o600))
	require.NoError(t, os.Symlink(target, link))
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	for _, path := range []string{link, pipe, folder, "/dev/full"} {
		require.ErrorIs(t, Start(path), ErrFile, path)
		require.False(t, On(), path)
	}
	text, err := os.ReadFile(target)
	require.NoError(t, err)
	assert.Equal(t, "kept", string(text))
}

// TestAFileWithoutItsEnd reads what a process leaves that died.
func TestAFileWithoutItsEnd(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.json")
	require.NoError(t, Start(path))
	defer func() { require.NoError(t, Stop()) }()
	partition := &Partition{Track: DeviceOf("test", 0, "dies").Track(Host, "worker 1"), Job: 1}
	partition.Begin("last words")()
	var text []byte
	require.Eventually(t, func() bool {
		var err error
		text, err = os.ReadFile(path)
		return err == nil && len(named(decodeOpen(text), "last words")) == 1
	}, time.Minute, flushInterval/4)
	var events []object
	require.Error(t, json.Unmarshal(text, &events), "the closing bracket is not there yet")
}

// decodeOpen reads an array that lacks its bracket.
func decodeOpen(text []byte) (events []object) {
	_ = json.Unmarshal(append(text, ']'), &events)
	return events
}

func TestManyGoroutines(t *testing.T) {
	const goroutines, each = 8, 1000
	d := DeviceOf("test", 0, "many")
	events := recorded(t, func() {
		var group sync.WaitGroup
		for i := range goroutines {
			group.Go(func() {
				partition := &Partition{Track: d.Track(Host, fmt.Sprintf("worker %d", i)), Job: uint64(i + 1)}
				for range each {
					partition.Begin("work")()
				}
			})
		}
		group.Wait()
	})
	assert.Len(t, named(events, "work"), goroutines*each)
}

func BenchmarkOff(b *testing.B) {
	partition := &Partition{Track: DeviceOf("test", 0, "bench").Track(Host, "worker 1"), Job: 1}
	b.ReportAllocs()
	for b.Loop() {
		partition.Begin("work")()
	}
}

func BenchmarkOn(b *testing.B) {
	require.NoError(b, Start(filepath.Join(b.TempDir(), "t.json")))
	partition := &Partition{Track: DeviceOf("test", 0, "bench").Track(Host, "worker 1"), Job: 1}
	for b.Loop() {
		partition.Begin("work")()
	}
	b.StopTimer()
	require.NoError(b, Stop())
}
