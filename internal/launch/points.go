package launch

import "github.com/libcuzk/libcuzk/cuda/driver"

var (
	kernelDecode = [...]*Kernel{
		declare[decodeArgs]("convert", "cuzk_points_g1_decode", 128),
		declare[decodeArgs]("convert", "cuzk_points_g2_decode", 128),
	}
	kernelEncode = [...]*Kernel{
		declare[encodeArgs]("convert", "cuzk_points_g1_encode", 128),
		declare[encodeArgs]("convert", "cuzk_points_g2_encode", 128),
	}
	kernelGather = declare[gatherArgs]("convert", "cuzk_points_gather", 128)

	kernelFixed = [...]*Kernel{
		declare[fixedArgs]("fixedbase", "cuzk_fixed_g1_multiply", 128),
		declare[fixedArgs]("fixedbase", "cuzk_fixed_g2_multiply", 128),
	}
	kernelAffine = [...]*Kernel{
		declare[affineArgs]("fixedbase", "cuzk_points_g1_affine", 128),
		declare[affineArgs]("fixedbase", "cuzk_points_g2_affine", 128),
	}
)

type decodeArgs struct {
	file, points, status, faults uint64
	n, first, fill, logSize      uint32
}

type encodeArgs struct {
	points, file uint64
	n, _         uint32
}

type gatherArgs struct {
	points, positions, out uint64
	n, quads               uint32
}

type fixedArgs struct {
	table, scalars, out uint64
	n, _                uint32
}

type affineArgs struct {
	in, out, products uint64
	n, _              uint32
}

// DecodeStatusBytes is the size of the status that Decode updates: the first index
// of a bad point and of a point at infinity, which begin as None, and the numbers
// of points with each fault (flags, not canonical, not on the curve), which begin
// as 0.
const DecodeStatusBytes = (2 + pointFaults) * WordBytes

const pointFaults = 3

// Decode turns points of a parameter file (n of them, 4-byte aligned) into
// Montgomery affine form, and checks them. They are points first, first + 1, ...
// of their section. `fill` places behind them become infinity. With logSize > 0,
// point i goes to the place i with its low logSize bits reversed.
func Decode(g Group, file, points, status Range, n, first, fill, logSize uint32) Call {
	written := points.Slice(uint64(first)*g.AffineBytes(), uint64(n+fill)*g.AffineBytes())
	if logSize > 0 {
		written = points.Slice(0, g.AffineBytes()<<logSize)
	}
	return call(kernelDecode[g], uint64(n)+uint64(fill), decodeArgs{
		file: file.Addr, points: points.Addr, status: status.Addr, faults: status.Addr + 2*WordBytes,
		n: n, first: first, fill: fill, logSize: logSize,
	}, reads(file, uint64(n)*g.AffineBytes()), written.touched(driver.Write), updates(status, DecodeStatusBytes))
}

// Encode is the reverse of Decode, without reordering. n >= 1.
func Encode(g Group, points, file Range, n uint32) Call {
	bytes := uint64(n) * g.AffineBytes()
	return call(kernelEncode[g], uint64(n), encodeArgs{points: points.Addr, file: file.Addr, n: n},
		reads(points, bytes), writes(file, bytes))
}

// Gather copies the points at n positions, which may lie in host memory, into
// out; where the position is None, infinity. n >= 1.
func Gather(g Group, points, positions, out Range, n uint32) Call {
	quads := uint32(g.AffineBytes() / quadBytes)
	return call(kernelGather, uint64(n)*uint64(quads), gatherArgs{
		points: points.Addr, positions: positions.Addr, out: out.Addr, n: n, quads: quads,
	}, points.touched(driver.Read), reads(positions, uint64(n)*WordBytes), writes(out, uint64(n)*g.AffineBytes()))
}

// affineEach is the number of points that share an inversion of about 570 products.
const affineEach = 32

// Affine converts n sums to affine points. products is scratch of one coordinate
// for each point. n >= 1.
func Affine(g Group, sums, points, products Range, n uint32) Call {
	return call(kernelAffine[g], uint64(blocks(uint64(n), affineEach)),
		affineArgs{in: sums.Addr, out: points.Addr, products: products.Addr, n: n},
		reads(sums, uint64(n)*g.SumBytes()), writes(points, uint64(n)*g.AffineBytes()),
		updates(products, uint64(n)*g.FieldBytes()))
}

// FixedTableN is the number of points in a fixed-base table: entry
// 255 w + d - 1 is [d 2^(8 w)] B for w < 32, 0 < d < 256. FixedTableG1 and
// FixedTableG2 make it.
const FixedTableN = 32 * fixedEntries

const fixedEntries = 255 // of a window of 8 bits

// FixedScratchBytes is the scratch that Fixed needs.
func FixedScratchBytes(g Group, n uint32) uint64 {
	return align(uint64(n)*g.SumBytes()) + align(uint64(n)*g.FieldBytes())
}

// Fixed writes points[i] = [scalars[i]] B for the base of table. n >= 1.
func Fixed(g Group, table, scalars, points, scratch Range, n uint32) []Call {
	l := Layout{Whole: scratch}
	sums, products := l.Take(uint64(n)*g.SumBytes()), l.Take(uint64(n)*g.FieldBytes())
	return []Call{
		call(kernelFixed[g], uint64(n), fixedArgs{table: table.Addr, scalars: scalars.Addr, out: sums.Addr, n: n},
			reads(table, FixedTableN*g.AffineBytes()), reads(scalars, uint64(n)*FrBytes),
			writes(sums, uint64(n)*g.SumBytes())),
		Affine(g, sums, points, products, n),
	}
}
