//go:build unix && !linux

package hostmem

const unreserved = reserved

func adviseHuge([]byte) {}
