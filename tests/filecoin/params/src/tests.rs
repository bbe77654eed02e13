//! bellperson proves and verifies with parameters made here.

use bellperson::groth16::{
    create_random_proof, prepare_verifying_key, verify_proof, Parameters, VerifyingKey,
};
use bellperson::{Circuit, ConstraintSystem, SynthesisError};
use blstrs::{Bls12, Scalar};
use ff::Field;
use rand::rngs::OsRng;

use crate::setup::Setup;

/// y = x^(2^squarings)
#[derive(Clone, Copy)]
struct Squares {
    x: Option<Scalar>,
    squarings: usize,
}

impl Circuit<Scalar> for Squares {
    fn synthesize<CS: ConstraintSystem<Scalar>>(self, cs: &mut CS) -> Result<(), SynthesisError> {
        let known = |value: Option<Scalar>| move || value.ok_or(SynthesisError::AssignmentMissing);
        let mut value = self.x;
        let mut last = cs.alloc(|| "x", known(value))?;
        for i in 0..self.squarings {
            value = value.map(|v| v.square());
            let square = cs.alloc(|| format!("square {i}"), known(value))?;
            cs.enforce(
                || "square",
                |lc| lc + last,
                |lc| lc + last,
                |lc| lc + square,
            );
            last = square;
        }
        let y = cs.alloc_input(|| "y", known(value))?;
        cs.enforce(|| "y", |lc| lc + last, |lc| lc + CS::one(), |lc| lc + y);
        Ok(())
    }
}

fn parameters(squarings: usize) -> (Parameters<Bls12>, VerifyingKey<Bls12>) {
    let setup = Setup::new(|| Squares { x: None, squarings }).unwrap();
    let mut file = Vec::new();
    setup.write_parameters(&mut file).unwrap();
    // `true`: every point is checked to be in its group.
    (
        Parameters::read(&file[..], true).unwrap(),
        setup.verifying_key(),
    )
}

#[test]
fn a_proof_with_these_parameters_is_verified() {
    // 3 and 4 rows in a domain of 4, 5 in one of 8, with those of the inputs.
    for squarings in [0, 1, 2, 100] {
        let (parameters, vk) = parameters(squarings);
        assert!(parameters.vk == vk, "the files have different keys");
        let x = Scalar::random(OsRng);
        let y = (0..squarings).fold(x, |v, _| v.square());
        let circuit = Squares {
            x: Some(x),
            squarings,
        };
        let proof = create_random_proof(circuit, &parameters, &mut OsRng).unwrap();

        let key = prepare_verifying_key(&vk);
        assert!(
            verify_proof(&key, &proof, &[y]).unwrap(),
            "{squarings} squarings"
        );
        assert!(
            !verify_proof(&key, &proof, &[y + Scalar::ONE]).unwrap(),
            "another statement"
        );
    }
}
