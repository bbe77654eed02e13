package settings

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strconv"
	"strings"

	"github.com/libcuzk/libcuzk/cuda"
	"github.com/libcuzk/libcuzk/cuda/image"
	"github.com/libcuzk/libcuzk/engine"
	"github.com/libcuzk/libcuzk/engine/backend"
	"github.com/libcuzk/libcuzk/engine/cpu"
)

// Config is what engine.New needs to do as the settings say. log may be nil.
// It loads the driver if CUZK_DEVICES has to be compared with the cards.
func (s Settings) Config(log *slog.Logger) (engine.Config, error) {
	gpus := backend.Provider(cuda.NewProvider(cuda.Options{
		BudgetBytes: s.VRAMBytes, BudgetShare: s.VRAMShare, HostBytes: s.HostBytes,
		IdleAfter: s.VRAMIdle, MemoryWait: s.VRAMWait, HangAfter: s.HangAfter,
	}))
	processor := cpu.New(cpu.Options{Workers: s.CPUThreads})
	c := engine.Config{Workers: s.Workers, Log: log, Timeline: s.Timeline, CloseIdle: s.CloseIdle, Fallback: s.Fallback}
	if s.Backend == backend.CPU {
		c.Providers = []backend.Provider{unused{}, processor}
		return c, nil
	}
	if s.Devices != nil {
		chosen := chosen{gpus, s.Devices}
		if err := chosen.check(); err != nil {
			return engine.Config{}, err
		}
		gpus = chosen
	}
	c.Providers = []backend.Provider{gpus}
	if s.Backend != backend.CUDA {
		c.Providers = append(c.Providers, processor)
	}
	return c, nil
}

// BuiltIn says what the back ends of this build are, for people.
func BuiltIn() string {
	gpus := backend.CUDA
	if _, err := image.Find(); err != nil {
		gpus += " without kernels"
	}
	return fmt.Sprintf("%s, %s", backend.CPU, gpus)
}

// Stderr is the handler of CUZK_LOG, which writes each record to w as one line;
// nil if it is off.
func (s Settings) Stderr(w io.Writer) slog.Handler {
	if s.LogOff {
		return nil
	}
	return slog.NewTextHandler(w, &slog.HandlerOptions{Level: s.LogLevel, ReplaceAttr: nameTrace})
}

// nameTrace calls LevelTrace what Rust users do.
func nameTrace(groups []string, a slog.Attr) slog.Attr {
	if level, ok := a.Value.Any().(slog.Level); ok && len(groups) == 0 && a.Key == slog.LevelKey && level <= LevelTrace {
		a.Value = slog.StringValue("TRACE")
	}
	return a
}

// chosen is a provider of which only some devices are used.
type chosen struct {
	backend.Provider
	ordinals []int
}

// Devices implements backend.Provider.
func (c chosen) Devices() ([]backend.Info, error) {
	infos, err := c.Provider.Devices()
	for i := range infos {
		if infos[i].Unusable == "" && !slices.Contains(c.ordinals, infos[i].Ordinal) {
			infos[i].Unusable = "not in CUZK_DEVICES=" + c.text()
		}
	}
	return infos, err
}

// PinHost implements backend.HostPinner.
func (c chosen) PinHost(memory []byte) error {
	if pinner, can := c.Provider.(backend.HostPinner); can {
		return pinner.PinHost(memory)
	}
	return fmt.Errorf("%s devices pin no host memory", c.Name())
}

// UnpinHost implements backend.HostPinner.
func (c chosen) UnpinHost(first *byte) error {
	if pinner, can := c.Provider.(backend.HostPinner); can {
		return pinner.UnpinHost(first)
	}
	return nil
}

func (c chosen) text() string {
	var list []string
	for _, n := range c.ordinals {
		list = append(list, strconv.Itoa(n))
	}
	return strings.Join(list, ",")
}

// check refuses numbers that no device has. Without any devices it is content:
// why there are none is a better message.
func (c chosen) check() error {
	infos, err := c.Provider.Devices()
	if err != nil || len(infos) == 0 {
		return nil
	}
	for _, n := range c.ordinals {
		if !slices.ContainsFunc(infos, func(i backend.Info) bool { return i.Ordinal == n }) {
			return fmt.Errorf("%w: CUZK_DEVICES is %q, expected numbers from 0 to %d: the driver lists %d devices",
				ErrInvalid, c.text(), len(infos)-1, len(infos))
		}
	}
	return nil
}

// unused stands where CUDA cards would be, for the reason why there are none.
type unused struct{}

var errUnused = errors.New("GPUs are not used: CUZK_BACKEND=cpu")

func (unused) Name() string                     { return backend.CUDA }
func (unused) Devices() ([]backend.Info, error) { return nil, errUnused }
func (unused) Open(int) (backend.Device, error) { return nil, errUnused }
