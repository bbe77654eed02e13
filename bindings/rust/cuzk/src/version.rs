use std::ffi::CStr;

use cuzk_sys as sys;

use crate::error::Error;
use crate::Result;

/// Version of the library and what was built in, for people:
/// `libcuzk 0.1.0 (cpu, cuda)`.
pub fn version() -> &'static str {
    // SAFETY: never null, and static.
    let version = unsafe { CStr::from_ptr(sys::cuzk_version()) };
    version.to_str().unwrap_or("not UTF-8")
}

/// Refuses a library that is too old, or has another ABI. One that is linked
/// dynamically may be.
pub(crate) fn check_abi() -> Result<()> {
    // SAFETY: takes no arguments.
    let loaded = unsafe { sys::cuzk_abi_version() };
    let wanted = sys::CUZK_ABI_VERSION;
    if is_usable(loaded, wanted) {
        return Ok(());
    }
    Err(Error::StructSize(format!(
        "{} has ABI {}.{}, this crate needs {}.{} or a later minor version",
        version(),
        loaded / 1000,
        loaded % 1000,
        wanted / 1000,
        wanted % 1000
    )))
}

/// Whether the major version is the same and the minor version at least the same.
fn is_usable(loaded: u32, wanted: u32) -> bool {
    loaded / 1000 == wanted / 1000 && loaded >= wanted
}

#[cfg(test)]
mod tests {
    use super::is_usable;

    #[test]
    fn a_library_is_usable_within_its_major_version() {
        assert!(is_usable(1002, 1002) && is_usable(1999, 1002));
        assert!(!is_usable(1001, 1002), "older");
        assert!(!is_usable(2002, 1002), "next major");
        assert!(!is_usable(2, 1002), "former major");
    }
}
