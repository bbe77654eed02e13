package main

/*
extern char **environ;

static const char *entry_of_environment(int i) { return environ == 0 ? 0 : environ[i]; }
*/
import "C"

import (
	"os"
	"strings"
	"sync"

	"github.com/libcuzk/libcuzk/internal/settings"
)

// environment reads the settings once: a variable that changes later changes
// nothing.
var environment = sync.OnceValues(func() (settings.Settings, error) {
	if err := refreshEnvironment(); err != nil {
		return settings.Settings{}, err
	}
	return settings.FromEnvironment()
})

// refreshEnvironment gives this library's variables the values that they have
// in the process now. Go made its copy when the library was loaded; a host may
// have called setenv since, in main for instance.
func refreshEnvironment() error {
	now := map[string]string{}
	for i := C.int(0); ; i++ {
		entry := C.entry_of_environment(i)
		if entry == nil {
			break
		}
		name, value, found := strings.Cut(C.GoString(entry), "=")
		if _, again := now[name]; found && !again && strings.HasPrefix(name, variablePrefix) {
			now[name] = value // the first of a name counts, as for getenv
		}
	}
	return setVariables(now)
}

const variablePrefix = "CUZK_"

// setVariables changes Go's environment only where it differs from now: each
// change goes on to the C environment, which other threads may be reading.
func setVariables(now map[string]string) error {
	for _, entry := range os.Environ() {
		name, _, _ := strings.Cut(entry, "=")
		if _, ok := now[name]; !ok && strings.HasPrefix(name, variablePrefix) {
			if err := os.Unsetenv(name); err != nil {
				return err
			}
		}
	}
	for name, value := range now {
		if old, ok := os.LookupEnv(name); !ok || old != value {
			if err := os.Setenv(name, value); err != nil {
				return err
			}
		}
	}
	return nil
}
