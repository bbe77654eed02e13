package gpu

import (
	"os"
	"os/exec"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libcuzk/libcuzk/cuda"
	"github.com/libcuzk/libcuzk/engine"
	"github.com/libcuzk/libcuzk/internal/circuits/synth"
)

// held is what this process holds.
type held struct {
	vramMiB, residentMiB, descriptors, threads int
}

func (r *rig) held() (h held) {
	r.t.Helper()
	debug.FreeOSMemory()
	h.vramMiB = r.vramMiB()
	h.residentMiB = residentMiB(r.t)
	h.descriptors, h.threads = entries(r.t, "/proc/self/fd"), entries(r.t, "/proc/self/task")
	return h
}

// check finds what has grown since before. Go's heap and its threads breathe;
// what leaks by proof would show many times, and a context has six threads.
func (h held) check(t *testing.T, before held, vramSlackMiB int) {
	t.Helper()
	const residentSlackMiB, threadSlack = 48, 12
	assert.LessOrEqual(t, h.vramMiB, before.vramMiB+vramSlackMiB, "MiB of device memory")
	assert.LessOrEqual(t, h.residentMiB, before.residentMiB+residentSlackMiB, "MiB of resident memory")
	assert.LessOrEqual(t, h.descriptors, before.descriptors, "descriptors")
	assert.LessOrEqual(t, h.threads, before.threads+threadSlack, "threads")
}

func entries(t *testing.T, folder string) int {
	t.Helper()
	list, err := os.ReadDir(folder)
	require.NoError(t, err)
	return len(list)
}

func residentMiB(t *testing.T) int {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	require.NoError(t, err)
	_, after, found := strings.Cut(string(status), "VmRSS:")
	require.True(t, found)
	kib, err := strconv.Atoi(strings.Fields(after)[0])
	require.NoError(t, err)
	return kib >> 10
}

// vramMiB is what is used of device 0, by everybody.
func (r *rig) vramMiB() int {
	r.t.Helper()
	if r.sim != nil {
		return int(r.sim.Report().Devices[0].Used >> 20)
	}
	out, err := exec.Command("nvidia-smi", "--id=0", "--query-gpu=memory.used", "--format=csv,noheader,nounits").Output()
	require.NoError(r.t, err, "nvidia-smi")
	mib, err := strconv.Atoi(strings.TrimSpace(string(out)))
	require.NoError(r.t, err)
	return mib
}

func TestAThousandProofsLeaveNothing(t *testing.T) {
	r := open(t, cuda.Options{})
	c := r.circuit(synth.PoRepLike(pick(1000, 20), 5), 1)
	defer c.free()
	prove := func(times int) {
		for i := range times {
			const atOnce = 4
			parts, proofs := r.proveCall(c, i, atOnce)
			if i%10 == 0 {
				require.Equal(t, c.ExpectedProof(parts[0].R, parts[0].S), proofs[0])
			}
		}
	}
	prove(pick(50, 2))
	before := r.held()
	prove(pick(250, 5))
	after := r.held()
	t.Logf("before %+v, after %+v", before, after)
	after.check(t, before, 0)
}

// Engines that come and go give the card back.
func TestEnginesThatComeAndGoLeaveNothing(t *testing.T) {
	r := open(t, cuda.Options{})
	engines := func(times int) {
		for range times {
			sub := &rig{t: t, sim: r.sim, card: r.setup()}
			e, err := engine.New(engine.Config{Providers: providers(cuda.Options{})})
			require.NoError(t, err)
			sub.Engine = e
			c := sub.circuit(synth.PoRepLike(20, 2), 1)
			sub.prove(c.srs, c.partition(0), engine.AnyDevice)
			c.free()
			require.NoError(t, e.Close())
		}
	}
	engines(2)
	before := r.held()
	engines(pick(10, 3))
	after := r.held()
	t.Logf("before %+v, after %+v", before, after)
	after.check(t, before, 0)
}
