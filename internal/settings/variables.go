package settings

import (
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/libcuzk/libcuzk/cuda"
	"github.com/libcuzk/libcuzk/cuda/image"
	"github.com/libcuzk/libcuzk/engine"
	"github.com/libcuzk/libcuzk/engine/backend"
	"github.com/libcuzk/libcuzk/internal/environ"
)

// Auto is the CUZK_BACKEND that takes the first back end with a usable device.
const Auto = "auto"

// Variable is one environment variable. Table prints them for docs/settings.md.
type Variable struct {
	Name    string
	Values  string // what is allowed, in Markdown
	Default string
	Meaning string

	initial string // parsed where nothing is set
	// set parses a value that is not empty; its error is what was expected.
	// Nil: read where it is used.
	set func(s *Settings, text string) error
}

const (
	maxCPUThreads = 4096
	maxSeconds    = 1e6
	defaultIdle   = 5 * time.Minute // of CUZK_VRAM_IDLE
	defaultHang   = 2 * time.Minute // of CUZK_HANG_AFTER
)

// Variables are all of them, in the order of the documentation.
var Variables = []Variable{
	{
		Name: "CUZK_BACKEND", Values: "`auto`, `cuda`, `cpu`", Default: "`auto`", initial: Auto,
		Meaning: "What proves. `auto`: the GPUs, or the CPU if none can be used. `cuda`: the GPUs, or an error. `cpu`: the CPU; no driver is loaded.",
		set: func(s *Settings, text string) (err error) {
			s.Backend, err = oneOf(text, Auto, backend.CUDA, backend.CPU)
			return err
		},
	},
	{
		Name: "CUZK_DEVICES", Values: "`all`, or numbers as `0,2`", Default: "`all`",
		Meaning: "Which GPUs, by the driver's numbers, which `CUDA_VISIBLE_DEVICES` changes. The others stay in the device list as unusable.",
		set: func(s *Settings, text string) (err error) {
			s.Devices, err = numbers(text)
			return err
		},
	},
	{
		Name: "CUZK_WORKERS", Values: "0 to 64", Default: "0: 3 on a GPU, 1 on the CPU",
		Meaning: "Partitions that each device carries at the same time. `cuzk_set_workers` changes it later.",
		set: func(s *Settings, text string) (err error) {
			s.Workers, err = number(text, 0, engine.MaxWorkers)
			return err
		},
	},
	{
		Name: "CUZK_CPU_THREADS", Values: "0 to 4096", Default: "0: all cores that Go uses (`GOMAXPROCS`)",
		Meaning: "Threads that compute on the CPU back end.",
		set: func(s *Settings, text string) (err error) {
			s.CPUThreads, err = number(text, 0, maxCPUThreads)
			return err
		},
	},
	{
		Name: "CUZK_VRAM_BUDGET", Values: "bytes, or with a unit as `12GiB`, `500MiB`; or a share as `80%`", Default: "what is free at the first use, less 5 %",
		Meaning: "Memory to use on each GPU, our context (0.5 GiB) included; all of it on a GPU that has less.",
		set: func(s *Settings, text string) (err error) {
			s.VRAMBytes, s.VRAMShare, err = bytesOrShare(text)
			return err
		},
	},
	{
		Name: "CUZK_VRAM_WAIT", Values: "seconds, as `30` or `0.5`", Default: "`0`",
		Meaning: "How long a job waits for GPU memory of its budget that another process holds, before it fails with the numbers.",
		set: func(s *Settings, text string) (err error) {
			s.VRAMWait, err = seconds(text)
			return err
		},
	},
	{
		Name: "CUZK_HANG_AFTER", Values: "seconds; `0`: never", Default: "`120`", initial: strconv.Itoa(int(defaultHang / time.Second)),
		Meaning: "A GPU on which a copy or a stage of a partition has not ended for so long hangs: it is lost until the process is restarted, and its partitions go where `CUZK_FALLBACK` says.",
		set: func(s *Settings, text string) (err error) {
			s.HangAfter, err = seconds(text)
			return err
		},
	},
	{
		Name: "CUZK_VRAM_IDLE", Values: "seconds; `0`: never", Default: "`300`", initial: strconv.Itoa(int(defaultIdle / time.Second)),
		Meaning: "GPU memory that no job has used for so long is given back to other processes; the parameter sets too when there was no job at all, to be loaded again by the next.",
		set: func(s *Settings, text string) (err error) {
			s.VRAMIdle, err = seconds(text)
			return err
		},
	},
	{
		Name: "CUZK_CONTEXT_IDLE", Values: "seconds; `0`: never", Default: "`0`",
		Meaning: "A GPU that has had no job for so long is closed: its context (0.5 GiB) and the pinned host memory are given back too. The next job opens it again, in about 0.2 s and the time to load parameters.",
		set: func(s *Settings, text string) (err error) {
			s.CloseIdle, err = seconds(text)
			return err
		},
	},
	{
		Name: "CUZK_HOST_MEMORY", Values: "bytes, or with a unit; at least `56MiB`", Default: "80 to 144 MiB, by the number of cores",
		Meaning: "Pinned host memory for each GPU, which inputs in ordinary memory pass through.",
		set: func(s *Settings, text string) (err error) {
			s.HostBytes, err = hostBytes(text)
			return err
		},
	},
	{
		Name: "CUZK_FALLBACK", Values: "`gpu`, `cpu`, `none`", Default: "`gpu`", initial: "gpu",
		Meaning: "Where a partition goes when its GPU was lost and, after a reset, lost again in the retry, or is gone until the process is restarted. `gpu`: to another GPU, else the job fails with `CUZK_ERR_DEVICE_LOST`. `cpu`: after the last GPU to the CPU, which takes as much host memory as the points of the parameter file. `none`: nowhere.",
		set:     setFallback,
	},
	{
		Name: "CUZK_LOG", Values: "`off`, `error`, `warn`, `info`, `debug`, `trace`", Default: "`off`", initial: "off",
		Meaning: "Messages to write to stderr, up to that level.",
		set:     setLog,
	},
	{
		Name: "CUZK_TIMELINE", Values: "a path; `%p` in it is the process's number", Default: "none",
		Meaning: "File to record the timeline in ([observing.md](observing.md)), from the first use to the end of the process.",
		set: func(s *Settings, text string) error {
			s.Timeline = text
			if environ.Secure() {
				s.Timeline = ""
			}
			return nil
		},
	},
	{
		Name: image.Variable, Values: "a folder", Default: "`" + image.FolderBeside + "` beside the library, else those built in",
		Meaning: "Kernel images to load.",
	},
	{
		Name: "CUZK_CUDA_LIB", Values: "a file", Default: "`libcuda.so.1`",
		Meaning: "Driver library to load.",
	},
}

// Table is the documentation of all variables in Markdown.
func Table() string {
	var t strings.Builder
	t.WriteString("| variable | values | default | meaning |\n|---|---|---|---|\n")
	for _, v := range Variables {
		fmt.Fprintf(&t, "| `%s` | %s | %s | %s |\n", v.Name, v.Values, v.Default, v.Meaning)
	}
	return t.String()
}

var logLevels = map[string]slog.Level{
	"error": slog.LevelError, "warn": slog.LevelWarn, "info": slog.LevelInfo, "debug": slog.LevelDebug, "trace": LevelTrace,
}

func setLog(s *Settings, text string) error {
	word, err := oneOf(text, "off", "error", "warn", "info", "debug", "trace")
	if err != nil {
		return err
	}
	s.LogLevel, s.LogOff = logLevels[word], word == "off"
	return nil
}

var fallbacks = map[string]engine.Fallback{
	"gpu": engine.FallbackGPU, "cpu": engine.FallbackCPU, "none": engine.FallbackNone,
}

func setFallback(s *Settings, text string) error {
	word, err := oneOf(text, "gpu", "cpu", "none")
	s.Fallback = fallbacks[word]
	return err
}

// oneOf accepts any case, as RUST_LOG does.
func oneOf(text string, words ...string) (string, error) {
	word := strings.ToLower(text)
	if !slices.Contains(words, word) {
		return "", fmt.Errorf("%s or %s", strings.Join(words[:len(words)-1], ", "), words[len(words)-1])
	}
	return word, nil
}

func number(text string, least, most int) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < least || n > most {
		return 0, fmt.Errorf("a whole number from %d to %d", least, most)
	}
	return n, nil
}

func numbers(text string) ([]int, error) {
	if strings.EqualFold(text, "all") {
		return nil, nil
	}
	var list []int
	for part := range strings.SplitSeq(text, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(part))
		if err != nil || n < 0 || slices.Contains(list, n) {
			return nil, fmt.Errorf("all, or different device numbers as 0,2")
		}
		list = append(list, n)
	}
	return list, nil
}

func seconds(text string) (time.Duration, error) {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(n) || n < 0 || n > maxSeconds {
		return 0, fmt.Errorf("a number of seconds from 0 to %d", int(maxSeconds))
	}
	return time.Duration(n * float64(time.Second)), nil
}

var units = []struct {
	suffix string
	bits   int
}{{"KiB", 10}, {"MiB", 20}, {"GiB", 30}, {"TiB", 40}}

// bytes is 0 for what is no positive size.
func bytes(text string) uint64 {
	bits := 0
	for _, u := range units {
		if before, found := strings.CutSuffix(text, u.suffix); found {
			text, bits = strings.TrimSpace(before), u.bits
			break
		}
	}
	n, err := strconv.ParseUint(text, 10, 64-bits)
	if err != nil {
		return 0
	}
	return n << bits
}

func bytesOrShare(text string) (n uint64, share float64, err error) {
	if percent, found := strings.CutSuffix(text, "%"); found {
		p, err := strconv.ParseFloat(strings.TrimSpace(percent), 64)
		if err == nil && p > 0 && p <= 100 {
			return 0, p / 100, nil
		}
	} else if n := bytes(text); n > 0 {
		return n, 0, nil
	}
	return 0, 0, fmt.Errorf("a number of bytes, a whole number with KiB, MiB, GiB or TiB, or a share from above 0 to 100 with %%")
}

func hostBytes(text string) (uint64, error) {
	n := bytes(text)
	if n < cuda.MinHostBytes {
		return 0, fmt.Errorf("at least %d bytes, or a whole number with KiB, MiB, GiB or TiB", uint64(cuda.MinHostBytes))
	}
	return n, nil
}
