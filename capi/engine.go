package main

import (
	"log/slog"
	"sync"

	"github.com/libcuzk/libcuzk/engine"
	"github.com/libcuzk/libcuzk/engine/backend"
	"github.com/libcuzk/libcuzk/engine/cpu"
)

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
		e, err := engine.New(engine.Config{
			Providers: providers(),
			Log:       slog.New(logHandler{}),
		})
		if err != nil {
			return nil, err
		}
		shared = e
	}
	return shared, nil
}

// providers are the back ends of this build, in order of preference.
func providers() []backend.Provider {
	return []backend.Provider{cpu.New(cpu.Options{})}
}
