use std::ffi::{c_char, c_void, CStr};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::{Mutex, PoisonError};

use cuzk_sys as sys;

use crate::error::check;
use crate::Result;

/// How important a message is.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogLevel {
    /// Something failed.
    Error,
    /// Something may fail, or is slower than it could be.
    Warn,
    /// What happens rarely: devices, parameter sets.
    Info,
    /// What happens with every job.
    Debug,
}

impl LogLevel {
    fn raw(self) -> i32 {
        match self {
            Self::Error => sys::CUZK_LOG_ERROR,
            Self::Warn => sys::CUZK_LOG_WARN,
            Self::Info => sys::CUZK_LOG_INFO,
            Self::Debug => sys::CUZK_LOG_DEBUG,
        }
    }

    /// A level that a newer library may have counts as Debug.
    fn from_raw(raw: i32) -> Self {
        match raw {
            sys::CUZK_LOG_ERROR => Self::Error,
            sys::CUZK_LOG_WARN => Self::Warn,
            sys::CUZK_LOG_INFO => Self::Info,
            _ => Self::Debug,
        }
    }
}

type Callback = Box<dyn Fn(LogLevel, &str) + Send + Sync>;

/// The callback that the library has now. It is boxed twice: the library gets the
/// address of the inner box, which does not move.
static CURRENT: Mutex<Option<Box<Callback>>> = Mutex::new(None);

/// Sends the library's messages up to `max_level` to `log`, which replaces the
/// former callback. Without a callback the library says nothing.
///
/// `log` is called from threads of the library, one call at a time. It must not
/// call this crate; if it panics, the message is lost and nothing else.
pub fn set_log<F>(max_level: LogLevel, log: F) -> Result<()>
where
    F: Fn(LogLevel, &str) + Send + Sync + 'static,
{
    let callback: Box<Callback> = Box::new(Box::new(log));
    let user = (&raw const *callback).cast_mut().cast::<c_void>();
    let mut current = CURRENT.lock().unwrap_or_else(PoisonError::into_inner);
    // SAFETY: `user` leads to a Callback, which is kept in CURRENT until the
    // library has another one.
    check(unsafe { sys::cuzk_set_log(Some(forward), user, max_level.raw()) })?;
    // The library no longer calls the former one, which may be dropped.
    *current = Some(callback);
    Ok(())
}

/// Turns the log off.
pub fn clear_log() -> Result<()> {
    let mut current = CURRENT.lock().unwrap_or_else(PoisonError::into_inner);
    // SAFETY: a null function turns the log off.
    check(unsafe { sys::cuzk_set_log(None, std::ptr::null_mut(), sys::CUZK_LOG_ERROR) })?;
    *current = None;
    Ok(())
}

/// The function that the library calls.
unsafe extern "C" fn forward(level: i32, message: *const c_char, user: *mut c_void) {
    // SAFETY: `user` is the address that set_log gave, of a Callback that lives
    // until the library no longer calls it and is only read.
    let log = unsafe { &*user.cast::<Callback>() };
    // SAFETY: a line of text with NUL at its end, valid during the call.
    let message = unsafe { CStr::from_ptr(message) };
    // A panic must not cross into the library.
    let _ = catch_unwind(AssertUnwindSafe(|| {
        log(LogLevel::from_raw(level), &message.to_string_lossy());
    }));
}
