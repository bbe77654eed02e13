package srs

import (
	"errors"

	"github.com/libcuzk/libcuzk/internal/sentinel"
)

// Each error of this package wraps one of these and names the file, the
// section, the point and the byte offset, what was expected and what is there.
var (
	// ErrRead: the file cannot be opened or read; wraps the system's error.
	ErrRead = errors.New("cannot read")
	// ErrTruncated: the file ends before what its counts announce.
	ErrTruncated = errors.New("file is truncated")
	// ErrTrailing: bytes follow the last section.
	ErrTrailing = errors.New("bytes follow the last section")
	// ErrCounts: the sections do not fit each other.
	ErrCounts = errors.New("section counts do not fit each other")
	// ErrEncoding: a flag bit is set that has no place in such a file.
	ErrEncoding = errors.New("point encoding is not the uncompressed one")
	// ErrNotCanonical: a coordinate is not below the field's modulus.
	ErrNotCanonical = errors.New("coordinate is not below the modulus")
	// ErrNotOnCurve: a point does not satisfy the curve equation.
	ErrNotOnCurve = errors.New("point is not on the curve")
	// ErrNotInSubgroup: a point is on the curve but not of order r.
	ErrNotInSubgroup = errors.New("point is not in the subgroup of prime order")
	// ErrInfinity: a point is infinity where none may be.
	ErrInfinity = errors.New("point is infinity")
	// ErrChanged: the file was written to or cut while it was in use.
	ErrChanged = errors.New("file changed while in use")
	// ErrReleased: the parameter set was used after its last Release.
	ErrReleased = errors.New("parameter set was released")
	// ErrRange: a request past the end of a section or of the buffer.
	ErrRange = errors.New("out of range")
	// ErrMemory: no memory for the converted points; wraps the system's error.
	ErrMemory = sentinel.New(sentinel.ErrHostMemory, "cannot allocate memory for points")
)
