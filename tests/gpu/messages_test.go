package gpu

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libcuzk/libcuzk/cuda"
	"github.com/libcuzk/libcuzk/engine"
	"github.com/libcuzk/libcuzk/internal/circuits/gv"
	"github.com/libcuzk/libcuzk/internal/circuits/synth"
	"github.com/libcuzk/libcuzk/internal/vram"
	"github.com/libcuzk/libcuzk/tests/cudasim"
	"github.com/libcuzk/libcuzk/tests/golden"
)

// childVariable makes TestChild do its work: a process loads one driver.
const childVariable = "CUZK_TEST_CHILD"

// Without a GPU the reason is told and the CPU proves.
func TestWithoutAGPUTheReasonIsToldAndTheCPUProves(t *testing.T) {
	type without struct{ environment, message string }
	cases := map[string]without{
		"no driver":         {"CUZK_CUDA_LIB=/nonexistent/libcuda.so.1", "cuda: no driver library: /nonexistent/libcuda.so.1"},
		"not a driver":      {"CUZK_CUDA_LIB=libm.so.6", "cuda: libm.so.6 lacks"},
		"no kernels at all": {"CUZK_KERNELS=" + t.TempDir(), "no kernel images"},
	}
	if onCard() {
		cases["every card hidden"] = without{"CUDA_VISIBLE_DEVICES=-1", "cuda: "}
	} else {
		cudasim.New(t, cudasim.Config{}) // for its driver
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			child := exec.Command(os.Args[0], "-test.run", "^TestChild$", "-test.v")
			child.Env = append(os.Environ(), childVariable+"=1", c.environment)
			out, err := child.CombinedOutput()
			require.NoError(t, err, "%s", out)
			assert.Contains(t, string(out), "no GPU: cuda: ")
			assert.Contains(t, string(out), c.message)
			assert.Contains(t, string(out), "proved on cpu")
			t.Logf("%s", out)
		})
	}
}

// TestChild is the child process of the test above.
func TestChild(t *testing.T) {
	if os.Getenv(childVariable) != "1" {
		t.Skip("runs as a child of another test")
	}
	e, err := engine.New(engine.Config{Providers: providers(cuda.Options{})})
	require.NoError(t, err)
	defer func() { require.NoError(t, e.Close()) }()
	fmt.Println("no GPU:", e.GPUReason())
	c, err := golden.Named("two")
	require.NoError(t, err)
	srs, err := e.OpenSRS(t.Context(), c.Params, engine.SRSOptions{})
	require.NoError(t, err)
	f, err := gv.Read(c.Witnesses[0])
	require.NoError(t, err)
	proof, err := e.Prove(t.Context(), srs, engine.Partition{Assignment: &f.Assignment, R: f.R, S: f.S}, engine.DefaultProveOptions())
	require.NoError(t, err)
	require.Equal(t, *f.Proof, proof)
	require.NoError(t, srs.Release())
	fmt.Println("proved on", e.Devices()[0].Backend)
}

// A budget is refused that the context exceeds, then one that the smallest plan
// of a job exceeds, by 1 MiB too; what that error says is needed is enough.
func TestTooSmallABudgetIsRefusedWithNumbers(t *testing.T) {
	const mib = 1 << 20
	shape := synth.Dense(pick(1<<16, 1<<9), 3)
	try := func(t *testing.T, bytes uint64) error {
		r := open(t, cuda.Options{BudgetBytes: bytes})
		c, err := r.addCircuit(shape, 1)
		if err != nil {
			t.Log(err)
			return err
		}
		defer c.free()
		p := c.partition(0)
		assert.Equal(t, c.ExpectedProof(p.R, p.S), r.prove(c.srs, p, engine.AnyDevice))
		return nil
	}
	var budget uint64
	t.Run("not even the context fits", func(t *testing.T) {
		err := try(t, 100*mib)
		require.ErrorIs(t, err, cuda.ErrBudget)
		require.ErrorContains(t, err, "104857600 bytes")
		numbers := regexp.MustCompile(`fixed buffers take (\d+) bytes and a job at least (\d+) more`).FindStringSubmatch(err.Error())
		require.Len(t, numbers, 3)
		for _, text := range numbers[1:] {
			n, err := strconv.ParseUint(text, 10, 64)
			require.NoError(t, err)
			budget += n
		}
	})
	var tooLarge *vram.TooLargeError
	t.Run("the job does not fit", func(t *testing.T) {
		require.ErrorAs(t, try(t, budget), &tooLarge)
		assert.Greater(t, tooLarge.NeedBytes, tooLarge.BudgetBytes)
	})
	if t.Failed() {
		return
	}
	enough := budget - tooLarge.BudgetBytes + tooLarge.NeedBytes
	t.Run("1 MiB is missing", func(t *testing.T) {
		require.ErrorAs(t, try(t, enough-mib), &tooLarge)
	})
	t.Run("the job just fits", func(t *testing.T) { require.NoError(t, try(t, enough)) })
}
