package driver

import (
	"errors"
	"fmt"
	"unsafe"
)

// MemInfo is the device memory that is free, and all there is, in bytes, over
// all processes. It does not wait for running kernels.
func (b *Bound) MemInfo() (free, total uint64, err error) {
	err = b.fail(b.d.fn.MemGetInfo(&free, &total), "cuMemGetInfo", "")
	return free, total, err
}

// MemAlloc allocates device memory.
func (b *Bound) MemAlloc(bytes uint64) (DevicePtr, error) {
	var p DevicePtr
	err := b.fail(b.d.fn.MemAlloc(&p, bytes), "cuMemAlloc", "%d bytes", bytes)
	return p, err
}

// MemFreeDeviceWide frees what MemAlloc gave. It waits for all running kernels.
func (b *Bound) MemFreeDeviceWide(p DevicePtr) error {
	return b.fail(b.d.fn.MemFree(p), "cuMemFree", "%#x", uint64(p))
}

// HostAlloc allocates pinned host memory. The slice is C memory: it stays
// until HostFreeDeviceWide or the end of the context.
func (b *Bound) HostAlloc(bytes int) ([]byte, error) {
	var p unsafe.Pointer
	if err := b.fail(b.d.fn.MemHostAlloc(&p, uint64(bytes), hostAllocPortable), "cuMemHostAlloc", "%d bytes", bytes); err != nil {
		return nil, err
	}
	// SAFETY: p is C memory of this size that lives until it is freed.
	return unsafe.Slice((*byte)(p), bytes), nil
}

// HostFreeDeviceWide frees what HostAlloc gave. It waits for all running kernels.
func (b *Bound) HostFreeDeviceWide(p []byte) error {
	return b.fail(b.d.fn.MemFreeHost(bytesOf(p)), "cuMemFreeHost", "%d bytes", len(p))
}

// HostRegister pins memory that exists already, for all contexts and for their
// kernels to read; p must not be Go heap. It does not wait for running kernels.
// The registration ends with this context.
func (b *Bound) HostRegister(p []byte) error {
	code := b.d.fn.MemHostRegister(bytesOf(p), uint64(len(p)), hostRegisterPortable|hostRegisterDeviceMap)
	return b.fail(code, "cuMemHostRegister", "%d bytes", len(p))
}

// HostUnregister undoes HostRegister. Nothing enqueued may still use p; it does
// not wait for running kernels.
func (b *Bound) HostUnregister(p []byte) error {
	return b.fail(b.d.fn.MemHostUnregister(bytesOf(p)), "cuMemHostUnregister", "%d bytes", len(p))
}

// HostAddress is where kernels find registered memory.
func (b *Bound) HostAddress(p []byte) (DevicePtr, error) {
	var at DevicePtr
	err := b.fail(b.d.fn.MemHostGetDevicePointer(&at, bytesOf(p), 0), "cuMemHostGetDevicePointer", "%d bytes", len(p))
	return at, err
}

// CopyToDevice enqueues a copy. src is read after the call returns unless it
// is pageable memory, so it must be pinned memory that stays as it is until
// the copy has run.
func (b *Bound) CopyToDevice(dst DevicePtr, src []byte, s Stream) error {
	if len(src) == 0 {
		return nil
	}
	b.noteCopy()
	b.dev.uploaded.Add(uint64(len(src)))
	code := b.d.fn.MemcpyHtoDAsync(dst, bytesOf(src), uint64(len(src)), s)
	return b.fail(code, "cuMemcpyHtoDAsync", "%d bytes to %#x", len(src), uint64(dst))
}

// CopyToHost enqueues a copy; dst is pinned memory, valid once it has run.
func (b *Bound) CopyToHost(dst []byte, src DevicePtr, s Stream) error {
	if len(dst) == 0 {
		return nil
	}
	b.noteCopy()
	code := b.d.fn.MemcpyDtoHAsync(bytesOf(dst), src, uint64(len(dst)), s)
	return b.fail(code, "cuMemcpyDtoHAsync", "%d bytes from %#x", len(dst), uint64(src))
}

// CopyOnDevice enqueues a copy between two places of the card.
func (b *Bound) CopyOnDevice(dst, src DevicePtr, bytes uint64, s Stream) error {
	if bytes == 0 {
		return nil
	}
	b.noteCopy()
	code := b.d.fn.MemcpyDtoDAsync(dst, src, bytes, s)
	return b.fail(code, "cuMemcpyDtoDAsync", "%d bytes from %#x to %#x", bytes, uint64(src), uint64(dst))
}

// Fill enqueues setting bytes of device memory to one value.
func (b *Bound) Fill(dst DevicePtr, value byte, bytes uint64, s Stream) error {
	if bytes == 0 {
		return nil
	}
	b.noteCopy()
	return b.fail(b.d.fn.MemsetD8Async(dst, value, bytes, s), "cuMemsetD8Async", "%d bytes at %#x", bytes, uint64(dst))
}

// deviceMemory describes physical memory of a card to the virtual memory calls.
func (b *Bound) deviceMemory() *allocationProp {
	return &allocationProp{Type: allocationPinned, Location: memLocation{locationDevice, int32(b.dev.handle)}}
}

// The virtual memory calls below neither wait for running kernels nor stop them.

// Granularity is the unit in bytes of physical memory and of its mapping.
func (b *Bound) Granularity() (uint64, error) {
	var bytes uint64
	code := b.d.fn.MemGetAllocationGranularity(&bytes, b.deviceMemory(), granularityRecommended)
	return bytes, b.fail(code, "cuMemGetAllocationGranularity", "")
}

// AddressReserve reserves device addresses; nothing is behind them yet.
func (b *Bound) AddressReserve(bytes, alignment uint64) (DevicePtr, error) {
	var p DevicePtr
	err := b.fail(b.d.fn.MemAddressReserve(&p, bytes, alignment, 0, 0), "cuMemAddressReserve", "%d bytes", bytes)
	if Of(err, CauseAddresses) {
		err = fmt.Errorf("%w: the process has too few addresses left, of which a device needs as many as it has bytes "+
			"(ulimit -v, RLIMIT_AS)", err)
	}
	return p, err
}

// AddressFree gives reserved addresses back; nothing may be mapped there.
func (b *Bound) AddressFree(p DevicePtr, bytes uint64) error {
	return b.fail(b.d.fn.MemAddressFree(p, bytes), "cuMemAddressFree", "%d bytes at %#x", bytes, uint64(p))
}

// Create allocates physical memory, a multiple of Granularity.
func (b *Bound) Create(bytes uint64) (Allocation, error) {
	var h Allocation
	err := b.fail(b.d.fn.MemCreate(&h, bytes, b.deviceMemory(), 0), "cuMemCreate", "%d bytes", bytes)
	return h, err
}

// Release gives physical memory back once it is mapped nowhere.
func (b *Bound) Release(h Allocation) error {
	return b.fail(b.d.fn.MemRelease(h), "cuMemRelease", "")
}

// Map puts physical memory behind reserved addresses and lets kernels use it.
func (b *Bound) Map(p DevicePtr, bytes uint64, h Allocation) error {
	if err := b.fail(b.d.fn.MemMap(p, bytes, 0, h, 0), "cuMemMap", "%d bytes at %#x", bytes, uint64(p)); err != nil {
		return err
	}
	access := &accessDesc{memLocation{locationDevice, int32(b.dev.handle)}, accessReadWrite}
	err := b.fail(b.d.fn.MemSetAccess(p, bytes, access, 1), "cuMemSetAccess", "%d bytes at %#x", bytes, uint64(p))
	if err != nil {
		err = errors.Join(err, b.Unmap(p, bytes))
	}
	return err
}

// Unmap takes the physical memory away. Nothing enqueued may still use it.
func (b *Bound) Unmap(p DevicePtr, bytes uint64) error {
	return b.fail(b.d.fn.MemUnmap(p, bytes), "cuMemUnmap", "%d bytes at %#x", bytes, uint64(p))
}
