//! The domain of m = 2^k points that the rows of a circuit stand on.

use anyhow::{ensure, Result};
use blstrs::Scalar;
use ff::{BatchInvert, Field, PrimeField};
use rayon::prelude::*;

/// Elements that one thread takes at a time.
const CHUNK: usize = 1 << 14;

pub struct Domain {
    pub size: usize,
    /// Primitive root of unity of order `size`.
    root: Scalar,
}

impl Domain {
    /// The smallest domain for so many rows.
    pub fn for_rows(rows: usize) -> Result<Self> {
        let size = rows.next_power_of_two();
        let log = size.trailing_zeros();
        ensure!(
            log <= Scalar::S,
            "{rows} rows are more than 2^{}",
            Scalar::S
        );
        let root = (log..Scalar::S).fold(Scalar::ROOT_OF_UNITY, |root, _| root.square());
        Ok(Domain { size, root })
    }

    /// tau^m - 1.
    pub fn vanishing(&self, tau: &Scalar) -> Scalar {
        tau.pow_vartime([self.size as u64]) - Scalar::ONE
    }

    /// The Lagrange polynomials of the first `rows` points at tau:
    /// L_i = root^i (tau^m - 1) / (m (tau - root^i)).
    pub fn lagrange(&self, tau: &Scalar, rows: usize) -> Vec<Scalar> {
        let size = Scalar::from(self.size as u64);
        let scale = self.vanishing(tau) * size.invert().expect("a power of two is not the modulus");
        let mut at_tau = vec![Scalar::ZERO; rows];
        at_tau
            .par_chunks_mut(CHUNK)
            .enumerate()
            .for_each(|(k, chunk)| {
                let powers = powers(&self.root, k * CHUNK, chunk.len());
                for (slot, power) in chunk.iter_mut().zip(&powers) {
                    *slot = tau - power;
                }
                chunk.iter_mut().batch_invert();
                for (slot, power) in chunk.iter_mut().zip(&powers) {
                    *slot *= power * scale;
                }
            });
        at_tau
    }
}

/// scale x^i for i < n.
pub fn scaled_powers(x: &Scalar, scale: &Scalar, n: usize) -> Vec<Scalar> {
    let mut out = vec![Scalar::ZERO; n];
    out.par_chunks_mut(CHUNK)
        .enumerate()
        .for_each(|(k, chunk)| {
            for (slot, power) in chunk.iter_mut().zip(powers(x, k * CHUNK, CHUNK)) {
                *slot = power * scale;
            }
        });
    out
}

/// x^first, x^(first+1), ...
fn powers(x: &Scalar, first: usize, n: usize) -> Vec<Scalar> {
    let first = x.pow_vartime([first as u64]);
    std::iter::successors(Some(first), |power| Some(power * x))
        .take(n)
        .collect()
}
