use std::ffi::{c_char, c_void, CString};
use std::path::PathBuf;
use std::ptr::null;

use crate::cuda::Error;

extern "C" {
    fn create_SRS(ret: *mut SRS, srs_path: *const c_char, cache: bool) -> Error;
    fn evict_SRS(by_ref: *const SRS);
    fn drop_SRS(by_ref: *mut SRS);
    fn clone_SRS(by_ref: *const SRS) -> SRS;
}

/// A parameter set. The default is none: it can be cloned, evicted and dropped,
/// and proving with it is an error.
#[repr(C)]
pub struct SRS {
    /// A number of the library, not an address.
    ptr: *const c_void,
}

impl SRS {
    /// Opens a parameter file. Blocks until its points are read and checked; the
    /// file may be deleted after that. With `cache`, the set stays open for
    /// later calls with `cache` and the same path: four sets at most, the least
    /// recently used going first.
    ///
    /// Panics if the path is not UTF-8 or holds a NUL byte, as upstream does.
    pub fn try_new(srs_path: PathBuf, cache: bool) -> Result<Self, Error> {
        let path = srs_path
            .to_str()
            .expect("the path of a parameter file must be UTF-8");
        let path = CString::new(path).expect("the path of a parameter file holds a NUL byte");
        let mut srs = Self::default();
        // SAFETY: the path ends in NUL; both live through the call.
        unsafe { create_SRS(&mut srs, path.as_ptr(), cache) }.into_result()?;
        Ok(srs)
    }

    /// Takes this set's path out of the cache. The set lives on while it is
    /// held.
    pub fn evict(&self) {
        // SAFETY: reads the handle; any value is accepted.
        unsafe { evict_SRS(self) };
    }
}

impl Default for SRS {
    fn default() -> Self {
        Self { ptr: null() }
    }
}

impl Drop for SRS {
    fn drop(&mut self) {
        // SAFETY: reads the handle; any value is accepted.
        unsafe { drop_SRS(self) };
        self.ptr = null();
    }
}

impl Clone for SRS {
    fn clone(&self) -> Self {
        // SAFETY: reads the handle; any value is accepted.
        unsafe { clone_SRS(self) }
    }
}

// SAFETY: the handle is a number; the library's functions may be called from
// any thread, any number at once.
unsafe impl Send for SRS {}

// SAFETY: as for Send.
unsafe impl Sync for SRS {}
