package main

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestVariablesAreTakenFromTheProcess(t *testing.T) {
	t.Setenv("CUZK_KEPT", "1")
	t.Setenv("CUZK_CHANGED", "1")
	t.Setenv("CUZK_REMOVED", "1")
	t.Setenv("CUZK_ADDED", "")
	require.NoError(t, os.Unsetenv("CUZK_ADDED"))
	t.Setenv("OTHER", "1")
	require.NoError(t, setVariables(map[string]string{"CUZK_KEPT": "1", "CUZK_CHANGED": "2", "CUZK_ADDED": "a=b"}))
	for name, want := range map[string]string{"CUZK_KEPT": "1", "CUZK_CHANGED": "2", "CUZK_ADDED": "a=b", "OTHER": "1"} {
		assert.Equal(t, want, os.Getenv(name), name)
	}
	_, found := os.LookupEnv("CUZK_REMOVED")
	assert.False(t, found)
	// Go's changes go on to the C environment, so reading it back changes nothing.
	require.NoError(t, refreshEnvironment())
	assert.Equal(t, "a=b", os.Getenv("CUZK_ADDED"))
}
