//go:build linux && (amd64 || arm64)

// Package mutations breaks the engine and the kernels on purpose, one change at
// a time in a copy of the tree, and sees that tests on the simulator fail.
package mutations

import (
	"context"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Variable set to 1 carries the mutations out, about a minute each. Without it
// the test only sees that each of them still has its place in the source.
const Variable = "CUZK_MUTATIONS"

// mutation replaces a text that occurs once in a file.
type mutation struct {
	file, old, new string
	tests          []string // arguments of go test
	found          string   // what the output of the failing tests has
}

var (
	proofs  = []string{"-run", "TestGoldenProofs|TestGeneratedCircuits|TestWorkersWithinABudget", "./cuda"}
	tiles   = []string{"-run", "TestGoldenProofsStreamed|TestGeneratedCircuitsStreamed", "./cuda"}
	jobs    = []string{"-run", "TestSchedules", "./tests/cudasim/jobs"}
	kernels = []string{"-run", "NTT|MSM|Ones|Sort", "./internal/launch"}
)

var mutations = map[string]mutation{
	"no stream ever waits for an event": {
		"cuda/internal/devcontext/streams.go", "return b.Wait(stream, driver.Event(e))", "return nil",
		proofs, "cudasim: order",
	},
	"kernels do not wait for the job's uploads": {
		"internal/sched/ticket.go", "return s.orderLocked(Compute, t.uploads)", "return nil",
		proofs, "cudasim: order",
	},
	"a round's values overwrite the list before the kernels have read it": {
		"cuda/rounds.go", "if err := j.ticket.Order(sched.Tiles, j.round.copied); err != nil {",
		"if err := error(nil); err != nil {", proofs, "cudasim: order",
	},
	"kernels of a round do not wait for its values": {
		"cuda/rounds.go", "if err := j.ticket.Order(sched.Compute, staged); err != nil {",
		"if err := error(nil); err != nil && staged != nil {", proofs, "cudasim: order",
	},
	"a tile is copied over one that kernels have not read": {
		"cuda/tiles.go", "if err := j.ticket.Order(sched.Tiles, f.added[i-tilePlaces]); err != nil {",
		"if err := error(nil); err != nil {", tiles, "cudasim: order",
	},
	"a tile's kernels do not wait for its copy": {
		"cuda/tiles.go", "if err := j.ticket.Order(sched.Compute, copied); err != nil {",
		"if err := error(nil); err != nil && copied != nil {", tiles, "cudasim: ",
	},
	"the quotient is handed on before its last tile is sorted": {
		"cuda/tiles.go", "sorted := lastTouch(calls, h) + 1", "sorted := min(lastTouch(calls, h), 1)", tiles, "cudasim: handed-on",
	},
	"the mark of a round's results is recorded on another stream": {
		"cuda/rounds.go", "r.copied, err = j.ticket.Record(sched.Compute)", "r.copied, err = j.ticket.Record(sched.Download)",
		proofs, "cudasim: ",
	},
	"all events are recorded on the next stream": {
		"cuda/internal/devcontext/streams.go", "return b.Record(e, stream)", "return b.Record(e, l.streams[(int(s)+1)%len(l.streams)])",
		proofs, "cudasim: order",
	},
	"a block's fence leaves the compute stream out": {
		"internal/sched/ticket.go", "if !touched.has(st) {", "if !touched.has(st) || st == Compute {",
		jobs, "cudasim: ",
	},
	"a pinned buffer is filled again before its copy has run": {
		"cuda/internal/staging/ring.go", "if err != nil || !done {", "if err != nil || !done && false {",
		proofs, "cudasim: host-changed",
	},
	"no barrier before the transform's batch is read": {
		"cuda/kernels/ntt/ntt.cu", "block_barrier();\n            exchange_in(x, shared, round);\n        }\n        dft_dif(",
		"exchange_in(x, shared, round);\n        }\n        dft_dif(", kernels, "cudasim: ",
	},
	"no barrier before a sorted batch is written out": {
		"cuda/kernels/msm/batch.cuh", "    block_barrier();\n    return total;", "    return total;", kernels, "cudasim: shared-race",
	},
	"an affine sum takes the other operand's y": {
		"cuda/kernels/msm/affine.cuh", "slope * F::loose_difference(p.x, x) - p.y", "slope * F::loose_difference(p.x, x) - q.y",
		kernels, "affine in runs",
	},
	"no barrier between levels of the merge": {
		"cuda/kernels/msm/bucket.cuh", "merge_run<G>(a, t);\n        block_barrier();", "merge_run<G>(a, t);",
		kernels, "cudasim: race",
	},
	"no barrier in the sum over a block": {
		"cuda/kernels/msm/bucket.cuh", "half[thread_x() - width] = mine;\n        block_barrier();", "half[thread_x() - width] = mine;",
		kernels, "cudasim: shared-race",
	},
	"no barrier before the positions of ones are read": {
		"cuda/kernels/sums/ones.cuh", "        block_barrier();\n        // A warp loads its points", "        // A warp loads its points",
		kernels, "cudasim: shared-race",
	},
	"a tile of a sum forgets the tiles before": {
		"cuda/kernels/msm/bucket.cuh", "return a.tiled ?", "return a.tiled && a.run == 0 ?",
		kernels, "points in tiles of",
	},
	"no barrier before a warp reads the points that its lanes have loaded": {
		"cuda/kernels/common/platform.cuh", "    warp_barrier();\n    T mine", "    T mine",
		kernels, "cudasim: ",
	},
	"no barrier after the totals of a block's exclusive sums are read": {
		"cuda/kernels/common/platform.cuh", "total = scratch[WARP];\n    block_barrier();", "total = scratch[WARP];",
		kernels, "cudasim: shared-race",
	},
}

func TestMutations(t *testing.T) {
	root := root(t)
	for name, m := range mutations {
		data, err := os.ReadFile(filepath.Join(root, m.file))
		require.NoError(t, err)
		require.Equal(t, 1, strings.Count(string(data), m.old), "%s: places in %s", name, m.file)
	}
	if os.Getenv(Variable) != "1" {
		return
	}
	tree := copyOf(t, root)
	for name, m := range mutations {
		t.Run(name, func(t *testing.T) { m.check(t, tree) })
	}
}

// check makes the change in the tree, runs the tests, and takes it back.
func (m mutation) check(t *testing.T, tree string) {
	path := filepath.Join(tree, m.file)
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, []byte(strings.Replace(string(data), m.old, m.new, 1)), 0o644))
	defer func() { require.NoError(t, os.WriteFile(path, data, 0o644)) }()

	const limit = 8 * time.Minute
	ctx, stop := context.WithTimeout(t.Context(), limit)
	defer stop()
	test := exec.CommandContext(ctx, "go", append([]string{"test", "-short", "-vet=off", "-timeout", "6m"}, m.tests...)...)
	test.Dir = tree
	output, err := test.CombinedOutput()
	require.Error(t, err, "tests pass with the change")
	require.NotContains(t, string(output), "build failed")
	require.NotContains(t, string(output), "build.sh kernels:", "the kernels do not compile")
	require.Contains(t, string(output), m.found)
	for line := range strings.Lines(string(output)) {
		if _, message, ok := strings.Cut(line, "cudasim: "); ok {
			t.Log(strings.TrimSpace(message))
			break
		}
	}
}

func root(t *testing.T) string {
	t.Helper()
	_, self, _, ok := runtime.Caller(0)
	require.True(t, ok, "the test binary knows its source files")
	return filepath.Join(filepath.Dir(self), "..", "..", "..")
}

// copyOf copies what the tests need, without what was built.
func copyOf(t *testing.T, root string) string {
	t.Helper()
	tree := t.TempDir()
	for _, part := range []string{"go.mod", "go.sum", "cuda", "engine", "internal", "tests/cudasim", "tests/golden"} {
		err := filepath.WalkDir(filepath.Join(root, part), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || filepath.Ext(path) == ".fatbin" {
				return err
			}
			name, err := filepath.Rel(root, path)
			if err != nil {
				return err
			}
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			to := filepath.Join(tree, name)
			if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
				return err
			}
			return os.WriteFile(to, data, info.Mode().Perm())
		})
		require.NoError(t, err)
	}
	return tree
}
