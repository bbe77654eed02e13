//! libcuzk beside bellperson's own CPU prover.
//!
//! Circuits, their parameters and the proofs to compare with come from
//! bellperson 0.27 as it is on crates.io. [`circuits`] has the circuits,
//! [`setup`] their parameters, [`record`] takes from a circuit what the prover
//! needs, and [`compare`] proves with both; [`cpu_time`] measures.

pub mod circuits;
pub mod compare;
pub mod cpu_time;
pub mod record;
pub mod setup;
