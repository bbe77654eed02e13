//! The two names of the CUDA runtime that Curio's proving daemon takes from the
//! crate it links: memory for the rows a, b and c, reused between proofs.
//!
//! It is the library's host memory: at page boundaries, pinned for every CUDA
//! context of the process if a GPU is used, and ordinary memory otherwise. The
//! codes are the runtime's; `cuzk_last_error` has the library's message.

use std::ffi::{c_int, c_uint, c_void};
use std::ptr::null_mut;

use cuzk_sys as sys;

// Values of cudaError_t. Source: CUDA runtime API reference, "Data types used
// by CUDA Runtime".
const CUDA_SUCCESS: c_int = 0;
const CUDA_ERROR_INVALID_VALUE: c_int = 1;
const CUDA_ERROR_MEMORY_ALLOCATION: c_int = 2;
const CUDA_ERROR_INITIALIZATION: c_int = 3;
const CUDA_ERROR_NO_DEVICE: c_int = 100;
const CUDA_ERROR_UNKNOWN: c_int = 999;

/// cudaHostAllocPortable, Mapped and WriteCombined. Source: the same.
const KNOWN_FLAGS: c_uint = 1 | 2 | 4;

/// Allocates `bytes` bytes; none are a null pointer. The flags say how to pin,
/// and change nothing: the memory is portable and mapped, and combines no
/// writes, because the library reads it with the CPU too.
///
/// # Safety
/// `out` is null or may be written.
#[no_mangle]
pub unsafe extern "C" fn cudaHostAlloc(
    out: *mut *mut c_void,
    bytes: usize,
    flags: c_uint,
) -> c_int {
    if out.is_null() || flags & !KNOWN_FLAGS != 0 {
        return CUDA_ERROR_INVALID_VALUE;
    }
    let mut memory = null_mut();
    if bytes > 0 {
        // SAFETY: `memory` may be written.
        match unsafe { sys::cuzk_host_alloc(bytes, &mut memory) } {
            sys::CUZK_OK => {}
            // More bytes than there are addresses.
            sys::CUZK_ERR_SIZE => return CUDA_ERROR_MEMORY_ALLOCATION,
            status => return cuda_error(status),
        }
    }
    // SAFETY: not null, so the caller lets it be written.
    unsafe { out.write(memory) };
    CUDA_SUCCESS
}

/// Frees what `cudaHostAlloc` gave; null is accepted. Anything else, also what
/// was freed before, is an invalid value.
///
/// # Safety
/// Nothing uses the memory any more.
#[no_mangle]
pub unsafe extern "C" fn cudaFreeHost(memory: *mut c_void) -> c_int {
    // SAFETY: the library looks the address up, and frees only what it gave;
    // the caller says that nothing uses it.
    match unsafe { sys::cuzk_host_free(memory) } {
        sys::CUZK_OK => CUDA_SUCCESS,
        sys::CUZK_ERR_VALUE => CUDA_ERROR_INVALID_VALUE,
        status => cuda_error(status),
    }
}

/// The runtime's code for what went wrong in the library.
fn cuda_error(status: sys::cuzk_status) -> c_int {
    match status {
        sys::CUZK_ERR_NULL | sys::CUZK_ERR_ALIGNMENT => CUDA_ERROR_INVALID_VALUE,
        sys::CUZK_ERR_HOST_MEMORY => CUDA_ERROR_MEMORY_ALLOCATION,
        // A setting of the environment that is not allowed.
        sys::CUZK_ERR_VALUE => CUDA_ERROR_INITIALIZATION,
        sys::CUZK_ERR_NO_DEVICE => CUDA_ERROR_NO_DEVICE,
        _ => CUDA_ERROR_UNKNOWN,
    }
}
