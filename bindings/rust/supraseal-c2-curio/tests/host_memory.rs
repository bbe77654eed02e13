//! Memory as Curio's proving daemon gets it, and the codes of calls that are
//! wrong. A file of its own, whose tests take turns: an address that was freed
//! may be given out again to whoever asks next.

use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::{Mutex, PoisonError};

// Links the crate, whose functions are named below.
use supraseal_c2 as _;

extern "C" {
    fn cudaHostAlloc(out: *mut *mut c_void, bytes: usize, flags: u32) -> i32;
    fn cudaFreeHost(memory: *mut c_void) -> i32;
}

const CUDA_SUCCESS: i32 = 0;
const CUDA_ERROR_INVALID_VALUE: i32 = 1;
const CUDA_ERROR_MEMORY_ALLOCATION: i32 = 2;

static TURN: Mutex<()> = Mutex::new(());

/// The code, and the pointer, which is `UNTOUCHED` unless it was written.
fn alloc(bytes: usize, flags: u32) -> (i32, *mut c_void) {
    let mut memory = UNTOUCHED;
    // SAFETY: `memory` may be written.
    let code = unsafe { cudaHostAlloc(&mut memory, bytes, flags) };
    (code, memory)
}

/// Nothing uses the memory any more where this is called.
fn free(memory: *mut c_void) -> i32 {
    // SAFETY: the library frees only what it gave and was not freed.
    unsafe { cudaFreeHost(memory) }
}

const UNTOUCHED: *mut c_void = 8 as *mut c_void;

#[test]
fn memory_is_aligned_and_may_be_written() {
    const BYTES: usize = 1 << 20;
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    for flags in 0..8 {
        let (code, memory) = alloc(BYTES, flags);
        assert_eq!(code, CUDA_SUCCESS);
        assert!(!memory.is_null() && memory as usize % 4096 == 0);
        // SAFETY: BYTES were allocated.
        unsafe { memory.cast::<u8>().write_bytes(0xff, BYTES) };
        assert_eq!(free(memory), CUDA_SUCCESS);
        assert_eq!(free(memory), CUDA_ERROR_INVALID_VALUE, "freed twice");
    }
}

/// Allocates, looks how much is pinned, and frees.
fn pinned_with(bytes: usize) -> u64 {
    let (code, memory) = alloc(bytes, 0);
    assert_eq!(code, CUDA_SUCCESS);
    let metrics = cuzk::metrics().unwrap();
    assert_eq!(free(memory), CUDA_SUCCESS);
    metrics.devices.iter().map(|d| d.pinned_host_bytes).sum()
}

#[test]
fn memory_is_pinned_where_there_is_a_gpu() {
    const SMALL: usize = 4096;
    const LARGE: usize = 64 << 20;
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    // The first use opens the device, which pins buffers of its own.
    pinned_with(SMALL);

    let more = pinned_with(LARGE) - pinned_with(SMALL);

    let gpu = cuzk::gpu_reason().is_none();
    assert_eq!(more, if gpu { (LARGE - SMALL) as u64 } else { 0 });
}

#[test]
fn calls_that_are_wrong_have_cudas_codes() {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let invalid = (CUDA_ERROR_INVALID_VALUE, UNTOUCHED);
    let too_large = (CUDA_ERROR_MEMORY_ALLOCATION, UNTOUCHED);
    for (what, got, wanted) in [
        ("no bytes", alloc(0, 0), (CUDA_SUCCESS, null_mut())),
        ("an unknown flag", alloc(1, 8), invalid),
        ("known and unknown flags", alloc(1, 0x107), invalid),
        ("too many bytes", alloc(usize::MAX, 0), too_large),
        ("all there are addresses for", alloc(1 << 47, 0), too_large),
    ] {
        assert_eq!(got, wanted, "{what}");
    }
    // SAFETY: null is refused, not written.
    let nowhere = unsafe { cudaHostAlloc(null_mut(), 1, 0) };
    assert_eq!(nowhere, CUDA_ERROR_INVALID_VALUE);
    let mut here = 0u64;
    assert_eq!(free(null_mut()), CUDA_SUCCESS);
    assert_eq!(free((&raw mut here).cast()), CUDA_ERROR_INVALID_VALUE);
}
