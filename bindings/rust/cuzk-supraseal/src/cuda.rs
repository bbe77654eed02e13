use std::ffi::{c_char, c_void, CStr};
use std::fmt;
use std::ptr::null_mut;

/// What the library returns: a code, 0 for success, and a text.
#[repr(C)]
pub struct Error {
    /// A `CUZK_ERR_*` of `cuzk.h`.
    pub code: i32,
    /// From malloc, or null.
    message: *mut c_char,
}

// SAFETY: the text is this value's alone and is not changed after it was made.
unsafe impl Send for Error {}

// SAFETY: as for Send.
unsafe impl Sync for Error {}

impl Error {
    /// The outcome as a `Result`.
    pub fn into_result(self) -> Result<(), Self> {
        if self.code == cuzk_sys::CUZK_OK {
            Ok(())
        } else {
            Err(self)
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.message.is_null() {
            return write!(f, "libcuzk error {}", self.code);
        }
        // SAFETY: not null, so it is a text that ends in NUL and lives as long
        // as self.
        let message = unsafe { CStr::from_ptr(self.message) };
        f.write_str(&message.to_string_lossy())
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Error {{ code: {}, message: {:?} }}",
            self.code,
            self.to_string()
        )
    }
}

impl std::error::Error for Error {}

impl From<&Error> for String {
    fn from(error: &Error) -> Self {
        error.to_string()
    }
}

impl From<Error> for String {
    fn from(error: Error) -> Self {
        error.to_string()
    }
}

impl Drop for Error {
    fn drop(&mut self) {
        extern "C" {
            fn free(memory: *mut c_void);
        }
        // SAFETY: from malloc and not freed before; null is accepted.
        unsafe { free(std::mem::replace(&mut self.message, null_mut()).cast()) };
    }
}
