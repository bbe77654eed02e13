package backend

import "errors"

// ErrInternal is a panic that was contained: a bug of ours. A device that
// works on goroutines of its own must contain theirs, since nobody else can.
var ErrInternal = errors.New("internal error")
