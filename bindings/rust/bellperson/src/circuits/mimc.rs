use bellperson::{ConstraintSystem, SynthesisError};
use blstrs::Scalar;
use ff::Field;
use rand_core::SeedableRng;
use rand_xorshift::XorShiftRng;

use super::Statement;

/// Knowledge of two scalars that MiMC takes to a public one. Two rows a round,
/// and every private value is dense: the most expensive witness there is.
///
/// MiMC: a round takes (l, r) to (r + (l + k)^3, l); after the last one l is
/// the image. Source: eprint 2016/492 section 2.1 (Feistel form).
#[derive(Clone)]
pub struct Mimc {
    keys: Vec<Scalar>,
    left: Scalar,
    right: Scalar,
}

impl Mimc {
    /// A circuit of the given number of rounds with keys that depend on nothing
    /// else, and a preimage that depends on the seed.
    pub fn new(rounds: usize, seed: u8) -> Self {
        const KEYS: u8 = 0xff;
        let mut keys = XorShiftRng::from_seed([KEYS; 16]);
        let mut preimage = XorShiftRng::from_seed([seed | 1; 16]);
        Self {
            keys: (0..rounds).map(|_| Scalar::random(&mut keys)).collect(),
            left: Scalar::random(&mut preimage),
            right: Scalar::random(&mut preimage),
        }
    }

    /// The most rounds that fit a number of rows: two a round, and one for each
    /// of the two inputs.
    pub fn rounds_for_rows(rows: usize) -> usize {
        (rows - 2) / 2
    }

    fn image(&self) -> Scalar {
        let mut state = (self.left, self.right);
        for key in &self.keys {
            let sum = state.0 + key;
            state = (state.1 + sum.square() * sum, state.0);
        }
        state.0
    }
}

impl bellperson::Circuit<Scalar> for Mimc {
    fn synthesize<CS: ConstraintSystem<Scalar>>(self, cs: &mut CS) -> Result<(), SynthesisError> {
        let (mut left_value, mut right_value) = (self.left, self.right);
        let mut left = cs.alloc(|| "left", || Ok(left_value))?;
        let mut right = cs.alloc(|| "right", || Ok(right_value))?;

        for (round, key) in self.keys.iter().enumerate() {
            let sum = left_value + key;
            let square_value = sum.square();
            let square = cs.alloc(|| "square", || Ok(square_value))?;
            cs.enforce(
                || format!("round {round}: (l + k)^2"),
                |lc| lc + left + (*key, CS::one()),
                |lc| lc + left + (*key, CS::one()),
                |lc| lc + square,
            );

            let next_value = right_value + square_value * sum;
            let next = if round + 1 == self.keys.len() {
                cs.alloc_input(|| "image", || Ok(next_value))?
            } else {
                cs.alloc(|| "l", || Ok(next_value))?
            };
            cs.enforce(
                || format!("round {round}: (l + k)^3 = l' - r"),
                |lc| lc + square,
                |lc| lc + left + (*key, CS::one()),
                |lc| lc + next - right,
            );
            (left, right) = (next, left);
            (left_value, right_value) = (next_value, left_value);
        }
        Ok(())
    }
}

impl Statement for Mimc {
    fn public_inputs(&self) -> Vec<Scalar> {
        vec![self.image()]
    }

    fn claim(&self) -> String {
        format!(
            "two scalars whose MiMC image in {} rounds is public",
            self.keys.len()
        )
    }
}
