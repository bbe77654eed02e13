package launch_test

import (
	"math/bits"
	"testing"

	bls "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fp"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/libcuzk/libcuzk/internal/launch"
)

func encodeG1(points []bls.G1Affine) (file []byte) {
	for _, p := range points {
		b := p.RawBytes()
		file = append(file, b[:]...)
	}
	return file
}

func encodeG2(points []bls.G2Affine) (file []byte) {
	for _, p := range points {
		b := p.RawBytes()
		file = append(file, b[:]...)
	}
	return file
}

func (r *rig) status() launch.Range { return upload(r, noFault[:]) }

// noFault is the status before the first Decode of a section.
var noFault = [launch.DecodeStatusBytes / launch.WordBytes]uint32{launch.None, launch.None}

// offset4 uploads data at an address that is a multiple of 4 and no more.
func (r *rig) offset4(data []byte) launch.Range {
	return upload(r, append(make([]byte, 4), data...)).Slice(4, uint64(len(data)))
}

// firstInfinity is the index of the first point at infinity, or None.
func firstInfinity(logs []fr.Element) uint32 {
	for i := range logs {
		if logs[i].IsZero() {
			return uint32(i)
		}
	}
	return launch.None
}

func TestDecodeAndEncode(t *testing.T) {
	r := open(t)
	for _, n := range sizes([]int{1, 2, 3, 127, 128, 129}, []int{1 << 16}) {
		logs := r.logs(n)
		g1, g2 := pointsG1(logs), pointsG2(logs)
		good := []uint32{launch.None, firstInfinity(logs), 0, 0, 0}

		out, status := r.memory(uint64(n)*launch.G1.AffineBytes()), r.status()
		file := encodeG1(g1)
		r.Launch(launch.Decode(launch.G1, r.offset4(file), out, status, uint32(n), 0, 0, 0))
		requireSame(t, g1, download[bls.G1Affine](r, out, n), "G1")
		assert.Equal(t, good, download[uint32](r, status, 5))
		encoded := r.memory(uint64(len(file)))
		r.Launch(launch.Encode(launch.G1, out, encoded, uint32(n)))
		assert.Equal(t, file, download[byte](r, encoded, len(file)))

		out, status = r.memory(uint64(n)*launch.G2.AffineBytes()), r.status()
		file = encodeG2(g2)
		r.Launch(launch.Decode(launch.G2, r.offset4(file), out, status, uint32(n), 0, 0, 0))
		requireSame(t, g2, download[bls.G2Affine](r, out, n), "G2")
		assert.Equal(t, good, download[uint32](r, status, 5))
		encoded = r.memory(uint64(len(file)))
		r.Launch(launch.Encode(launch.G2, out, encoded, uint32(n)))
		assert.Equal(t, file, download[byte](r, encoded, len(file)))
	}
}

// Pieces of a section land bit-reversed, and the last slot becomes infinity.
func TestDecodeReordered(t *testing.T) {
	r := open(t)
	for _, logSize := range sizes([]int{1, 4, 7}, []int{16}) {
		n := 1<<logSize - 1
		points := pointsG1(r.logs(n))
		want := make([]bls.G1Affine, n+1)
		for i, p := range points {
			want[bits.Reverse32(uint32(i))>>(32-logSize)] = p
		}
		out, status := r.memory(uint64(n+1)*launch.G1.AffineBytes()), r.status()
		split := n / 3
		first, rest := encodeG1(points[:split]), encodeG1(points[split:])
		if split > 0 {
			r.Launch(launch.Decode(launch.G1, r.offset4(first), out, status, uint32(split), 0, 0, uint32(logSize)))
		}
		r.Launch(launch.Decode(launch.G1, r.offset4(rest), out, status, uint32(n-split), uint32(split), 1, uint32(logSize)))
		requireSame(t, want, download[bls.G1Affine](r, out, n+1), "decoded")
	}
}

func TestDecodeRefusesBadPoints(t *testing.T) {
	r := open(t)
	const (
		flags, notCanonical, notOnCurve = 2, 3, 4 // words of the status
		n                               = 200
		first                           = 1000
	)
	p := fp.Modulus().FillBytes(make([]byte, 48))
	cases := map[string]struct {
		fault  int
		change func(point []byte) // x then y, or c1 c0 of x then of y
	}{
		"compressed":                  {flags, func(b []byte) { b[0] |= 0x80 }},
		"sign without compressed":     {flags, func(b []byte) { b[0] |= 0x20 }},
		"infinity with a coordinate":  {flags, func(b []byte) { b[0] |= 0x40 }},
		"first coordinate is p":       {notCanonical, func(b []byte) { copy(b, p) }},
		"last coordinate is p":        {notCanonical, func(b []byte) { copy(b[len(b)-48:], p) }},
		"last coordinate is over p":   {notCanonical, func(b []byte) { b[len(b)-48] |= 0xe0 }},
		"one bit of the last changed": {notOnCurve, func(b []byte) { b[len(b)-1] ^= 1 }},
		"zero without the flag":       {notOnCurve, func(b []byte) { clear(b) }},
	}
	logs := r.scalars(n)
	files := [][]byte{encodeG1(pointsG1(logs)), encodeG2(pointsG2(logs))}
	for name, c := range cases {
		for _, g := range []launch.Group{launch.G1, launch.G2} {
			size := int(g.AffineBytes())
			file := append([]byte(nil), files[g]...)
			for _, i := range []int{n - 1, 150, 3} {
				c.change(file[i*size : (i+1)*size])
			}
			out, status := r.memory((first+n)*g.AffineBytes()), r.status()
			r.Launch(launch.Decode(g, r.offset4(file), out, status, n, first, 0, 0))
			want := []uint32{first + 3, launch.None, 0, 0, 0}
			want[c.fault] = 3
			require.Equal(t, want, download[uint32](r, status, 5), "%s, %v", name, g)
		}
	}
}

func TestFixedBase(t *testing.T) {
	r := open(t)
	base := r.scalar()
	minusOne := fr.NewElement(1)
	minusOne.Neg(&minusOne)
	tables := []launch.Range{
		upload(r, launch.FixedTableG1(multipleG1(base))), upload(r, launch.FixedTableG2(multipleG2(base))),
	}
	for _, n := range sizes([]int{1, 2, 3, 100}, []int{4097, 1 << 16}) {
		scalars := r.logs(n)
		for i, edge := range []fr.Element{fr.NewElement(1), minusOne, {}, fr.NewElement(256), fr.NewElement(255)} {
			if i < n-1 {
				scalars[i] = edge
			}
		}
		logs := make([]fr.Element, n)
		for i := range logs {
			logs[i].Mul(&scalars[i], &base)
		}
		for _, g := range []launch.Group{launch.G1, launch.G2} {
			out := r.memory(uint64(n) * g.AffineBytes())
			r.Launch(launch.Fixed(g, tables[g], upload(r, scalars), out, r.memory(launch.FixedScratchBytes(g, uint32(n))), uint32(n))...)
			if g == launch.G1 {
				requireSame(t, pointsG1(logs), download[bls.G1Affine](r, out, n), "G1")
			} else {
				requireSame(t, pointsG2(logs), download[bls.G2Affine](r, out, n), "G2")
			}
		}
	}
}
