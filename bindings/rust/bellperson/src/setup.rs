//! Parameters from bellperson's generator, and as a file.

use std::io::{self, BufWriter, Write};

use bellperson::groth16::{generate_random_parameters, Parameters};
use bellperson::SynthesisError;
use blstrs::{Bls12, Scalar};
use ff::Field;
use rand_core::SeedableRng;
use rand_xorshift::XorShiftRng;
use tempfile::NamedTempFile;

/// Seed of the generator for parameters, r and s: every run proves the same.
/// Real parameters must come from a ceremony, and r and s from the system.
const SEED: [u8; 16] = *b"libcuzk test key";

/// Parameters for the circuit's shape; its values do not matter.
pub fn parameters<C>(circuit: C) -> Result<Parameters<Bls12>, SynthesisError>
where
    C: bellperson::Circuit<Scalar>,
{
    generate_random_parameters::<Bls12, _, _>(circuit, &mut XorShiftRng::from_seed(SEED))
}

/// A parameter file as `Parameters::write` makes it; removed when dropped.
pub fn parameter_file(parameters: &Parameters<Bls12>) -> io::Result<NamedTempFile> {
    let mut file = tempfile::Builder::new().suffix(".params").tempfile()?;
    let mut writer = BufWriter::new(file.as_file_mut());
    parameters.write(&mut writer)?;
    writer.flush()?;
    drop(writer);
    Ok(file)
}

/// r and s for the partition of the given index.
pub fn blinding(index: usize) -> (Scalar, Scalar) {
    let mut rng = XorShiftRng::from_seed(SEED);
    let mut draw = || (Scalar::random(&mut rng), Scalar::random(&mut rng));
    (0..index).for_each(|_| {
        draw();
    });
    draw()
}
