package main

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libcuzk/libcuzk/engine/timeline"
)

// recorded makes a timeline of six jobs on a device. Each job's kernels take
// 10 ms and follow the ones before after a gap of 1 ms; its upload takes 4 ms,
// of which the last half lies under the kernels before.
func recorded(t *testing.T) string {
	t.Helper()
	device := timeline.DeviceOf("cuda", 0, t.Name())
	path := filepath.Join(t.TempDir(), "t.json")
	require.NoError(t, timeline.Start(path))
	begin := time.Now()
	at := func(ms float64) time.Time { return begin.Add(time.Duration(ms * float64(time.Millisecond))) }
	for i := range 6 {
		start := 20 + 11*float64(i)
		partition := &timeline.Partition{Track: device.Track(timeline.Host, fmt.Sprintf("worker %d", i%3+1)), Job: uint64(i + 1)}
		partition.SpanIn(device.Track(timeline.Queue, "queue"), "queue", at(0), at(start-5))
		partition.Span("partition", at(start-5), at(start+12))
		partition.Span("upload", at(start-5), at(start-1))
		partition.Span("wait for the upload turn", at(start-5), at(start-4))
		partition.SpanIn(device.Track(timeline.Copies, "upload stream"), "copy", at(start-3), at(start+1))
		partition.SpanIn(device.Track(timeline.Kernels, "compute stream"), "quotient: h", at(start), at(start+6))
		partition.SpanIn(device.Track(timeline.Kernels, "compute stream"), "h: rest", at(start+6), at(start+10))
		partition.SpanIn(device.Track(timeline.Kernels, "side stream 1"), "sum l & <a>", at(start+2), at(start+5))
	}
	lock := device.Track(timeline.Lock, "compute lock")
	for range 998 {
		lock.Hold(at(0), at(0.005))
	}
	lock.Hold(at(0), at(0.5))
	lock.Hold(at(1), at(1.25))
	require.NoError(t, timeline.Stop())
	return path
}

func TestFigures(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, run([]string{recorded(t)}, &out, io.Discard))
	text := out.String()
	// From the begin of job 2 to the end of job 5: four jobs of 10 ms and
	// three gaps.
	assert.Regexp(t, `window +0\.043 s from \d+\.\d+ s, 4 jobs +\(steady state`, text)
	assert.Regexp(t, `GPU idle +6\.98 % +3\.000 ms`, text)
	// The window cuts off job 2's first 3 ms of copies: 1 + 4 + 4 + 4 ms, and
	// 3 ms of job 6's.
	assert.Regexp(t, `uploads +15\.000 ms`, text)
	assert.Regexp(t, `uploads under kernels +80\.00 %`, text)
	assert.Regexp(t, `compute lock +1000 +< 0\.010 +0\.250 +0\.500`, text)
	assert.Regexp(t, `upload +6 +4\.000 +4\.000 +4\.000`, text)
	assert.Regexp(t, `quotient: h +6 +6\.000`, text)
	assert.NotContains(t, text, "may be missing")
}

func TestFiguresOfAWindow(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, run([]string{"-from", "20ms", "-to", "31ms", recorded(t)}, &out, io.Discard))
	assert.Regexp(t, `window +0\.011 s from 0\.020 s, 1 jobs +\(asked for`, out.String())
	assert.Regexp(t, `GPU idle +9\.09 % +1\.000 ms`, out.String())
}

func TestARecordingThatWasNotStopped(t *testing.T) {
	path := recorded(t)
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, text[:len(text)*3/4], 0o600))
	var out bytes.Buffer
	require.NoError(t, run([]string{path}, &out, io.Discard))
	assert.Contains(t, out.String(), "was not stopped")
	assert.Contains(t, out.String(), "GPU idle")
}

func TestDrawing(t *testing.T) {
	path := recorded(t)
	picture := filepath.Join(t.TempDir(), "t.svg")
	require.NoError(t, run([]string{"-svg", picture, path}, io.Discard, io.Discard))
	text, err := os.ReadFile(picture)
	require.NoError(t, err)

	d := xml.NewDecoder(bytes.NewReader(text))
	rects := 0
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		if e, ok := token.(xml.StartElement); ok && e.Name.Local == "rect" {
			rects++
		}
	}
	assert.Greater(t, rects, 20)
	for _, track := range []string{"worker 1", "worker 3", "upload stream", "compute stream", "side stream 1", "cuda0 " + t.Name()} {
		assert.Contains(t, string(text), ">"+track+"<")
	}
	assert.NotContains(t, string(text), ">compute lock<", "no hold in the window")
	assert.Contains(t, string(text), "sum l &amp; &lt;a&gt;")
}

// A span of 6 pixels is a bar. Narrower ones are one line with gaps, in which
// spans that touch, or lie on the same half of a pixel, are drawn once.
func TestNarrowSpans(t *testing.T) {
	const pixel = 1e-3 // seconds
	spans := []span{}
	for _, s := range []stretch{{10, 10.1}, {10.2, 10.3}, {20, 22.5}, {22.5, 23.5}, {500, 506}} {
		spans = append(spans, span{stretch{s.from * pixel, s.to * pixel}, "copy", 1})
	}
	rec := &recording{
		tracks: []*track{{device: "cuda0", name: "upload stream", kind: timeline.Copies, spans: spans}},
		window: stretch{0, 1000 * pixel},
	}
	var out bytes.Buffer
	require.NoError(t, rec.draw(&out, leftMargin+1000+rightMargin))
	assert.Equal(t, 1, strings.Count(out.String(), "<path "))
	assert.Contains(t, out.String(), ` stroke-width="26" d="M0 13m200 0h.5m9.5 0h3.5"/>`)
	assert.Equal(t, 1, strings.Count(out.String(), "<title>"))
	assert.Contains(t, out.String(), `<rect x="690.0" y="0" width="6.0" height="26"`)
}

func TestRefusals(t *testing.T) {
	folder := t.TempDir()
	other := filepath.Join(folder, "other.json")
	require.NoError(t, os.WriteFile(other, []byte(`{"a": 1}`), 0o600))
	empty := filepath.Join(folder, "empty.json")
	require.NoError(t, os.WriteFile(empty, []byte("[]"), 0o600))
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"no file":          {nil, "expected one file, got 0"},
		"two files":        {[]string{"a", "b"}, "expected one file, got 2"},
		"a missing file":   {[]string{filepath.Join(folder, "missing")}, "no such file"},
		"another format":   {[]string{other}, "not a timeline"},
		"an empty stretch": {[]string{"-from", "2s", "-to", "1s", other}, "expected a begin before its end"},
		"a narrow drawing": {[]string{"-width", "10", other}, "-width is 10"},
		"nothing to draw":  {[]string{"-svg", filepath.Join(folder, "x.svg"), empty}, "no spans"},
	} {
		t.Run(name, func(t *testing.T) {
			assert.ErrorContains(t, run(c.args, io.Discard, io.Discard), c.want)
		})
	}
	assert.NoError(t, run([]string{"-h"}, io.Discard, io.Discard))
}

func TestQuantile(t *testing.T) {
	known := []float64{7, 8, 9} // of ten values
	for share, want := range map[float64]float64{1: 9, 0.9: 8, 0.8: 7} {
		got, ok := quantile(known, 10, share)
		assert.True(t, ok, "%v", share)
		assert.Equal(t, want, got, "%v", share)
	}
	_, ok := quantile(known, 10, 0.7)
	assert.False(t, ok)
}
