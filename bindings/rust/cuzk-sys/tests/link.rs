//! The library is linked and has the ABI of these declarations.

use std::ffi::CStr;

#[test]
fn the_library_answers_with_this_abi() {
    // SAFETY: takes no arguments and never fails.
    let abi = unsafe { cuzk_sys::cuzk_abi_version() };
    // SAFETY: static text, never null.
    let version = unsafe { CStr::from_ptr(cuzk_sys::cuzk_version()) };

    assert_eq!(abi / 1000, cuzk_sys::CUZK_ABI_VERSION / 1000);
    assert!(abi >= cuzk_sys::CUZK_ABI_VERSION);
    assert!(version.to_str().unwrap().starts_with("libcuzk "));
}
