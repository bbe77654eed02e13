package main

import (
	"errors"
	"log/slog"
	"os"
	"strings"
	"sync"

	"github.com/libcuzk/libcuzk/engine"
	"github.com/libcuzk/libcuzk/engine/timeline"
	"github.com/libcuzk/libcuzk/internal/settings"
)

// The one engine of the process, made at the first call that needs it and
// never closed: the library cannot be unloaded.
var (
	engineMu sync.Mutex
	shared   *engine.Engine // guarded by engineMu; nil until the first use
)

// theEngine returns the engine. A failure of devices is not remembered: the
// next call tries again.
func theEngine() (*engine.Engine, error) {
	engineMu.Lock()
	defer engineMu.Unlock()
	if shared == nil {
		e, err := newEngine()
		if err != nil {
			return nil, err
		}
		shared = e
	}
	return shared, nil
}

// madeEngine is the engine if there is one.
func madeEngine() *engine.Engine {
	engineMu.Lock()
	defer engineMu.Unlock()
	return shared
}

func newEngine() (*engine.Engine, error) {
	s, err := environment()
	if err != nil {
		return nil, err
	}
	if !s.LogOff {
		flushAtExit()
	}
	log := slog.New(logHandlers(s.Stderr(stderrWriter{})))
	config, err := s.Config(log)
	if err != nil {
		return nil, err
	}
	e, err := engine.New(config)
	if errors.Is(err, timeline.ErrFile) {
		// Who proves needs no timeline to do it.
		log.Warn("no timeline: CUZK_TIMELINE names no file that can be made", "path", s.Timeline, "error", err)
		config.Timeline = ""
		e, err = engine.New(config)
	}
	if err != nil {
		return nil, err
	}
	if config.Timeline != "" {
		stopAtExit()
	}
	if ignored := settings.Ignored(); len(ignored) > 0 {
		log.Warn("paths of the environment are ignored: the process has more rights than whoever started it", "names", strings.Join(ignored, ","))
	}
	if unknown := settings.Unknown(os.Environ()); len(unknown) > 0 {
		log.Warn("environment variables that are no settings of this library", "names", strings.Join(unknown, ","))
	}
	return e, nil
}

// builtIn says what the back ends of this build are, for people.
func builtIn() string {
	// Without the variables the kernels that are built in count.
	_ = refreshEnvironment()
	return settings.BuiltIn()
}
