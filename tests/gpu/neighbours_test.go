package gpu

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libcuzk/libcuzk/cuda"
	"github.com/libcuzk/libcuzk/cuda/driver"
	"github.com/libcuzk/libcuzk/engine"
	"github.com/libcuzk/libcuzk/internal/circuits/synth"
	"github.com/libcuzk/libcuzk/internal/cudatest"
)

const (
	// leaveVariable makes TestHolder hold all of the card but so many bytes.
	leaveVariable = "CUZK_TEST_LEAVE"
	// provesVariable makes TestProver prove so often.
	provesVariable = "CUZK_TEST_PROVES"

	// chunkBytes is what memory is mapped in (sched.ChunkBytes): a job and its
	// parameters take at least two.
	chunkBytes = 256 << 20
	// neverThatLong is a time for which a test that goes on waits.
	neverThatLong = 5 * time.Minute
)

// neighbour is something that holds most of the card until it is let go.
type neighbour struct{ letGo func() }

// fill lets another process take all of the card but so much; on the simulator,
// which no two processes share, its own neighbour does.
func (r *rig) fill(leave int64) *neighbour {
	r.t.Helper()
	if r.sim != nil {
		d := r.sim.Report().Devices[0]
		bytes := int64(simulatedCard-d.Used) - leave
		r.sim.Seize(0, bytes)
		return &neighbour{func() { r.sim.Seize(0, -bytes) }}
	}
	child := exec.Command(os.Args[0], "-test.run", "^TestHolder$", "-test.v")
	child.Env = append(os.Environ(), fmt.Sprintf("%s=%d", leaveVariable, leave))
	child.Stderr = os.Stderr
	ends, err := child.StdinPipe()
	require.NoError(r.t, err)
	out, err := child.StdoutPipe()
	require.NoError(r.t, err)
	require.NoError(r.t, child.Start())
	lines := bufio.NewScanner(out)
	for lines.Scan() && !strings.HasPrefix(lines.Text(), "holding") {
	}
	r.t.Log("another process is ", lines.Text())
	return &neighbour{func() {
		require.NoError(r.t, ends.Close())
		_, err := io.Copy(io.Discard, out)
		require.NoError(r.t, err)
		require.NoError(r.t, child.Wait())
	}}
}

// TestHolder is the process that fill starts on a card. It ends with its input.
func TestHolder(t *testing.T) {
	text := os.Getenv(leaveVariable)
	if text == "" {
		t.Skip("runs as a child of another test")
	}
	leave, err := strconv.ParseUint(text, 10, 64)
	require.NoError(t, err)
	c := cudatest.Open(t)
	var free uint64
	c.Do(func(b *driver.Bound) (err error) {
		free, _, err = b.MemInfo()
		return err
	})
	require.Greater(t, free, leave)
	c.Alloc(free - leave)
	fmt.Printf("holding %d bytes of the card, all but %d\n", free-leave, leave)
	_, err = io.Copy(io.Discard, os.Stdin)
	require.NoError(t, err)
}

// simulatedCard is the default size of the simulator's.
const simulatedCard = 16 << 30

// Bytes that a neighbour leaves: no room for a context of 0.51 GiB; and room for
// an open card (712 MiB on an H200) and a chunk, but not for the two that a
// partition and its parameters take.
const (
	leavesNoContext = 100 << 20
	leavesOneChunk  = 1000 << 20
)

// A card that another process fills: what is missing is told, or waited for.
func TestNeighbourHoldsMostOfTheCard(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir()) // where the advisory lock is
	shape := synth.PoRepLike(pick(1<<14, 40), 5)
	const budget = 4 << 30
	for name, leave := range map[string]int64{"no room for a context": leavesNoContext, "no room for a job": leavesOneChunk} {
		t.Run(name+", and no time to wait", func(t *testing.T) {
			r := open(t, cuda.Options{BudgetBytes: budget})
			n := r.fill(leave)
			defer n.letGo()
			err := r.proveOne(shape)
			require.Error(t, err)
			t.Log(err)
			assert.True(t, driver.Is(err, driver.ErrorOutOfMemory))
			assert.Regexp(t, `(needs|map) \d+ bytes.*\d{9,} bytes`, err.Error(), "what is needed, and how large the card is")
		})
		t.Run(name+", until it is gone", func(t *testing.T) {
			r := open(t, cuda.Options{BudgetBytes: budget, MemoryWait: neverThatLong})
			n := r.fill(leave)
			added := make(chan *circuit, 1)
			go func() {
				defer close(added)
				c, err := r.addCircuit(shape, 1)
				if assert.NoError(t, err) {
					added <- c
				}
			}()
			time.Sleep(pick(time.Second, 10*time.Millisecond)) // it waits by then, or finds room at once: both are right
			n.letGo()
			if c := <-added; c != nil {
				p := c.partition(0)
				assert.Equal(t, c.ExpectedProof(p.R, p.S), r.prove(c.srs, p, engine.AnyDevice))
				c.free()
			}
		})
	}
}

// proveOne opens a circuit's parameters and proves it once.
func (r *rig) proveOne(shape synth.Shape) error {
	c, err := r.addCircuit(shape, 1)
	if err != nil {
		return err
	}
	defer c.free()
	_, err = r.Prove(r.t.Context(), c.srs, c.partition(0), engine.DefaultProveOptions())
	return err
}

// Two processes prove on one card, on which a third leaves room for one of them
// to work beside the other's context. On the simulator each has a card of its
// own.
func TestTwoProcessesOnOneCard(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	const leavesTwoContextsAndThreeChunks = 2*(720<<20) + 3*chunkBytes
	r := open(t, cuda.Options{}) // opens nothing itself
	n := r.fill(leavesTwoContextsAndThreeChunks)
	defer n.letGo()
	const processes = 2
	type result struct {
		out []byte
		err error
	}
	results := make(chan result, processes)
	for range processes {
		child := exec.Command(os.Args[0], "-test.run", "^TestProver$", "-test.v")
		child.Env = append(os.Environ(), fmt.Sprintf("%s=%d", provesVariable, pick(10, 2)))
		go func() {
			out, err := child.CombinedOutput()
			results <- result{out, err}
		}()
	}
	for range processes {
		got := <-results
		assert.NoError(t, got.err, "%s", got.out)
		account := regexp.MustCompile(`proved .*`).Find(got.out)
		assert.NotEmpty(t, account, "%s", got.out)
		t.Logf("one of two processes has %s", account)
	}
}

// TestProver is one of the processes of the test above.
func TestProver(t *testing.T) {
	text := os.Getenv(provesVariable)
	if text == "" {
		t.Skip("runs as a child of another test")
	}
	jobs, err := strconv.Atoi(text)
	require.NoError(t, err)
	r := open(t, cuda.Options{MemoryWait: neverThatLong})
	begin := time.Now()
	c := r.circuitOfCPU(synth.PoRepLike(pick(1<<16, 40), 5), uint64(os.Getpid()))
	defer c.free()
	made := time.Now()
	for i := range jobs {
		const partitions = 3
		parts, proofs := r.proveCall(c, i, partitions)
		for k, p := range parts {
			require.Equal(t, c.ExpectedProof(p.R, p.S), proofs[k])
		}
	}
	fmt.Printf("proved %d calls in %.2f s, parameters ready after %.2f s\n", jobs, time.Since(made).Seconds(), made.Sub(begin).Seconds())
}
