package launch_test

import (
	"testing"

	bls "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/stretchr/testify/require"

	"github.com/libcuzk/libcuzk/cuda/driver"
	"github.com/libcuzk/libcuzk/internal/launch"
)

// series is points and scalars on the device whose sums have a closed form:
// points are [gamma^(i mod 2^pool)] G, scalars beta^i.
type series struct {
	*rig
	gamma, beta     fr.Element
	pool            int
	points, scalars launch.Range
	working         launch.Range // scratch of one sum at a time
}

// Sizes of a series: logarithms of the repeated points and of all, and bytes of
// scratch.
const (
	devicePool, deviceMax       = 20, 27
	simulatedPool, simulatedMax = 4, 8
	deviceScratch               = 20 << 30
	simulatedScratch            = 16 << 20
)

func openSeries(t testing.TB) *series {
	t.Helper()
	r := open(t)
	s := &series{rig: r, gamma: r.scalar(), beta: r.scalar(), pool: simulatedPool}
	log, scratch := simulatedMax, uint64(simulatedScratch)
	if onDevice() {
		s.pool, log, scratch = devicePool, deviceMax, deviceScratch
	}
	s.repeatPoints(log)
	s.scalars = s.memory(launch.FrBytes << log)
	s.Launch(launch.Powers(s.scalars, s.beta, fr.One(), 0, 1, 1<<log))
	s.working = s.memory(scratch)
	return s
}

// repeatPoints makes 2^pool points and repeats them up to 2^log.
func (s *series) repeatPoints(log int) {
	pool := uint32(1) << s.pool
	size := launch.G1.AffineBytes()
	s.points = s.memory(size << log)
	logs := s.memory(launch.FrBytes << s.pool)
	s.Launch(launch.Powers(logs, s.gamma, fr.One(), 0, 1, pool))
	table := upload(s.rig, launch.FixedTableG1(multipleG1(fr.One())))
	s.Launch(launch.Fixed(launch.G1, table, logs, s.points.Slice(0, size<<s.pool),
		s.memory(launch.FixedScratchBytes(launch.G1, pool)), pool)...)
	s.Do(func(b *driver.Bound) error {
		for at := size << s.pool; at < s.points.Bytes; at *= 2 {
			if err := b.CopyOnDevice(driver.DevicePtr(s.points.Addr+at), driver.DevicePtr(s.points.Addr), at, s.Stream); err != nil {
				return err
			}
		}
		return b.Synchronize(s.Stream)
	})
}

// sum is that of the first 2^log points.
func (s *series) sum(log int) bls.G1Affine {
	return multipleG1(seriesSum(s.gamma, s.beta, s.pool, log))
}

// seriesSum is sum over i < 2^log of beta^i gamma^(i mod 2^pool).
func seriesSum(gamma, beta fr.Element, pool, log int) fr.Element {
	var both fr.Element
	both.Mul(&gamma, &beta)
	if log <= pool {
		return geometric(both, 1<<log)
	}
	sum, outer := geometric(both, 1<<pool), geometric(power(beta, 1<<pool), 1<<(log-pool))
	return *sum.Mul(&sum, &outer)
}

// geometric is (x^n - 1) / (x - 1).
func geometric(x fr.Element, n int) fr.Element {
	one := fr.One()
	top := vanishing(x, n)
	x.Sub(&x, &one)
	return *top.Div(&top, &x)
}

// scratch is bytes of the series' scratch.
func (s *series) scratch(bytes uint64) launch.Range { return s.working.Slice(0, bytes) }

// msm is the plan and the calls of the sum of the first 2^log points, as a
// partition sums h.
func (s *series) msm(t testing.TB, log int) (launch.MSM, []launch.Call, launch.Range) {
	t.Helper()
	p, err := launch.PlanAffineMSM(1<<log, 16<<30)
	require.NoError(t, err)
	result := s.memory(p.ResultBytes(launch.G1))
	return p, p.Calls(launch.MSMInput{
		Scalars: s.scalars, Points: []launch.Range{s.points}, Scratch: s.scratch(p.ScratchBytes()),
		Results: []launch.Range{result},
	}), result
}

// tiled is msm in tiles of 2^logTile points.
func (s *series) tiled(t testing.TB, log, logTile int) (launch.TiledMSM, []launch.Call, launch.Range) {
	t.Helper()
	p, err := launch.PlanTiledMSM(1<<log, 1<<logTile, ample, launch.G1)
	require.NoError(t, err)
	scratch, result := s.scratch(p.ScratchBytes()), s.memory(p.ResultBytes())
	calls := p.Reset(scratch)
	for first := uint64(0); first < 1<<log; first += 1 << logTile {
		calls = append(calls, p.Tile(launch.TileInput{
			N: 1 << logTile, Scratch: scratch,
			Scalars: s.scalars.Slice(first*launch.FrBytes, launch.FrBytes<<logTile),
			Points:  s.points.Slice(first*launch.G1.AffineBytes(), launch.G1.AffineBytes()<<logTile),
		})...)
	}
	return p, append(calls, p.Reduce(scratch, result)...), result
}

// onHost copies the first 2^log points to registered host memory until the test
// ends, and returns where kernels find them.
func (s *series) onHost(t testing.TB, log int) launch.Range {
	t.Helper()
	size := launch.G1.AffineBytes() << log
	var at driver.DevicePtr
	s.Do(func(b *driver.Bound) error {
		host, err := b.HostAlloc(int(size))
		if err != nil {
			return err
		}
		t.Cleanup(func() { s.Do(func(b *driver.Bound) error { return b.HostFreeDeviceWide(host) }) })
		if at, err = b.HostAddress(host); err != nil {
			return err
		}
		if err = b.CopyToHost(host, driver.DevicePtr(s.points.Addr), s.Stream); err != nil {
			return err
		}
		return b.Synchronize(s.Stream)
	})
	return launch.Range{Addr: uint64(at), Bytes: size}
}

// halfOnes is a bitmap of n variables, half of which are one.
func (s *series) halfOnes(n uint32) launch.Range {
	words := make([]uint32, (n+31)/32)
	for i := range words {
		words[i] = s.random.Uint32()
	}
	return upload(s.rig, words)
}
