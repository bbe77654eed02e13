package main

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libcuzk/libcuzk/engine/groth16"
	"github.com/libcuzk/libcuzk/engine/srs"
	"github.com/libcuzk/libcuzk/internal/circuits/gv"
	"github.com/libcuzk/libcuzk/internal/circuits/synth"
)

func TestThePairOfFilesFitsTogether(t *testing.T) {
	prefix := filepath.Join(t.TempDir(), "case")
	var out, errs bytes.Buffer
	require.NoError(t, run([]string{"-like", "porep", "-rows", "300", "-inputs", "3", "-seed", "9", prefix}, &out, &errs))
	assert.Empty(t, errs.String())
	assert.Contains(t, out.String(), "circuit: 300 rows, domain 512, 3 inputs, 297 aux;")

	p, err := srs.Open(prefix+".params", srs.Options{SubgroupCheck: true})
	require.NoError(t, err)
	defer func() { require.NoError(t, p.Release()) }()
	_, err = p.Points(t.Context())
	require.NoError(t, err)
	f, err := gv.Read(prefix + ".gv")
	require.NoError(t, err)
	key, err := groth16.Prepare(p.VerifyingKey())
	require.NoError(t, err)
	require.NoError(t, key.Verify(f.Assignment.Inputs, f.Proof))

	left, err := filepath.Glob(prefix + "*")
	require.NoError(t, err)
	assert.Equal(t, []string{prefix + ".gv", prefix + ".params"}, left, "nothing else is left behind")
}

func TestFlagsChangeThePreset(t *testing.T) {
	// Wherever -like stands.
	for _, args := range [][]string{
		{"-rows", "100", "-inputs", "2", "-b-aux", "0.5", "-spoil", "-spoil-row", "3", "-like", "dense", "x"},
		{"-like", "dense", "-spoil", "-b-aux", "0.5", "-spoil-row", "3", "-inputs", "2", "-rows", "100", "x"},
	} {
		req, err := parse(args, new(bytes.Buffer))
		require.NoError(t, err)
		want := synth.Dense(100, 2)
		want.BAux, want.Spoil, want.SpoilRow = 0.5, true, 3
		assert.Equal(t, want, req.shape)
		assert.Equal(t, "x", req.prefix)
	}
}

func TestWrongUsageIsExplained(t *testing.T) {
	for name, test := range map[string]struct {
		args    []string
		message string
	}{
		"no prefix":         {nil, "expected one PREFIX, got 0 arguments"},
		"two prefixes":      {[]string{"a", "b"}, "expected one PREFIX, got 2 arguments"},
		"an unknown preset": {[]string{"-like", "poseidon", "x"}, `-like: expected porep, sha256 or dense, got "poseidon"`},
		"an unknown flag":   {[]string{"-row", "5", "x"}, "flag provided but not defined: -row"},
	} {
		t.Run(name, func(t *testing.T) {
			var errs bytes.Buffer
			require.ErrorIs(t, run(test.args, new(bytes.Buffer), &errs), errUsage)
			assert.Contains(t, errs.String(), test.message)
		})
	}
	var help bytes.Buffer
	require.ErrorIs(t, run([]string{"-h"}, new(bytes.Buffer), &help), flag.ErrHelp)
	assert.Contains(t, help.String(), "Usage: cuzk-gen [flags] PREFIX")
}

func TestAFailureLeavesNothingBehind(t *testing.T) {
	err := run([]string{"-rows", "0", filepath.Join(t.TempDir(), "x")}, new(bytes.Buffer), new(bytes.Buffer))
	require.ErrorIs(t, err, synth.ErrShape)
	err = run([]string{"-rows", "10", filepath.Join(t.TempDir(), "absent", "x")}, new(bytes.Buffer), new(bytes.Buffer))
	require.ErrorIs(t, err, os.ErrNotExist)
}
