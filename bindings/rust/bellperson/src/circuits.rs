//! The circuits that are proved, each small enough to read.

mod mimc;
mod sha256;
mod square;

pub use mimc::Mimc;
pub use sha256::{Sha256Chain, Sha256Rounds};
pub use square::Squares;

use blstrs::Scalar;

/// A circuit with a public statement.
pub trait Statement: bellperson::Circuit<Scalar> + Clone + Send {
    /// The public inputs, without the leading one.
    fn public_inputs(&self) -> Vec<Scalar>;

    /// What is proved, in words.
    fn claim(&self) -> String;
}
