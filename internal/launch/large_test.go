package launch_test

import (
	"fmt"
	"testing"

	bls "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/stretchr/testify/assert"

	"github.com/libcuzk/libcuzk/internal/launch"
)

// TestLargeSums checks sums that are too large for gnark-crypto by the closed
// form of a series; on the simulator, small ones.
func TestLargeSums(t *testing.T) {
	s := openSeries(t)
	for _, log := range sizes([]int{3, 6}, []int{14, 16, 18, 20, 22, 24, 26, 27}) {
		t.Run(fmt.Sprintf("2^%d", log), func(t *testing.T) {
			p, calls, result := s.msm(t, log)
			s.Launch(calls...)
			assert.Equal(t, s.sum(log), affineG1(p.ResultG1(download[byte](s.rig, result, int(result.Bytes)))))
		})
	}
	for _, log := range sizes([]int{6}, []int{22, 24, 27}) {
		t.Run(fmt.Sprintf("2^%d in tiles", log), func(t *testing.T) {
			p, calls, result := s.tiled(t, log, min(log-2, 21))
			s.Launch(calls...)
			assert.Equal(t, s.sum(log), affineG1(p.ResultG1(download[byte](s.rig, result, int(result.Bytes)))))
		})
	}
}

// TestOnesOverTheBus sees that a sum over ones is the same wherever the points
// lie, and however kernels read them.
func TestOnesOverTheBus(t *testing.T) {
	s := openSeries(t)
	for _, log := range sizes([]int{7}, []int{22}) {
		t.Run(fmt.Sprintf("2^%d", log), func(t *testing.T) {
			var sums []bls.G1Affine
			for _, c := range s.ones(t, log) {
				result := s.memory(launch.G1.SumBytes())
				s.Launch(c.calls(result)...)
				sums = append(sums, affineG1(launch.SumsG1(download[byte](s.rig, result, int(result.Bytes)), 1)[0]))
			}
			assert.Equal(t, sums[0], sums[1], "from the host, a point a thread")
			assert.Equal(t, sums[0], sums[2], "from the host, a warp at a time")
		})
	}
}

// onesCase is one way to read the points of a sum over ones.
type onesCase struct {
	name  string
	calls func(result launch.Range) []launch.Call
}

// ones are the ways, for the first 2^log points, half of which are added.
func (s *series) ones(t testing.TB, log int) []onesCase {
	t.Helper()
	n := uint32(1) << log
	bitmap, scratch := s.halfOnes(n), s.memory(launch.OnesScratchBytes(launch.G1))
	host := s.onHost(t, log)
	of := func(points launch.Range, onHost bool) func(launch.Range) []launch.Call {
		return func(result launch.Range) []launch.Call {
			return launch.Section{OnHost: onHost}.Ones(launch.G1, points, bitmap, n, scratch, result)
		}
	}
	return []onesCase{
		{"device", of(s.points.Slice(0, host.Bytes), false)},
		{"host,points", of(host, false)},
		{"host,warps", of(host, true)},
	}
}
