//! Drop-in for the crate `supraseal-c2` 0.1.0 to 0.1.2: the same items, with
//! libcuzk behind them instead of a CUDA build.
//!
//! ```toml
//! [patch.crates-io]
//! supraseal-c2 = { git = "https://github.com/libcuzk/libcuzk" }
//! ```
//!
//! If the lock file has another version, cargo only warns that the patch is not
//! used: `cargo update -p supraseal-c2 --precise 0.1.2`.
//!
//! What is better here: a file is checked when it is opened, sizes are checked
//! before any work, every proof is verified before it is returned, circuits of
//! one call may differ, and several threads may prove at the same time. Where
//! upstream aborts, the functions below panic with the library's message, which
//! is all that their signatures allow.

mod prove;

pub use cuzk_supraseal::{generate_groth16_proofs, Assignment, SRS};
pub use prove::generate_groth16_proof;
