package launch

// The probe kernels have an image of their own, testdata/probe.cu, which the
// library does not carry.
const probeImage = "probe"

var (
	kernelProbeField = [...]*Kernel{
		declare[probeFieldArgs](probeImage, "cuzk_probe_fr", 128),
		declare[probeFieldArgs](probeImage, "cuzk_probe_fp", 128),
		declare[probeFieldArgs](probeImage, "cuzk_probe_fp2", 128),
	}
	kernelProbePoints = [...]*Kernel{
		declare[probePointArgs](probeImage, "cuzk_probe_g1", 128),
		declare[probePointArgs](probeImage, "cuzk_probe_g2", 128),
	}
)

type probeFieldArgs struct {
	x, y, out uint64
	n, _      uint32
}

type probePointArgs struct {
	p, q, out uint64
	n, _      uint32
}

// ProbeFieldResults and ProbePointResults are how many values a probe gives
// for each pair of operands.
const (
	ProbeFieldResults = 8
	ProbePointResults = 5
)

// ProbeField computes, for each of n pairs of elements of Fr (32 bytes), Fp
// (48) or Fp2 (96): x + y, x - y, x y, x^2, -x, 2 x, 1/x, and x times the
// Montgomery radix.
func ProbeField(elementBytes uint64, x, y, out Range, n uint32) Call {
	k := kernelProbeField[map[uint64]int{FrBytes: 0, FpBytes: 1, 2 * FpBytes: 2}[elementBytes]]
	bytes := uint64(n) * elementBytes
	return call(k, uint64(n), probeFieldArgs{x: x.Addr, y: y.Addr, out: out.Addr, n: n},
		reads(x, bytes), reads(y, bytes), writes(out, ProbeFieldResults*bytes))
}

// ProbePoints computes, for each of n pairs of affine points: P + Q, 2 P,
// 2 P + 2 Q, 2 P + Q and 1000003 P.
func ProbePoints(g Group, p, q, out Range, n uint32) Call {
	bytes := uint64(n) * g.AffineBytes()
	return call(kernelProbePoints[g], uint64(n), probePointArgs{p: p.Addr, q: q.Addr, out: out.Addr, n: n},
		reads(p, bytes), reads(q, bytes), writes(out, ProbePointResults*uint64(n)*g.SumBytes()))
}
