package hostmem

import "unsafe"

// BytesOf views elements without Go pointers as bytes.
func BytesOf[T any](elements []T) []byte {
	var element T
	// SAFETY: the view has the length of the slice and keeps its array alive.
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(elements))), len(elements)*int(unsafe.Sizeof(element)))
}
