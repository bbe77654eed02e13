package srs_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libcuzk/libcuzk/engine/groth16"
	"github.com/libcuzk/libcuzk/engine/srs"
	"github.com/libcuzk/libcuzk/tests/golden"
)

func TestGoldenFilesSurviveReadingAndWriting(t *testing.T) {
	golden.Each(t, func(t *testing.T, c golden.Case) {
		want, err := os.ReadFile(c.Params)
		require.NoError(t, err)
		p := open(t, c.Params)
		points, err := p.Points(t.Context())
		require.NoError(t, err)
		assert.Equal(t, groth16.Counts{IC: c.Inputs, H: c.Domain - 1, L: c.Aux, A: c.Inputs + c.AAux,
			BG1: c.BInputs + c.BAux, BG2: c.BInputs + c.BAux}, p.Counts())
		assert.EqualValues(t, len(want), p.FileBytes())
		var got bytes.Buffer
		require.NoError(t, srs.Write(&got, p.VerifyingKey(), points))
		assert.True(t, bytes.Equal(want, got.Bytes()))
	})
}

func TestReadSectionGivesTheBytesOfTheFile(t *testing.T) {
	want := readTwo(t)
	fromFile := open(t, writeFile(t, want))
	points, err := fromFile.Points(t.Context())
	require.NoError(t, err)
	inMemory, err := srs.New(fromFile.VerifyingKey(), points)
	require.NoError(t, err)
	for name, p := range map[string]*srs.Params{"from a file": fromFile, "in memory": inMemory} {
		t.Run(name, func(t *testing.T) {
			for _, s := range []struct {
				section   srs.Section
				offset, n int
			}{{srs.SectionH, twoH, 31}, {srs.SectionL, twoL, 26}, {srs.SectionA, twoA, 15}, {srs.SectionBG1, twoBG1, 12}, {srs.SectionBG2, twoBG2, 12}} {
				size := s.section.PointBytes()
				for _, r := range [][2]int{{0, s.n}, {3, 2}, {s.n - 1, 1}, {s.n, 0}} {
					buf := make([]byte, r[1]*size)
					n, err := p.ReadSection(s.section, r[0], r[1], buf)
					require.NoError(t, err)
					require.Equal(t, len(buf), n)
					require.Equal(t, want[s.offset+r[0]*size:][:n], buf)
				}
			}
			require.NoError(t, p.Unchanged())
		})
	}
}

func TestReadSectionRefusesRangesThatAreNotThere(t *testing.T) {
	p := open(t, writeFile(t, readTwo(t)))
	const most = int(^uint(0) >> 1)
	buf := make([]byte, 96)
	for name, r := range map[string]struct {
		section      srs.Section
		first, count int
		message      string
	}{
		"a section that does not exist": {srs.Section(5), 0, 1, "no such section"},
		"a negative section":            {srs.Section(-1), 0, 1, "no such section"},
		"one point too many":            {srs.SectionA, 15, 1, "section a: 1 points from point 15 asked of 15"},
		"a negative first":              {srs.SectionA, -1, 1, "from point -1"},
		"a negative count":              {srs.SectionA, 0, -1, "-1 points"},
		"a sum that overflows":          {srs.SectionA, 1, most, "section a"},
		"a buffer too small":            {srs.SectionA, 0, 2, "2 points take 192 bytes, the buffer has 96"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := p.ReadSection(r.section, r.first, r.count, buf)
			require.ErrorIs(t, err, srs.ErrRange)
			assert.ErrorContains(t, err, r.message)
		})
	}
}

func TestNewRefusesListsThatDoNotFit(t *testing.T) {
	p := open(t, writeFile(t, readTwo(t)))
	points, err := p.Points(t.Context())
	require.NoError(t, err)
	broken := *points
	broken.BG2 = broken.BG2[1:]
	_, err = srs.New(p.VerifyingKey(), &broken)
	assert.ErrorIs(t, err, srs.ErrCounts)
}

func TestTheFileMayBeDeletedRightAfterOpening(t *testing.T) {
	path := writeFile(t, readTwo(t))
	p := open(t, path)
	require.NoError(t, os.Remove(path))
	_, err := p.Points(t.Context())
	require.NoError(t, err)
	_, err = p.ReadSection(srs.SectionH, 0, 1, make([]byte, 96))
	require.NoError(t, err)
	require.NoError(t, p.Unchanged())
}

func TestAFileThatChangesIsNoticed(t *testing.T) {
	later := time.Now().Add(time.Hour)
	for name, change := range map[string]func(t *testing.T, path string){
		"cut short": func(t *testing.T, path string) { require.NoError(t, os.Truncate(path, twoH+100)) },
		"written to in place": func(t *testing.T, path string) {
			require.NoError(t, os.WriteFile(path, readTwo(t), 0o600))
			// The clock of a file system may be too coarse for a quick test.
			require.NoError(t, os.Chtimes(path, later, later))
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := writeFile(t, readTwo(t))
			p := open(t, path)
			change(t, path)
			_, err := p.Points(t.Context())
			require.ErrorIs(t, err, srs.ErrChanged)
			assert.ErrorContains(t, err, path)
			assert.ErrorContains(t, err, "it had 11640 bytes")
			assert.ErrorIs(t, p.Unchanged(), srs.ErrChanged)
		})
	}
	t.Run("cut short before a raw read", func(t *testing.T) {
		path := writeFile(t, readTwo(t))
		p := open(t, path)
		require.NoError(t, os.Truncate(path, twoH+100))
		_, err := p.ReadSection(srs.SectionH, 0, 31, make([]byte, 31*96))
		require.ErrorIs(t, err, srs.ErrChanged)
		assert.ErrorContains(t, err, "section h: point 0: 2976 bytes at byte 1256: the file now ends at byte 1356")
	})
	t.Run("replaced by another file under the same name", func(t *testing.T) {
		path := writeFile(t, readTwo(t))
		p := open(t, path)
		other := writeFile(t, nil)
		require.NoError(t, os.Rename(other, path))
		_, err := p.Points(t.Context())
		assert.NoError(t, err, "the descriptor still leads to the old file")
	})
}

func TestOneFileIsOpenedOnce(t *testing.T) {
	path := writeFile(t, readTwo(t))
	first, second := open(t, path), open(t, path)
	assert.Same(t, first, second)

	link := filepath.Join(t.TempDir(), "link.params")
	require.NoError(t, os.Symlink(path, link))
	assert.Same(t, first, open(t, link), "another path to it")

	strict, err := srs.Open(path, srs.Options{SubgroupCheck: true})
	require.NoError(t, err)
	defer func() { require.NoError(t, strict.Release()) }()
	assert.NotSame(t, first, strict, "other options")

	later := time.Now().Add(time.Hour)
	require.NoError(t, os.Chtimes(path, later, later))
	assert.NotSame(t, first, open(t, path), "written to since")
	assert.NotSame(t, first, open(t, writeFile(t, readTwo(t))), "a copy")
}

func TestOpeningAgainAfterTheLastReleaseReadsTheFileAgain(t *testing.T) {
	path := writeFile(t, readTwo(t))
	first, err := srs.Open(path, srs.Options{})
	require.NoError(t, err)
	require.NoError(t, first.Release())
	second := open(t, path)
	assert.NotSame(t, first, second)
	_, err = second.Points(t.Context())
	assert.NoError(t, err)
}

func TestManyOpenReadAndReleaseAtOnce(t *testing.T) {
	path := writeFile(t, readTwo(t))
	broken := writeFile(t, flip(95)(readTwo(t)))
	var group sync.WaitGroup
	for range 16 {
		group.Go(func() {
			for range 20 {
				p, err := srs.Open(path, srs.Options{})
				if !assert.NoError(t, err) {
					return
				}
				points, err := p.Points(context.Background())
				assert.NoError(t, err)
				assert.Len(t, points.H, 31)
				assert.False(t, points.H[30].IsInfinity())
				assert.NoError(t, p.Release())
				_, err = srs.Open(broken, srs.Options{})
				assert.ErrorIs(t, err, srs.ErrNotOnCurve)
			}
		})
	}
	group.Wait()
}

func TestUseAfterTheLastReleaseIsAnError(t *testing.T) {
	path := writeFile(t, readTwo(t))
	fromFile, err := srs.Open(path, srs.Options{})
	require.NoError(t, err)
	points, err := open(t, path).Points(t.Context())
	require.NoError(t, err)
	inMemory, err := srs.New(fromFile.VerifyingKey(), points)
	require.NoError(t, err)
	private, err := srs.Open(writeFile(t, readTwo(t)), srs.Options{})
	require.NoError(t, err)
	require.NoError(t, fromFile.Release())

	for name, p := range map[string]*srs.Params{"from a file": private, "in memory": inMemory} {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, p.Retain())
			require.NoError(t, p.Release())
			_, err := p.Points(t.Context())
			require.NoError(t, err, "one reference is left")
			require.NoError(t, p.Release())

			_, err = p.Points(t.Context())
			assert.ErrorIs(t, err, srs.ErrReleased)
			_, err = p.ReadSection(srs.SectionH, 0, 1, make([]byte, 96))
			assert.ErrorIs(t, err, srs.ErrReleased)
			assert.ErrorIs(t, p.Unchanged(), srs.ErrReleased)
			assert.ErrorIs(t, p.Retain(), srs.ErrReleased)
			assert.ErrorIs(t, p.Release(), srs.ErrReleased)
			assert.Len(t, p.VerifyingKey().IC, 4)
			assert.Equal(t, 31, p.Counts().H)
		})
	}
}

func TestReadingPointsEndsWithItsContextAndCanBeTriedAgain(t *testing.T) {
	p := open(t, writeFile(t, readTwo(t)))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := p.Points(ctx)
	require.ErrorIs(t, err, context.Canceled)
	points, err := p.Points(t.Context())
	require.NoError(t, err)
	assert.Len(t, points.BG2, 12)
}

func TestWriteReportsTheWritersError(t *testing.T) {
	p := open(t, writeFile(t, readTwo(t)))
	points, err := p.Points(t.Context())
	require.NoError(t, err)
	full := errors.New("disk full")
	for room := range 12 {
		err := srs.Write(&limited{room, full}, p.VerifyingKey(), points)
		if room < 11 { // the verifying key with ic, then count and points of 5 sections
			require.ErrorIs(t, err, full, "after %d writes", room)
		} else {
			require.NoError(t, err)
		}
	}
}

// limited takes a number of writes and then fails.
type limited struct {
	room int
	err  error
}

func (l *limited) Write(b []byte) (int, error) {
	if l.room == 0 {
		return 0, l.err
	}
	l.room--
	return len(b), nil
}

func open(t *testing.T, path string) *srs.Params {
	t.Helper()
	p, err := srs.Open(path, srs.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, p.Release()) })
	return p
}
