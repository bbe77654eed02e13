//! Raw bindings to libcuzk, the declarations of `include/cuzk.h` one for one.
//!
//! The header says what every function does, what it may be called with and
//! what it returns; the names here are its names. Most programs want the safe
//! crate `cuzk` instead. The library is found or built by this crate's build
//! script: see `docs/rust.md` in the repository.
//!
//! ```
//! // SAFETY: takes no arguments and never fails.
//! let abi = unsafe { cuzk_sys::cuzk_abi_version() };
//! assert_eq!(abi / 1000, cuzk_sys::CUZK_ABI_VERSION / 1000);
//! ```
#![no_std]
#![allow(non_camel_case_types)]
// Every item is documented in the header, which is the only place for it.
#![allow(missing_docs)]

mod functions;
mod status;
mod types;

pub use functions::*;
pub use status::*;
pub use types::*;
