// Package settings reads what can be set without code: the environment
// variables CUZK_*, and makes an engine.Config with the back ends of them.
//
// Programs that want none of this fill in engine.Config themselves.
package settings

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/libcuzk/libcuzk/cuda/image"
	"github.com/libcuzk/libcuzk/engine"
	"github.com/libcuzk/libcuzk/internal/environ"
	"github.com/libcuzk/libcuzk/internal/sentinel"
)

// ErrInvalid is what every error about a variable's value wraps.
var ErrInvalid = sentinel.New(engine.ErrOption, "invalid environment variable")

// Settings are the values of the variables. The zero value is not the default:
// call Parse.
type Settings struct {
	Backend    string // Auto, backend.CUDA or backend.CPU
	Devices    []int  // CUDA cards to use, by the driver's numbers; nil: all
	Workers    int    // a device; 0: the engine's default
	CPUThreads int    // of the CPU back end; 0: GOMAXPROCS

	VRAMBytes uint64        // budget on each card; 0: see VRAMShare
	VRAMShare float64       // budget as a share of each card; 0: what is free, less a reserve
	HangAfter time.Duration // that work on a GPU may last; 0: for ever
	VRAMWait  time.Duration // for memory that other processes hold; 0: an error at once
	VRAMIdle  time.Duration // after which idle memory is given back; 0: never
	CloseIdle time.Duration // after which an idle GPU's context is given back too; 0: never
	HostBytes uint64        // of pinned memory for copies on each card; 0: the default

	Fallback engine.Fallback // where partitions go whose GPU is lost twice

	LogOff   bool
	LogLevel slog.Level // if not LogOff
	Timeline string     // path; empty: none
}

// LevelTrace is below slog.LevelDebug.
const LevelTrace = slog.LevelDebug - 4

// Parse reads all variables through lookup, which is like os.LookupEnv. An
// empty value is none. The error tells of all variables that are wrong.
func Parse(lookup func(name string) (string, bool)) (Settings, error) {
	var s Settings
	var wrong []error
	for i := range Variables {
		v := &Variables[i]
		text, _ := lookup(v.Name)
		if text == "" {
			text = v.initial
		}
		if text == "" || v.set == nil {
			continue
		}
		if err := v.set(&s, text); err != nil {
			wrong = append(wrong, fmt.Errorf("%w: %s is %q, expected %s", ErrInvalid, v.Name, text, err))
		}
	}
	return s, errors.Join(wrong...)
}

// FromEnvironment is Parse of the process's environment.
func FromEnvironment() (Settings, error) { return Parse(os.LookupEnv) }

// Unknown lists the names in an environment, as os.Environ gives it, that
// begin like ours and are none: likely mistakes.
func Unknown(environ []string) []string {
	var unknown []string
	for _, entry := range environ {
		name, _, _ := strings.Cut(entry, "=")
		if !strings.HasPrefix(name, prefix) || slices.Contains(foreign, name) ||
			slices.ContainsFunc(Variables, func(v Variable) bool { return v.Name == name }) {
			continue
		}
		unknown = append(unknown, name)
	}
	return unknown
}

const prefix = "CUZK_"

// foreign are variables that begin like ours and belong to others: Curio's
// proving daemon, and the builds and tests of this library.
var foreign = []string{
	"CUZK_GPU_THREADS", "CUZK_DISABLE_SPLIT_PROVE", "CUZK_DISABLE_PCE", "CUZK_VALIDATE_PARTITIONS",
	"CUZK_LIB_DIR", "CUZK_LINK", "CUZK_STATIC", "CUZK_SHARED", "CUZK_BUNDLED", "CUZK_BUILD_DIR", "CUZK_CUDA_ARCHS",
	"CUZK_GOLDEN_DIR", "CUZK_REQUIRE_GPU", "CUZK_REQUIRE_CUDASIM",
}

// Ignored lists the variables that name a path and are set, if the process has
// more rights than whoever started it: they are not followed.
func Ignored() []string {
	if !environ.Secure() {
		return nil
	}
	var ignored []string
	for _, name := range []string{"CUZK_TIMELINE", image.Variable, "CUZK_CUDA_LIB", "TMPDIR"} {
		if os.Getenv(name) != "" {
			ignored = append(ignored, name)
		}
	}
	return ignored
}
