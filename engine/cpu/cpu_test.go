package cpu_test

import (
	"testing"

	"github.com/libcuzk/libcuzk/engine/cpu"
	"github.com/libcuzk/libcuzk/internal/backendtest"
)

func TestConformance(t *testing.T) {
	for name, options := range map[string]cpu.Options{
		"default":           {},
		"portable":          {Portable: true},
		"one worker":        {Workers: 1},
		"more than windows": {Workers: 70},
	} {
		t.Run(name, func(t *testing.T) { backendtest.Run(t, cpu.New(options)) })
	}
}
