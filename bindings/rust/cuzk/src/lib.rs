//! Groth16 proofs over BLS12-381 for Filecoin, on the GPU or the CPU: safe
//! bindings to libcuzk.
//!
//! A [`Srs`] is a parameter file that was opened. An [`Assignment`] is what
//! synthesis gives for one circuit, a [`Partition`] one together with r and s.
//! [`Srs::prove`] proves one and blocks; [`Srs::start`] starts any number as a
//! [`Job`] and returns; [`scope`] does so for borrowed memory.
//!
//! Knowledge of x with x * x = 9, which is one row, and one more for each of
//! the two public inputs, 1 and 9:
//!
//! ```
//! use cuzk::{Assignment, Density, Fr, Partition, ProveOptions, Srs};
//!
//! # fn main() -> cuzk::Result<()> {
//! let srs = Srs::open("../../../tests/golden/one.params")?;
//! let numbers = |numbers: &[u64]| numbers.iter().map(|n| Fr::from(*n)).collect::<Vec<_>>();
//! let inputs = numbers(&[1, 9]);
//! let assignment = Assignment {
//!     a: numbers(&[3, 1, 9]).into(),          // x, and each input
//!     b: numbers(&[3, 0, 0]).into(),          // x
//!     inputs: inputs.clone().into(),
//!     aux: numbers(&[3]).into(),              // x
//!     a_aux: Density::from_iter([true]),      // x occurs in A,
//!     b_inputs: Density::from_iter([false, false]),
//!     b_aux: Density::from_iter([true]),      // and in B
//! };
//!
//! let job = srs.start(vec![Partition::new(assignment)?], &ProveOptions::new())?;
//! let proof = job.wait()?[0];
//!
//! srs.verify(&inputs, &proof)?;
//! assert_eq!(cuzk::Proof::from_bytes(&proof.to_bytes()?)?, proof);
//! # Ok(())
//! # }
//! ```
//!
//! [`set_log`], [`metrics`](metrics()) and [`Timeline`] show what the library does.
//!
//! # Threads, signals, processes
//!
//! Everything here is [`Send`] and [`Sync`]. The library is written in Go and
//! brings Go's runtime: it cannot be unloaded, does not work in a child made by
//! fork without exec, and has signal handlers of its own. `docs/embedding.md` in
//! the repository says what that means for a program around it.

mod assignment;
#[cfg(feature = "blstrs")]
pub mod blstrs;
mod data;
mod device;
mod error;
mod job;
mod log;
mod metrics;
mod options;
mod prometheus;
mod scope;
mod srs;
mod timeline;
mod values;
mod version;

pub use crate::assignment::{Assignment, Density, Partition};
pub use crate::data::Data;
pub use crate::device::{devices, gpu_reason, set_workers, Device};
pub use crate::error::{Error, Result};
pub use crate::job::Job;
pub use crate::log::{clear_log, set_log, LogLevel};
pub use crate::metrics::{metrics, metrics_text, DeviceMetrics, Metrics, Stage};
pub use crate::options::{Priority, ProveOptions, SrsOptions};
pub use crate::scope::{scope, Scope};
pub use crate::srs::{Srs, SrsInfo};
pub use crate::timeline::Timeline;
pub use crate::values::{Fr, Proof};
pub use crate::version::version;

/// The C interface.
pub use cuzk_sys as sys;

/// The Rust lines of the repository's README compile.
#[cfg(doctest)]
#[doc = include_str!("../../../../README.md")]
struct Readme;

/// And those of its page about Rust.
#[cfg(doctest)]
#[doc = include_str!("../../../../docs/rust.md")]
struct Page;

/// Compiles only if every type crosses threads.
#[allow(dead_code)]
fn everything_crosses_threads() {
    fn crosses<T: Send + Sync>() {}
    crosses::<Srs>();
    crosses::<Job<'_>>();
    crosses::<Scope<'_, '_>>();
    crosses::<Partition<'_>>();
    crosses::<Data<'_, Fr>>();
    crosses::<Proof>();
    crosses::<Error>();
    crosses::<Metrics>();
    crosses::<Timeline>();
}
