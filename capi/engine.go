package main

import (
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"sync"

	"github.com/libcuzk/libcuzk/cuda"
	"github.com/libcuzk/libcuzk/cuda/image"
	"github.com/libcuzk/libcuzk/engine"
	"github.com/libcuzk/libcuzk/engine/backend"
	"github.com/libcuzk/libcuzk/engine/cpu"
)

// gpuMemoryVariable says how much of each card's memory to use, in bytes or as
// 12GiB or 500MiB; without it nearly all that is free.
const gpuMemoryVariable = "CUZK_GPU_MEMORY"

// The one engine of the process, made at the first call that needs it and
// never closed: the library cannot be unloaded.
var (
	engineMu sync.Mutex
	shared   *engine.Engine // guarded by engineMu; nil until the first use
)

// theEngine returns the engine. A failure is not remembered: the next call
// tries again.
func theEngine() (*engine.Engine, error) {
	engineMu.Lock()
	defer engineMu.Unlock()
	if shared == nil {
		budget, err := parseMemory(os.Getenv(gpuMemoryVariable))
		if err != nil {
			return nil, err
		}
		e, err := engine.New(engine.Config{
			// In order of preference.
			Providers: []backend.Provider{
				cuda.NewProvider(cuda.Options{BudgetBytes: budget}),
				cpu.New(cpu.Options{}),
			},
			Log: slog.New(logHandler{}),
		})
		if err != nil {
			return nil, err
		}
		shared = e
	}
	return shared, nil
}

// builtIn says what the back ends of this build are, for people.
func builtIn() string {
	gpu := "cuda"
	if _, err := image.Find(); err != nil {
		gpu = "cuda without kernels"
	}
	return fmt.Sprintf("%s, %s", backend.CPU, gpu)
}

// parseMemory reads the value of gpuMemoryVariable; "" is 0, no setting.
func parseMemory(text string) (uint64, error) {
	if text == "" {
		return 0, nil
	}
	number, shift := text, 0
	for suffix, bits := range map[string]int{"MiB": 20, "GiB": 30} {
		if before, found := strings.CutSuffix(text, suffix); found {
			number, shift = strings.TrimSpace(before), bits
		}
	}
	n, err := strconv.ParseUint(number, 10, 64-shift)
	if err != nil || n == 0 {
		return 0, refuse(errValue, "environment variable %s is %q, expected a number of bytes, or of MiB or GiB with that unit", gpuMemoryVariable, text)
	}
	return n << shift, nil
}
