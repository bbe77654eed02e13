package settings

import (
	"errors"
	"io"
	"log/slog"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libcuzk/libcuzk/cuda"
	"github.com/libcuzk/libcuzk/engine"
	"github.com/libcuzk/libcuzk/engine/backend"
)

// from parses NAME=value entries.
func from(entries ...string) (Settings, error) {
	return Parse(func(name string) (string, bool) {
		for _, e := range entries {
			if n, value, _ := strings.Cut(e, "="); n == name {
				return value, true
			}
		}
		return "", false
	})
}

func defaults() Settings {
	return Settings{Backend: Auto, HangAfter: defaultHang, VRAMIdle: defaultIdle, LogOff: true}
}

func TestValues(t *testing.T) {
	for entry, want := range map[string]func(*Settings){
		"":                             func(*Settings) {},
		"CUZK_WORKERS=":                func(*Settings) {},
		"CUZK_BACKEND=cpu":             func(s *Settings) { s.Backend = backend.CPU },
		"CUZK_BACKEND=CUDA":            func(s *Settings) { s.Backend = backend.CUDA },
		"CUZK_BACKEND=auto":            func(*Settings) {},
		"CUZK_DEVICES=all":             func(*Settings) {},
		"CUZK_DEVICES=1":               func(s *Settings) { s.Devices = []int{1} },
		"CUZK_DEVICES=2, 0":            func(s *Settings) { s.Devices = []int{2, 0} },
		"CUZK_WORKERS=4":               func(s *Settings) { s.Workers = 4 },
		"CUZK_CPU_THREADS=12":          func(s *Settings) { s.CPUThreads = 12 },
		"CUZK_VRAM_BUDGET=17179869184": func(s *Settings) { s.VRAMBytes = 16 << 30 },
		"CUZK_VRAM_BUDGET=16GiB":       func(s *Settings) { s.VRAMBytes = 16 << 30 },
		"CUZK_VRAM_BUDGET=16 GiB":      func(s *Settings) { s.VRAMBytes = 16 << 30 },
		"CUZK_VRAM_BUDGET=500MiB":      func(s *Settings) { s.VRAMBytes = 500 << 20 },
		"CUZK_VRAM_BUDGET=80%":         func(s *Settings) { s.VRAMShare = 0.8 },
		"CUZK_VRAM_BUDGET=12.5 %":      func(s *Settings) { s.VRAMShare = 0.125 },
		"CUZK_HANG_AFTER=7":            func(s *Settings) { s.HangAfter = 7 * time.Second },
		"CUZK_HANG_AFTER=0":            func(s *Settings) { s.HangAfter = 0 },
		"CUZK_VRAM_WAIT=30":            func(s *Settings) { s.VRAMWait = 30 * time.Second },
		"CUZK_VRAM_WAIT=0.5":           func(s *Settings) { s.VRAMWait = time.Second / 2 },
		"CUZK_VRAM_IDLE=0":             func(s *Settings) { s.VRAMIdle = 0 },
		"CUZK_CONTEXT_IDLE=600":        func(s *Settings) { s.CloseIdle = 10 * time.Minute },
		"CUZK_HOST_MEMORY=1GiB":        func(s *Settings) { s.HostBytes = 1 << 30 },
		"CUZK_FALLBACK=cpu":            func(s *Settings) { s.Fallback = engine.FallbackCPU },
		"CUZK_FALLBACK=none":           func(s *Settings) { s.Fallback = engine.FallbackNone },
		"CUZK_FALLBACK=GPU":            func(*Settings) {},
		"CUZK_LOG=off":                 func(*Settings) {},
		"CUZK_LOG=Info":                func(s *Settings) { s.LogOff, s.LogLevel = false, slog.LevelInfo },
		"CUZK_LOG=trace":               func(s *Settings) { s.LogOff, s.LogLevel = false, LevelTrace },
		"CUZK_TIMELINE=/tmp/%p.json":   func(s *Settings) { s.Timeline = "/tmp/%p.json" },
		"CUZK_KERNELS=/no/such/folder": func(*Settings) {},
	} {
		t.Run(entry, func(t *testing.T) {
			expected := defaults()
			want(&expected)
			got, err := from(entry)
			require.NoError(t, err)
			assert.Equal(t, expected, got)
		})
	}
}

func TestErrorsNameVariableValueAndWhatIsAllowed(t *testing.T) {
	for variable, c := range map[string]struct {
		expected string
		values   []string
	}{
		"CUZK_BACKEND":     {"auto, cuda or cpu", []string{"gpu", "rocm", " "}},
		"CUZK_DEVICES":     {"different device numbers as 0,2", []string{"0,", "0,0", "-1", "a", "0;1", "1.5"}},
		"CUZK_WORKERS":     {"a whole number from 0 to 64", []string{"65", "-1", "three", "1.5", "1 "}},
		"CUZK_CPU_THREADS": {"a whole number from 0 to 4096", []string{"4097", "all"}},
		"CUZK_VRAM_BUDGET": {"or a share from above 0 to 100 with %",
			[]string{"0", "-1", "1.5GiB", "16GB", "GiB", "16g", "17179869184GiB", "0MiB", " ", "0%", "101%", "%", "nan%", "-5%"}},
		"CUZK_VRAM_WAIT":   {"a number of seconds from 0 to 1000000", []string{"-1", "1s", "NaN", "inf", "1e7"}},
		"CUZK_VRAM_IDLE":   {"a number of seconds from 0 to 1000000", []string{"never"}},
		"CUZK_HOST_MEMORY": {"at least 58720256 bytes", []string{"0", "1MiB", "80%", "55MiB"}},
		"CUZK_FALLBACK":    {"gpu, cpu or none", []string{"yes", "cuda"}},
		"CUZK_LOG":         {"off, error, warn, info, debug or trace", []string{"1", "verbose", "cuzk=debug"}},
	} {
		for _, value := range c.values {
			t.Run(variable+"="+value, func(t *testing.T) {
				_, err := from(variable + "=" + value)
				require.ErrorIs(t, err, ErrInvalid)
				assert.ErrorContains(t, err, `invalid environment variable: `+variable+` is "`+value+`", expected `)
				assert.ErrorContains(t, err, c.expected)
			})
		}
	}
	t.Run("all mistakes are told at once", func(t *testing.T) {
		_, err := from("CUZK_WORKERS=x", "CUZK_LOG=y")
		assert.ErrorContains(t, err, "CUZK_WORKERS")
		assert.ErrorContains(t, err, "CUZK_LOG")
	})
}

func TestUnknownNames(t *testing.T) {
	assert.Equal(t, []string{"CUZK_WORKER", "CUZK_GPU_MEMORY"},
		Unknown([]string{"PATH=/bin", "CUZK_WORKER=3", "CUZK_WORKERS=3", "CUZK_GPU_THREADS=32", "CUZK_GPU_MEMORY=1", "CUZK_KERNELS=x"}))
}

// TestDocumentation holds docs/settings.md against the code, and the code
// against the places that read a variable themselves.
func TestDocumentation(t *testing.T) {
	text, err := os.ReadFile("../../docs/settings.md")
	require.NoError(t, err)
	const hint = "go run ./internal/settings/table prints the table"
	assert.Contains(t, string(text), "\n"+Table(), hint)
	variable := regexp.MustCompile("(?m)^\\| `(CUZK_\\w+)`")
	assert.Len(t, variable.FindAllSubmatch(text, -1), len(Variables), "a variable that is no more")

	driver, err := os.ReadFile("../../cuda/driver/load_linux.go")
	require.NoError(t, err)
	assert.Contains(t, string(driver), `"CUZK_CUDA_LIB"`)
	assert.Contains(t, Table(), "at least `56MiB`")
	assert.EqualValues(t, 56<<20, cuda.MinHostBytes)
	assert.Equal(t, 64, engine.MaxWorkers)
}

// cards is a provider of devices that do nothing.
type cards struct {
	infos []backend.Info
	err   error
}

func (c cards) Name() string { return backend.CUDA }
func (c cards) Devices() ([]backend.Info, error) {
	return append([]backend.Info(nil), c.infos...), c.err
}
func (c cards) Open(int) (backend.Device, error) { return nil, errors.New("not opened here") }

func TestChosenDevices(t *testing.T) {
	three := cards{infos: []backend.Info{{Ordinal: 0}, {Ordinal: 1, Unusable: "too old"}, {Ordinal: 2}}}
	t.Run("the others are listed as unusable, with the reason", func(t *testing.T) {
		c := chosen{three, []int{2}}
		require.NoError(t, c.check())
		infos, err := c.Devices()
		require.NoError(t, err)
		assert.Equal(t, []string{"not in CUZK_DEVICES=2", "too old", ""},
			[]string{infos[0].Unusable, infos[1].Unusable, infos[2].Unusable})
	})
	t.Run("a number that no card has", func(t *testing.T) {
		err := chosen{three, []int{0, 3}}.check()
		require.ErrorIs(t, err, ErrInvalid)
		assert.EqualError(t, err, `invalid environment variable: CUZK_DEVICES is "0,3", expected numbers from 0 to 2: the driver lists 3 devices`)
	})
	t.Run("no cards at all", func(t *testing.T) {
		require.NoError(t, chosen{cards{err: errors.New("no driver")}, []int{0}}.check())
	})
}

func TestBackends(t *testing.T) {
	names := func(entry string) (list []string) {
		s, err := from(entry)
		require.NoError(t, err)
		c, err := s.Config(nil)
		require.NoError(t, err)
		for _, p := range c.Providers {
			list = append(list, p.Name())
		}
		return list
	}
	assert.Equal(t, []string{"cuda", "cpu"}, names(""))
	assert.Equal(t, []string{"cuda"}, names("CUZK_BACKEND=cuda"))
	t.Run("the CPU alone says why there is no GPU", func(t *testing.T) {
		s, err := from("CUZK_BACKEND=cpu", "CUZK_WORKERS=2", "CUZK_TIMELINE="+t.TempDir()+"/t.json")
		require.NoError(t, err)
		c, err := s.Config(nil)
		require.NoError(t, err)
		e, err := engine.New(c)
		require.NoError(t, err)
		defer func() { require.NoError(t, e.Close()) }()
		require.Len(t, e.Devices(), 1)
		assert.Equal(t, "GPUs are not used: CUZK_BACKEND=cpu", e.GPUReason())
		assert.FileExists(t, s.Timeline)
	})
}

func TestStderrHandler(t *testing.T) {
	s, err := from("CUZK_LOG=info")
	require.NoError(t, err)
	h := s.Stderr(io.Discard)
	assert.True(t, h.Enabled(t.Context(), slog.LevelInfo))
	assert.False(t, h.Enabled(t.Context(), slog.LevelDebug))
	s, err = from("")
	require.NoError(t, err)
	assert.Nil(t, s.Stderr(io.Discard))
	named := nameTrace(nil, slog.Any(slog.LevelKey, LevelTrace))
	assert.Equal(t, "TRACE", named.Value.String())
}
