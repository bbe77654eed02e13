package cpu

import (
	"fmt"
	"runtime"
	"strings"

	"github.com/klauspost/cpuid/v2"

	"github.com/libcuzk/libcuzk/engine/backend"
)

// info describes the processor.
func info(options Options) backend.Info {
	name := cpuid.CPU.BrandName
	if name == "" {
		name = runtime.GOARCH
	}
	return backend.Info{
		Backend: Name,
		Name:    name,
		Memory:  memoryBytes(),
		Detail:  detail(options),
	}
}

// detail names the instruction sets that are used, and the cores.
func detail(options Options) string {
	var used []string
	// gnark-crypto's field arithmetic takes these by itself.
	for _, f := range []cpuid.FeatureID{cpuid.ADX, cpuid.BMI2} {
		if cpuid.CPU.Supports(f) {
			used = append(used, f.String())
		}
	}
	if vectorized(options) {
		used = append(used, cpuid.AVX512IFMA.String())
	}
	sets := "portable"
	if len(used) > 0 {
		sets = strings.Join(used, ", ")
	}
	return fmt.Sprintf("%s; %d of %d cores", sets, options.Workers, runtime.NumCPU())
}
