// Package groth16 holds what a Groth16 proof over BLS12-381 is made of, apart
// from the heavy sums: the assignment and its validation, the assembly of a
// proof from five sums, and verification.
//
// It is for programs that fill in assignments, send proofs, or verify them
// without an engine. It knows nothing of files, devices or scheduling.
package groth16
