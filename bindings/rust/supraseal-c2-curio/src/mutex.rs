use std::ffi::c_void;

extern "C" {
    fn create_gpu_mutex() -> *mut c_void;
    fn destroy_gpu_mutex(mtx: *mut c_void);
}

/// A token, never null, for the functions that take a GPU mutex. Nothing waits
/// for it: the library's scheduler lets jobs share a device.
pub fn alloc_gpu_mutex() -> *mut c_void {
    // SAFETY: takes no arguments.
    unsafe { create_gpu_mutex() }
}

/// Gives a token back.
///
/// # Safety
/// None is needed here; upstream's function is unsafe.
pub unsafe fn free_gpu_mutex(ptr: *mut c_void) {
    // SAFETY: the pointer is not followed.
    unsafe { destroy_gpu_mutex(ptr) };
}
