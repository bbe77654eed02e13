package launch_test

import (
	"testing"

	bls "github.com/consensys/gnark-crypto/ecc/bls12-381"

	"github.com/libcuzk/libcuzk/internal/launch"
)

func TestGather(t *testing.T) {
	r := open(t)
	const pool = 70
	logs := r.logs(pool)
	g1, g2 := pointsG1(logs), pointsG2(logs)
	for _, n := range sizes([]int{1, 2, 21, 22, 64, 200}, []int{1 << 16}) {
		positions := make([]uint32, n)
		wantG1, wantG2 := make([]bls.G1Affine, n), make([]bls.G2Affine, n)
		for i := range positions {
			positions[i] = r.random.Uint32N(pool)
			if i%5 == 4 {
				positions[i] = launch.None
				continue
			}
			wantG1[i], wantG2[i] = g1[positions[i]], g2[positions[i]]
		}
		at := upload(r, positions)
		out := r.memory(uint64(n) * launch.G2.AffineBytes())
		r.Launch(launch.Gather(launch.G1, upload(r, g1), at, out, uint32(n)))
		requireSame(t, wantG1, download[bls.G1Affine](r, out, n), "G1")
		r.Launch(launch.Gather(launch.G2, upload(r, g2), at, out, uint32(n)))
		requireSame(t, wantG2, download[bls.G2Affine](r, out, n), "G2")
	}
}
