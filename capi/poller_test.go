package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The Go runtime's poller is made before any package can open a file and so have
// it made with too few descriptors, which ends the process.
func TestPollerIsMadeBeforeFilesAreOpened(t *testing.T) {
	self := exec.Command(os.Args[0], "-test.run=^$")
	self.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	var trace strings.Builder
	self.Stderr = &trace
	require.NoError(t, self.Run())
	made := strings.Index(trace.String(), "init github.com/libcuzk/libcuzk/internal/poller ")
	require.NotEqual(t, -1, made, trace.String())
	for _, later := range []string{"init os ", "init google.golang.org/protobuf/internal/detrand "} {
		assert.Greater(t, strings.Index(trace.String(), later), made, later)
	}
}
