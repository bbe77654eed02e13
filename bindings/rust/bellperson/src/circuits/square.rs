use bellperson::{ConstraintSystem, SynthesisError};
use blstrs::Scalar;
use ff::Field;

use super::Statement;

/// Knowledge of x with x^(2^n) = y: a row for each squaring. With one squaring
/// it is the smallest circuit with a private value; zero and one as x give
/// witnesses in which every private value is 0 or 1.
#[derive(Clone)]
pub struct Squares {
    x: Scalar,
    squarings: usize,
}

impl Squares {
    /// The statement for x; at least one squaring.
    pub fn new(x: Scalar, squarings: usize) -> Self {
        assert!(squarings > 0, "at least one squaring is needed, got 0");
        Self { x, squarings }
    }
}

impl bellperson::Circuit<Scalar> for Squares {
    fn synthesize<CS: ConstraintSystem<Scalar>>(self, cs: &mut CS) -> Result<(), SynthesisError> {
        let mut value = self.x;
        let mut variable = cs.alloc(|| "x", || Ok(value))?;
        for i in 1..=self.squarings {
            value = value.square();
            let square = if i == self.squarings {
                cs.alloc_input(|| "y", || Ok(value))?
            } else {
                cs.alloc(|| format!("x^(2^{i})"), || Ok(value))?
            };
            cs.enforce(
                || format!("squaring {i}"),
                |lc| lc + variable,
                |lc| lc + variable,
                |lc| lc + square,
            );
            variable = square;
        }
        Ok(())
    }
}

impl Statement for Squares {
    fn public_inputs(&self) -> Vec<Scalar> {
        vec![(0..self.squarings).fold(self.x, |value, _| value.square())]
    }

    fn claim(&self) -> String {
        format!("a number whose power 2^{} is public", self.squarings)
    }
}
