//! Groth16's setup. Source: eprint 2016/260, section 3.2, with the elements in
//! the order of bellperson's parameter files.

use std::io::Write;

use anyhow::{ensure, Result};
use bellperson::groth16::VerifyingKey;
use bellperson::{Circuit, SynthesisError};
use blstrs::{Bls12, G1Affine, G1Projective, G2Affine, G2Projective, Scalar};
use ff::Field;
use group::Group;
use rand::rngs::OsRng;
use rayon::prelude::*;

use crate::circuit::{self, Column, Columns};
use crate::domain::{self, Domain};
use crate::fixed_base::{FixedBase, Points};

/// Points that one thread makes at a time, and that are written at a time.
const CHUNK: usize = 1 << 12;
const WRITTEN_AT_ONCE: usize = 1 << 18;

pub struct Setup {
    trapdoor: Trapdoor,
    domain: Domain,
    columns: Columns,
    g1: FixedBase<G1Projective>,
    g2: FixedBase<G2Projective>,
}

struct Trapdoor {
    alpha: Scalar,
    beta: Scalar,
    gamma: Scalar,
    delta: Scalar,
    tau: Scalar,
}

impl Setup {
    /// Synthesizes the circuit twice: to count its rows, and to evaluate them.
    pub fn new<C: Circuit<Scalar>>(blank: impl Fn() -> C) -> Result<Self, SynthesisError> {
        let [alpha, beta, gamma, delta, tau] = std::array::from_fn(|_| Scalar::random(OsRng));
        let rows = circuit::rows(blank())?;
        let domain =
            Domain::for_rows(rows).map_err(|_| SynthesisError::PolynomialDegreeTooLarge)?;
        let columns = circuit::columns(blank(), &domain.lagrange(&tau, rows))?;
        assert_eq!(
            columns.rows, rows,
            "the circuit changed between two syntheses"
        );
        Ok(Setup {
            trapdoor: Trapdoor {
                alpha,
                beta,
                gamma,
                delta,
                tau,
            },
            domain,
            columns,
            g1: FixedBase::new(G1Projective::generator()),
            g2: FixedBase::new(G2Projective::generator()),
        })
    }

    pub fn rows(&self) -> usize {
        self.columns.rows
    }

    pub fn domain(&self) -> usize {
        self.domain.size
    }

    pub fn verifying_key(&self) -> VerifyingKey<Bls12> {
        let t = &self.trapdoor;
        let [alpha_g1, beta_g1, delta_g1]: [G1Affine; 3] = self
            .g1
            .multiples(&[t.alpha, t.beta, t.delta])
            .try_into()
            .expect("three of three");
        let [beta_g2, gamma_g2, delta_g2]: [G2Affine; 3] = self
            .g2
            .multiples(&[t.beta, t.gamma, t.delta])
            .try_into()
            .expect("three of three");
        let ic = self
            .g1
            .multiples(&self.combined(&self.columns.inputs, &t.gamma));
        VerifyingKey {
            alpha_g1,
            beta_g1,
            beta_g2,
            gamma_g2,
            delta_g1,
            delta_g2,
            ic,
        }
    }

    pub fn write_parameters(&self, file: &mut impl Write) -> Result<()> {
        let t = &self.trapdoor;
        self.verifying_key().write(&mut *file)?;
        let h_scale = self.domain.vanishing(&t.tau) * inverse(&t.delta);
        let h = domain::scaled_powers(&t.tau, &h_scale, self.domain.size - 1);
        section(file, &self.g1, &h)?;
        section(file, &self.g1, &self.combined(&self.columns.aux, &t.delta))?;
        section(file, &self.g1, &self.present(0))?;
        let b = self.present(1);
        section(file, &self.g1, &b)?;
        section(file, &self.g2, &b)
    }

    /// (beta u + alpha v + w) / divisor of each column.
    fn combined(&self, columns: &[Column], divisor: &Scalar) -> Vec<Scalar> {
        let scale = inverse(divisor);
        let [by_u, by_v] = [self.trapdoor.beta * scale, self.trapdoor.alpha * scale];
        columns
            .par_iter()
            .map(|[u, v, w]| u * by_u + v * by_v + w * scale)
            .collect()
    }

    /// u (form 0) or v (form 1) of the variables that have any, inputs first.
    fn present(&self, form: usize) -> Vec<Scalar> {
        let all = self.columns.inputs.iter().chain(&self.columns.aux);
        all.map(|column| column[form])
            .filter(|value| !bool::from(value.is_zero()))
            .collect()
    }
}

fn inverse(x: &Scalar) -> Scalar {
    x.invert().expect("a random scalar is not zero")
}

/// Writes a count and as many points.
fn section<P: Points>(
    file: &mut impl Write,
    base: &FixedBase<P>,
    scalars: &[Scalar],
) -> Result<()> {
    let zeros = scalars
        .par_iter()
        .filter(|scalar| bool::from(scalar.is_zero()))
        .count();
    ensure!(
        zeros == 0,
        "{zeros} of {} variables are in no row",
        scalars.len()
    );
    file.write_all(&u32::try_from(scalars.len())?.to_be_bytes())?;
    for part in scalars.chunks(WRITTEN_AT_ONCE) {
        let written: Vec<Vec<u8>> = part
            .par_chunks(CHUNK)
            .map(|chunk| encoded(base, chunk))
            .collect();
        for bytes in written {
            file.write_all(&bytes)?;
        }
    }
    Ok(())
}

fn encoded<P: Points>(base: &FixedBase<P>, scalars: &[Scalar]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for point in base.multiples(scalars) {
        P::append(&point, &mut bytes);
    }
    bytes
}
