package srs

import (
	"encoding/binary"
	"errors"
	"fmt"
	"unicode/utf8"
)

// lookBytes is how much of each end of a refused file is looked at.
const lookBytes = 512

// likely adds to err, about a file that is damaged or none of parameters, what the
// file looks like.
func (p *Params) likely(err error) error {
	if !errors.Is(err, ErrTruncated) && !errors.Is(err, ErrTrailing) && !errors.Is(err, ErrCounts) &&
		!errors.Is(err, ErrEncoding) && !errors.Is(err, ErrNotCanonical) && !errors.Is(err, ErrNotOnCurve) {
		return err
	}
	size := p.source.Size()
	begin := p.piece(0, min(size, lookBytes))
	end := p.piece(max(0, size-lookBytes), min(size, lookBytes))
	switch {
	case len(begin) > 0 && isText(begin):
		return fmt.Errorf("it looks like a text file: %w", err)
	case p.isVerifyingKey():
		return fmt.Errorf("it looks like a verifying key, not like the parameters: %w", err)
	case len(end) > 0 && isZero(end):
		return fmt.Errorf("its end is empty, as in a file that was not downloaded to its end: %w", err)
	}
	return err
}

// piece is nil if it cannot be read.
func (p *Params) piece(offset, length int64) []byte {
	b := make([]byte, length)
	if p.readAt(b, offset) != nil {
		return nil
	}
	return b
}

// isVerifyingKey reports whether the file ends with the points of the inputs, as
// bellperson's VerifyingKey::write makes it.
func (p *Params) isVerifyingKey() bool {
	count := p.piece(headerBytes, min(countBytes, max(0, p.source.Size()-headerBytes)))
	return len(count) == countBytes &&
		p.source.Size() == headerBytes+countBytes+int64(binary.BigEndian.Uint32(count))*G1Bytes
}

func isText(b []byte) bool {
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		if r == utf8.RuneError && len(b) >= utf8.UTFMax || r < ' ' && r != '\n' && r != '\r' && r != '\t' {
			return false
		}
		b = b[n:]
	}
	return true
}

func isZero(b []byte) bool {
	for _, x := range b {
		if x != 0 {
			return false
		}
	}
	return true
}
