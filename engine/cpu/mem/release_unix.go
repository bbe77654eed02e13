//go:build unix

package mem

import "golang.org/x/sys/unix"

func release(raw []byte) {
	if err := unix.Munmap(raw); err != nil {
		panic("BUG: mem: unmapping a buffer: " + err.Error())
	}
}
