//! Drop-in for the `supraseal-c2` in Curio's tree (`extern/supraseal-c2`),
//! which has functions and arguments that the crate of crates.io has not: proofs
//! that are started and finished, and a mutex and a device for each.
//!
//! In `extern/cuzk/Cargo.toml`:
//!
//! ```toml
//! [patch.crates-io]
//! supraseal-c2 = { path = ".../libcuzk/bindings/rust/supraseal-c2-curio" }
//! ```
//!
//! or, with the repository's address, `version = "=0.1.3"` beside it, which
//! tells this crate from the one for crates.io.
//!
//! What the calls do here: a GPU mutex is a token that nothing waits for, since
//! the library's own scheduler lets jobs share a device; the device index counts
//! the devices of `cuzk_device_get_info`, GPUs first. Everything else, and what
//! is better, is as in the crate for crates.io.

mod host_memory;
mod mutex;
mod pending;
mod prove;

pub use cuzk_supraseal::{generate_groth16_proofs, Assignment, SRS};
pub use mutex::{alloc_gpu_mutex, free_gpu_mutex};
pub use pending::{drop_pending_proof, finish_groth16_proof, start_groth16_proof};
pub use prove::generate_groth16_proof;
