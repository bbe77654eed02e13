package driver

import (
	"errors"
	"slices"
)

// Cause is what explains a call that did not succeed, and so who can act on it.
type Cause int

// The causes.
const (
	// CauseLoss is the device: nothing that we pass explains the error, so nothing
	// on the device is trusted until it is reset. It is that of every code which
	// is not in the table, at any call.
	CauseLoss Cause = iota
	// CauseCall is the call: its arguments, their order, or what the driver offers.
	CauseCall
	// CauseDeviceMemory is that the device has too little memory left.
	CauseDeviceMemory
	// CauseHostMemory is that the system gives or locks no more memory.
	CauseHostMemory
	// CauseAddresses is that the process has too few addresses left (ulimit -v).
	CauseAddresses
	// CauseImage is the kernel image: damaged, or none for this device.
	CauseImage
)

// causes are those of the codes, whatever the call. Source: CUDA Driver API of
// CUDA 13.0, CUresult. What is missing here is a loss, for instance 46 (the
// device is unavailable), 101 (no such device), 201 and 709 (the context is none
// any more: ours are bound before each call), 304 (the system refused the
// driver something), 802 (not ready) and 999 (unknown, which a device that has
// fallen off the bus answers), and all of sticky.
var causes = map[Result]Cause{
	ErrorInvalidValue:                CauseCall,
	ErrorOutOfMemory:                 CauseDeviceMemory,
	200:                              CauseImage, // CUDA_ERROR_INVALID_IMAGE
	209:                              CauseImage, // CUDA_ERROR_NO_BINARY_FOR_GPU
	218:                              CauseImage, // CUDA_ERROR_INVALID_PTX
	221:                              CauseImage, // CUDA_ERROR_JIT_COMPILER_NOT_FOUND
	222:                              CauseImage, // CUDA_ERROR_UNSUPPORTED_PTX_VERSION
	223:                              CauseImage, // CUDA_ERROR_JIT_COMPILATION_DISABLED
	300:                              CauseImage, // CUDA_ERROR_INVALID_SOURCE
	400:                              CauseCall,  // CUDA_ERROR_INVALID_HANDLE
	401:                              CauseCall,  // CUDA_ERROR_ILLEGAL_STATE
	ErrorNotFound:                    CauseCall,
	ErrorNotReady:                    CauseCall,
	701:                              CauseCall, // CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES
	ErrorHostMemoryAlreadyRegistered: CauseCall,
	713:                              CauseCall, // CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED
	800:                              CauseCall, // CUDA_ERROR_NOT_PERMITTED
	801:                              CauseCall, // CUDA_ERROR_NOT_SUPPORTED
}

// operatingSystem is CUDA_ERROR_OPERATING_SYSTEM.
const operatingSystem Result = 304

// causesAt are the causes of codes that mean another thing at some calls.
var causesAt = map[string]map[Result]Cause{
	"cuMemHostAlloc":      {ErrorOutOfMemory: CauseHostMemory, operatingSystem: CauseHostMemory},
	"cuMemHostRegister":   {ErrorOutOfMemory: CauseHostMemory, operatingSystem: CauseHostMemory},
	"cuMemAddressReserve": {ErrorOutOfMemory: CauseAddresses},
	"cuInit":              {ErrorNoDevice: CauseCall}, // there is none, now and later
}

// Cause is what explains e.
func (e *Error) Cause() Cause {
	if c, ok := causesAt[e.Call][e.Code]; ok {
		return c
	}
	return causes[e.Code]
}

// Of reports whether err is or joins a driver error with this cause.
func Of(err error, c Cause) bool {
	switch e := err.(type) {
	case *Error:
		return e.Cause() == c
	case interface{ Unwrap() []error }:
		return slices.ContainsFunc(e.Unwrap(), func(err error) bool { return Of(err, c) })
	}
	inner := errors.Unwrap(err)
	return inner != nil && Of(inner, c)
}

// At reports whether err is a driver error of this call.
func At(err error, call string) bool {
	var e *Error
	return errors.As(err, &e) && e.Call == call
}

// Lost reports whether err says that nothing on its device is to be trusted
// until the device is reset.
func Lost(err error) bool { return Of(err, CauseLoss) }
