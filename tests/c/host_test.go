package c_test

import (
	"testing"

	"github.com/libcuzk/libcuzk/tests/c/cbuild"
)

// TestVariablesSetByMain starts with variables that would be refused, had main
// not changed them before the first call.
func TestVariablesSetByMain(t *testing.T) {
	runSuite(t, harness(t), "setenv", cbuild.Golden(), cbuild.Env("CUZK_LOG=verbose", "CUZK_WORKERS=-1"))
}
