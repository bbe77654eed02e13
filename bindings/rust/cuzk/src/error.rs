use std::ffi::CStr;
use std::fmt;

use cuzk_sys as sys;

/// What a call may return.
pub type Result<T> = std::result::Result<T, Error>;

/// Makes one variant of each status of the header: its value, and what it means.
macro_rules! errors {
    ($($(#[doc = $doc:literal])+ $variant:ident = $status:ident,)+) => {
        /// Why a call failed. Each variant holds the library's message: what,
        /// where, expected, got. Grouped by who can do something about it.
        #[non_exhaustive]
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub enum Error {
            $($(#[doc = $doc])+ $variant(String),)+
            /// A status that this crate does not know, from a newer library.
            Unknown(i32, String),
        }

        impl Error {
            /// The status of the C interface.
            pub fn status(&self) -> i32 {
                match self {
                    $(Self::$variant(_) => sys::$status,)+
                    Self::Unknown(status, _) => *status,
                }
            }

            /// The library's message.
            pub fn message(&self) -> &str {
                match self {
                    $(Self::$variant(message) => message,)+
                    Self::Unknown(_, message) => message,
                }
            }

            fn new(status: i32, message: String) -> Self {
                match status {
                    $(sys::$status => Self::$variant(message),)+
                    _ => Self::Unknown(status, message),
                }
            }
        }
    };
}

errors! {
    /// A pointer that must not be null is: a bug of this crate.
    Null = CUZK_ERR_NULL,
    /// A pointer is not aligned: a bug of this crate.
    Alignment = CUZK_ERR_ALIGNMENT,
    /// A handle is not valid: a bug of this crate.
    Handle = CUZK_ERR_HANDLE,
    /// The library is older than this crate, or from another one.
    StructSize = CUZK_ERR_STRUCT_SIZE,
    /// A count is out of range or does not fit the others.
    Size = CUZK_ERR_SIZE,
    /// A density's length is wrong.
    Density = CUZK_ERR_DENSITY,
    /// The parameters are those of another circuit.
    SrsMismatch = CUZK_ERR_SRS_MISMATCH,
    /// A scalar is not below the modulus.
    Scalar = CUZK_ERR_SCALAR,
    /// A point is not on the curve or not in the subgroup.
    Point = CUZK_ERR_POINT,
    /// An option or another value is out of range.
    Value = CUZK_ERR_VALUE,
    /// The proof does not verify.
    Proof = CUZK_ERR_PROOF,
    /// The self-check failed: the assignment does not satisfy the circuit.
    Unsatisfied = CUZK_ERR_UNSATISFIED,
    /// The parameter file cannot be opened or read.
    FileIo = CUZK_ERR_FILE_IO,
    /// The parameter file is shorter than its own counts say.
    FileTruncated = CUZK_ERR_FILE_TRUNCATED,
    /// The parameter file's counts do not fit each other.
    FileCounts = CUZK_ERR_FILE_COUNTS,
    /// The parameter file holds a coordinate that is not below the modulus, or
    /// wrong flag bits.
    FileEncoding = CUZK_ERR_FILE_ENCODING,
    /// The parameter file holds a point off the curve or outside the subgroup.
    FilePoint = CUZK_ERR_FILE_POINT,
    /// The parameter file has infinity where it may not be.
    FileInfinity = CUZK_ERR_FILE_INFINITY,
    /// The parameter file changed while it was read.
    FileChanged = CUZK_ERR_FILE_CHANGED,
    /// The device asked for is not there or cannot be used.
    NoDevice = CUZK_ERR_NO_DEVICE,
    /// A driver call failed.
    Device = CUZK_ERR_DEVICE,
    /// The device was lost under the job: start the job again, or, if the message
    /// says so, restart the process.
    DeviceLost = CUZK_ERR_DEVICE_LOST,
    /// A partition needs more memory than the device's budget.
    DeviceMemory = CUZK_ERR_DEVICE_MEMORY,
    /// Host memory could not be had.
    HostMemory = CUZK_ERR_HOST_MEMORY,
    /// The job was cancelled.
    Cancelled = CUZK_ERR_CANCELLED,
    /// The job has not ended in the given time, and goes on.
    Timeout = CUZK_ERR_TIMEOUT,
    /// The library is shutting down.
    Closed = CUZK_ERR_CLOSED,
    /// A bug of the library; please report it with the message.
    Internal = CUZK_ERR_INTERNAL,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.message())
    }
}

impl std::error::Error for Error {}

/// The outcome of the last call of the library on this thread.
pub(crate) fn check(status: sys::cuzk_status) -> Result<()> {
    if status == sys::CUZK_OK {
        return Ok(());
    }
    // SAFETY: never null; valid until the next failing call of this thread, and
    // it is copied before one can happen.
    let message = unsafe { CStr::from_ptr(sys::cuzk_last_error()) };
    Err(Error::new(status, message.to_string_lossy().into_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_status_of_the_library_has_a_variant() {
        let source = include_str!("../../cuzk-sys/src/status.rs");
        let statuses: Vec<i32> = source
            .lines()
            .filter(|line| line.starts_with("pub const CUZK_ERR_"))
            .map(|line| {
                line.rsplit_once("= ")
                    .unwrap()
                    .1
                    .trim_end_matches(';')
                    .parse()
                    .unwrap()
            })
            .collect();
        assert!(
            statuses.len() > 20,
            "the sources were not understood: {statuses:?}"
        );

        for status in statuses {
            let error = Error::new(status, "why".into());
            assert!(!matches!(error, Error::Unknown(..)), "{status} is unknown");
            assert_eq!(
                (error.status(), error.to_string().as_str()),
                (status, "why")
            );
        }
        assert_eq!(
            Error::new(-7, "new".into()),
            Error::Unknown(-7, "new".into())
        );
    }
}
