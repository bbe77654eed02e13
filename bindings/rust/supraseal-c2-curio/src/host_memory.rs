//! The two names of the CUDA runtime that Curio's proving daemon takes from the
//! crate it links: memory for the rows a, b and c, reused between proofs.
//!
//! It is ordinary memory here, at page boundaries: the library copies ordinary
//! memory to a GPU through pinned buffers of its own.

use std::ffi::{c_int, c_uint, c_void};

extern "C" {
    fn posix_memalign(out: *mut *mut c_void, alignment: usize, bytes: usize) -> c_int;
    fn free(memory: *mut c_void);
}

const PAGE_BYTES: usize = 4096;

// Values of cudaError_t. Source: CUDA runtime API reference, "Data types used
// by CUDA Runtime".
const CUDA_SUCCESS: c_int = 0;
const CUDA_ERROR_INVALID_VALUE: c_int = 1;
const CUDA_ERROR_MEMORY_ALLOCATION: c_int = 2;

/// Allocates `bytes` bytes; the flags, which say how to pin, change nothing.
///
/// # Safety
/// `out` is null or may be written.
#[no_mangle]
pub unsafe extern "C" fn cudaHostAlloc(
    out: *mut *mut c_void,
    bytes: usize,
    _flags: c_uint,
) -> c_int {
    if out.is_null() {
        return CUDA_ERROR_INVALID_VALUE;
    }
    let mut memory = std::ptr::null_mut();
    // SAFETY: `memory` may be written, and a page is a power of two.
    if unsafe { posix_memalign(&mut memory, PAGE_BYTES, bytes) } != 0 {
        return CUDA_ERROR_MEMORY_ALLOCATION;
    }
    // SAFETY: not null, so the caller lets it be written.
    unsafe { out.write(memory) };
    CUDA_SUCCESS
}

/// Frees what `cudaHostAlloc` gave; null is accepted.
///
/// # Safety
/// `memory` is null, or from `cudaHostAlloc` and not freed before.
#[no_mangle]
pub unsafe extern "C" fn cudaFreeHost(memory: *mut c_void) -> c_int {
    // SAFETY: as the caller says.
    unsafe { free(memory) };
    CUDA_SUCCESS
}
