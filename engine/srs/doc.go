// Package srs holds Groth16 parameter sets over BLS12-381: it reads and writes
// the files that bellperson's Parameters::write makes, checks them, and keeps
// one converted copy of their points outside the Go heap. Engine.OpenSRS does
// all that for a prover; the package is for programs that make sets, or look
// into files.
//
// # The file
//
// No magic, no version, no padding. Counts are u32 big endian; points are
// uncompressed in the zcash encoding: big-endian canonical coordinates, 96
// bytes in G1 (x, y) and 192 in G2 (x.c1, x.c0, y.c1, y.c0), the top three
// bits of the first byte being flags that are clear in a valid file.
//
//	offset  content
//	     0  alpha_g1, beta_g1 (96 each), beta_g2, gamma_g2 (192 each),
//	        delta_g1 (96), delta_g2 (192)
//	   864  count, then ic in G1: one point an input
//	        count, then h in G1: [τ^i·t(τ)/δ], i < m-1
//	        count, then l in G1: one point an aux variable
//	        count, then a in G1: inputs, then the aux variables of a_aux
//	        count, then b_g1 in G1: the inputs of b_inputs, the aux of b_aux
//	        count, then b_g2 in G2: the same variables
//
// # What is checked
//
// Open reads the counts and the verifying key. The counts must add up to the
// file's length and fit each other. The points of the verifying key must be
// canonical, on the curve, in the subgroup and not infinity. Points reads
// everything else; those points must be canonical, on the curve and not
// infinity, and with Options.SubgroupCheck in the subgroup.
//
// Bytes after the last section are refused: bellperson ignores them, but a
// file longer than its counts say is damaged or another file, and none is
// known that has them on purpose. Options.AllowTrailing takes such files.
//
// Files are read with pread from a descriptor that stays open until the last
// Release, so the path may be deleted once Open returned. Nothing is mapped: a
// file cut short while it is read gives ErrChanged, not a signal.
package srs
