//! What the two drop-ins for `supraseal-c2` have in common: the one for the
//! crate of crates.io and the one for Curio's. They have the same name, so
//! neither can depend on the other.
//!
//! The types here are public there. [`circuits_by_column`] defines the
//! functions with many arguments, [`prove`] and [`Call`] check what goes to the
//! library.

mod assignment;
mod call;
mod columns;
mod cuda;
mod srs;

pub use assignment::Assignment;
pub use call::{generate_groth16_proofs, prove, room, Call, ANY_DEVICE};
pub use columns::Columns;
pub use cuda::Error;
pub use srs::SRS;

// Links the library.
use cuzk_sys as _;
