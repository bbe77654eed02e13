package driver

import "unsafe"

// DevicePtr is CUdeviceptr: an address in the card's memory. 0 is none.
type DevicePtr uint64

// Handles of the driver API. Their zero value is none (for Stream: the
// context's default stream, which this package never uses).
type (
	deviceHandle  int32   // CUdevice
	contextHandle uintptr // CUcontext
	moduleHandle  uintptr // CUmodule
	// Function is CUfunction, a kernel of a loaded module.
	Function uintptr
	// Stream is CUstream.
	Stream uintptr
	// Event is CUevent.
	Event uintptr
	// Allocation is CUmemGenericAllocationHandle: physical memory of a card,
	// visible at no address until it is mapped.
	Allocation uint64
)

// memLocation is CUmemLocation.
type memLocation struct {
	Type int32
	ID   int32
}

// allocationProp is CUmemAllocationProp.
type allocationProp struct {
	Type            int32
	HandleTypes     int32
	Location        memLocation
	Win32MetaData   uintptr
	CompressionType uint8
	RDMACapable     uint8
	Usage           uint16
	_               [4]byte
}

// accessDesc is CUmemAccessDesc.
type accessDesc struct {
	Location memLocation
	Flags    int32
}

// Values of the driver API's enumerations that this package passes.
// Source: cuda.h of CUDA 13.0.
const (
	allocationPinned       = 1    // CU_MEM_ALLOCATION_TYPE_PINNED
	locationDevice         = 1    // CU_MEM_LOCATION_TYPE_DEVICE
	accessReadWrite        = 3    // CU_MEM_ACCESS_FLAGS_PROT_READWRITE
	granularityRecommended = 1    // CU_MEM_ALLOC_GRANULARITY_RECOMMENDED
	streamNonBlocking      = 1    // CU_STREAM_NON_BLOCKING: no tie to the default stream
	hostAllocPortable      = 1    // CU_MEMHOSTALLOC_PORTABLE: pinned for every context
	hostRegisterPortable   = 1    // CU_MEMHOSTREGISTER_PORTABLE
	hostRegisterDeviceMap  = 2    // CU_MEMHOSTREGISTER_DEVICEMAP
	contextScheduleYield   = 2    // CU_CTX_SCHED_YIELD: a waiting call gives the core away
	contextMapHost         = 8    // CU_CTX_MAP_HOST
	contextKeepLocal       = 0x10 // CU_CTX_LMEM_RESIZE_TO_MAX: local memory never shrinks; today's drivers do that anyway
	limitStackSize         = 0    // CU_LIMIT_STACK_SIZE: local bytes of a thread
)

// Table holds one driver function each, called by its exported name, which is
// in the tag. Where cuda.h maps a name to a versioned one, the tag has that
// version. Fields tagged optional stay nil when the library lacks them.
type Table struct {
	// CUresult cuInit(unsigned int flags)
	Init func(flags uint32) Result `cu:"cuInit"`
	// CUresult cuDriverGetVersion(int *version): 1000 major + 10 minor
	DriverGetVersion func(version *int32) Result `cu:"cuDriverGetVersion"`
	// CUresult cuGetErrorName(CUresult, const char **)
	GetErrorName func(code Result, name **byte) Result `cu:"cuGetErrorName"`
	// CUresult cuGetErrorString(CUresult, const char **)
	GetErrorString func(code Result, text **byte) Result `cu:"cuGetErrorString"`

	// CUresult cuDeviceGetCount(int *)
	DeviceGetCount func(count *int32) Result `cu:"cuDeviceGetCount"`
	// CUresult cuDeviceGet(CUdevice *, int ordinal)
	DeviceGet func(dev *deviceHandle, ordinal int32) Result `cu:"cuDeviceGet"`
	// CUresult cuDeviceGetName(char *, int length, CUdevice)
	DeviceGetName func(name *byte, length int32, dev deviceHandle) Result `cu:"cuDeviceGetName"`
	// CUresult cuDeviceTotalMem(size_t *, CUdevice)
	DeviceTotalMem func(bytes *uint64, dev deviceHandle) Result `cu:"cuDeviceTotalMem_v2"`
	// CUresult cuDeviceGetAttribute(int *, CUdevice_attribute, CUdevice)
	DeviceGetAttribute func(value *int32, attribute Attribute, dev deviceHandle) Result `cu:"cuDeviceGetAttribute"`
	// CUresult cuDeviceGetUuid(CUuuid *, CUdevice)
	DeviceGetUUID func(uuid *[16]byte, dev deviceHandle) Result `cu:"cuDeviceGetUuid_v2"`

	// CUresult cuCtxCreate(CUcontext *, unsigned int flags, CUdevice)
	CtxCreate func(ctx *contextHandle, flags uint32, dev deviceHandle) Result `cu:"cuCtxCreate_v2"`
	// CUresult cuCtxDestroy(CUcontext)
	CtxDestroy func(ctx contextHandle) Result `cu:"cuCtxDestroy_v2"`
	// CUresult cuCtxSetCurrent(CUcontext)
	CtxSetCurrent func(ctx contextHandle) Result `cu:"cuCtxSetCurrent"`
	// CUresult cuCtxSetLimit(CUlimit, size_t)
	CtxSetLimit func(limit int32, value uint64) Result `cu:"cuCtxSetLimit"`
	// CUresult cuCtxGetLimit(size_t *, CUlimit)
	CtxGetLimit func(value *uint64, limit int32) Result `cu:"cuCtxGetLimit"`
	// CUresult cuCtxSynchronize(void)
	CtxSynchronize func() Result `cu:"cuCtxSynchronize"`

	// CUresult cuMemGetInfo(size_t *free, size_t *total)
	MemGetInfo func(free, total *uint64) Result `cu:"cuMemGetInfo_v2"`
	// CUresult cuMemAlloc(CUdeviceptr *, size_t)
	MemAlloc func(ptr *DevicePtr, bytes uint64) Result `cu:"cuMemAlloc_v2"`
	// CUresult cuMemFree(CUdeviceptr)
	MemFree func(ptr DevicePtr) Result `cu:"cuMemFree_v2"`
	// CUresult cuMemHostAlloc(void **, size_t, unsigned int flags)
	MemHostAlloc func(ptr *unsafe.Pointer, bytes uint64, flags uint32) Result `cu:"cuMemHostAlloc"`
	// CUresult cuMemFreeHost(void *)
	MemFreeHost func(ptr unsafe.Pointer) Result `cu:"cuMemFreeHost"`
	// CUresult cuMemHostRegister(void *, size_t, unsigned int flags)
	MemHostRegister func(ptr unsafe.Pointer, bytes uint64, flags uint32) Result `cu:"cuMemHostRegister_v2"`
	// CUresult cuMemHostUnregister(void *)
	MemHostUnregister func(ptr unsafe.Pointer) Result `cu:"cuMemHostUnregister"`
	// CUresult cuMemHostGetDevicePointer(CUdeviceptr *, void *, unsigned int flags)
	MemHostGetDevicePointer func(dev *DevicePtr, ptr unsafe.Pointer, flags uint32) Result `cu:"cuMemHostGetDevicePointer_v2"`

	// CUresult cuMemGetAllocationGranularity(size_t *, const CUmemAllocationProp *, option)
	MemGetAllocationGranularity func(bytes *uint64, prop *allocationProp, option uint32) Result `cu:"cuMemGetAllocationGranularity"`
	// CUresult cuMemAddressReserve(CUdeviceptr *, size_t, size_t alignment, CUdeviceptr hint, flags)
	MemAddressReserve func(ptr *DevicePtr, bytes, alignment uint64, hint DevicePtr, flags uint64) Result `cu:"cuMemAddressReserve"`
	// CUresult cuMemAddressFree(CUdeviceptr, size_t)
	MemAddressFree func(ptr DevicePtr, bytes uint64) Result `cu:"cuMemAddressFree"`
	// CUresult cuMemCreate(handle *, size_t, const CUmemAllocationProp *, flags)
	MemCreate func(handle *Allocation, bytes uint64, prop *allocationProp, flags uint64) Result `cu:"cuMemCreate"`
	// CUresult cuMemRelease(handle)
	MemRelease func(handle Allocation) Result `cu:"cuMemRelease"`
	// CUresult cuMemMap(CUdeviceptr, size_t, size_t offset, handle, flags)
	MemMap func(ptr DevicePtr, bytes, offset uint64, handle Allocation, flags uint64) Result `cu:"cuMemMap"`
	// CUresult cuMemUnmap(CUdeviceptr, size_t)
	MemUnmap func(ptr DevicePtr, bytes uint64) Result `cu:"cuMemUnmap"`
	// CUresult cuMemSetAccess(CUdeviceptr, size_t, const CUmemAccessDesc *, size_t count)
	MemSetAccess func(ptr DevicePtr, bytes uint64, desc *accessDesc, count uint64) Result `cu:"cuMemSetAccess"`

	// CUresult cuMemcpyHtoDAsync(CUdeviceptr, const void *, size_t, CUstream)
	MemcpyHtoDAsync func(dst DevicePtr, src unsafe.Pointer, bytes uint64, s Stream) Result `cu:"cuMemcpyHtoDAsync_v2"`
	// CUresult cuMemcpyDtoHAsync(void *, CUdeviceptr, size_t, CUstream)
	MemcpyDtoHAsync func(dst unsafe.Pointer, src DevicePtr, bytes uint64, s Stream) Result `cu:"cuMemcpyDtoHAsync_v2"`
	// CUresult cuMemcpyDtoDAsync(CUdeviceptr, CUdeviceptr, size_t, CUstream)
	MemcpyDtoDAsync func(dst, src DevicePtr, bytes uint64, s Stream) Result `cu:"cuMemcpyDtoDAsync_v2"`
	// CUresult cuMemsetD8Async(CUdeviceptr, unsigned char, size_t n, CUstream)
	MemsetD8Async func(dst DevicePtr, value uint8, n uint64, s Stream) Result `cu:"cuMemsetD8Async"`
	// CUresult cuMemsetD32Async(CUdeviceptr, unsigned int, size_t n, CUstream)
	MemsetD32Async func(dst DevicePtr, value uint32, n uint64, s Stream) Result `cu:"cuMemsetD32Async"`

	// CUresult cuStreamCreate(CUstream *, unsigned int flags)
	StreamCreate func(s *Stream, flags uint32) Result `cu:"cuStreamCreate"`
	// CUresult cuStreamDestroy(CUstream)
	StreamDestroy func(s Stream) Result `cu:"cuStreamDestroy_v2"`
	// CUresult cuStreamQuery(CUstream)
	StreamQuery func(s Stream) Result `cu:"cuStreamQuery"`
	// CUresult cuStreamSynchronize(CUstream)
	StreamSynchronize func(s Stream) Result `cu:"cuStreamSynchronize"`
	// CUresult cuStreamWaitEvent(CUstream, CUevent, unsigned int flags)
	StreamWaitEvent func(s Stream, e Event, flags uint32) Result `cu:"cuStreamWaitEvent"`

	// CUresult cuEventCreate(CUevent *, unsigned int flags)
	EventCreate func(e *Event, flags uint32) Result `cu:"cuEventCreate"`
	// CUresult cuEventDestroy(CUevent)
	EventDestroy func(e Event) Result `cu:"cuEventDestroy_v2"`
	// CUresult cuEventRecord(CUevent, CUstream)
	EventRecord func(e Event, s Stream) Result `cu:"cuEventRecord"`
	// CUresult cuEventQuery(CUevent)
	EventQuery func(e Event) Result `cu:"cuEventQuery"`
	// CUresult cuEventSynchronize(CUevent)
	EventSynchronize func(e Event) Result `cu:"cuEventSynchronize"`
	// CUresult cuEventElapsedTime(float *milliseconds, CUevent, CUevent)
	EventElapsedTime func(ms *float32, start, end Event) Result `cu:"cuEventElapsedTime"`

	// CUresult cuModuleLoadData(CUmodule *, const void *image)
	ModuleLoadData func(m *moduleHandle, image unsafe.Pointer) Result `cu:"cuModuleLoadData"`
	// CUresult cuModuleUnload(CUmodule)
	ModuleUnload func(m moduleHandle) Result `cu:"cuModuleUnload"`
	// CUresult cuModuleGetFunction(CUfunction *, CUmodule, const char *name)
	ModuleGetFunction func(f *Function, m moduleHandle, name *byte) Result `cu:"cuModuleGetFunction"`
	// CUresult cuFuncLoad(CUfunction)
	FuncLoad func(f Function) Result `cu:"cuFuncLoad,optional"`
	// CUresult cuFuncGetAttribute(int *, CUfunction_attribute, CUfunction)
	FuncGetAttribute func(value *int32, attribute FuncAttribute, f Function) Result `cu:"cuFuncGetAttribute"`
	// CUresult cuFuncSetAttribute(CUfunction, CUfunction_attribute, int value)
	FuncSetAttribute func(f Function, attribute FuncAttribute, value int32) Result `cu:"cuFuncSetAttribute"`
	// CUresult cuLaunchKernel(f, gridX, gridY, gridZ, blockX, blockY, blockZ, sharedBytes, stream, void **params, void **extra)
	LaunchKernel func(f Function, gx, gy, gz, bx, by, bz, shared uint32, s Stream, params, extra unsafe.Pointer) Result `cu:"cuLaunchKernel"`

	// void cudasim_note(uint32_t kind, uint64_t owner, const Range *ranges, uint64_t count):
	// exported only by the tests' simulator, which checks what it is told.
	SimNote func(kind NoteKind, owner uint64, ranges unsafe.Pointer, count uint64) `cu:"cudasim_note,optional"`
}

// Attribute is CUdevice_attribute.
type Attribute int32

// Device attributes. Source: cuda.h of CUDA 13.0.
const (
	AttrMaxThreadsPerBlock   Attribute = 1
	AttrMultiprocessors      Attribute = 16
	AttrComputeMode          Attribute = 20
	AttrClockKHz             Attribute = 13
	AttrL2Bytes              Attribute = 38
	AttrThreadsPerSM         Attribute = 39
	AttrAsyncEngines         Attribute = 40
	AttrComputeMajor         Attribute = 75
	AttrComputeMinor         Attribute = 76
	AttrSharedPerSM          Attribute = 81
	AttrSharedPerBlockOptin  Attribute = 97
	AttrVirtualMemoryManaged Attribute = 102
)

// computeModeProhibited is CU_COMPUTEMODE_PROHIBITED: no context may be made.
const computeModeProhibited = 2

// FuncAttribute is CUfunction_attribute.
type FuncAttribute int32

// Kernel attributes. Source: cuda.h of CUDA 13.0.
const (
	FuncMaxThreadsPerBlock FuncAttribute = 0
	FuncSharedBytes        FuncAttribute = 1
	FuncLocalBytes         FuncAttribute = 3
	FuncRegisters          FuncAttribute = 4
	FuncMaxDynamicShared   FuncAttribute = 8
)
