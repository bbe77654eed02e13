//! One statement proved by both, with the same r and s.

use std::error::Error;
use std::time::{Duration, Instant};

use bellperson::groth16::{create_proof, prepare_verifying_key, verify_proof, Parameters, Proof};
use blstrs::{Bls12, Scalar};
use cuzk::{Assignment, Density, Partition, ProveOptions, Srs};

use crate::circuits::Statement;
use crate::cpu_time::cpu_time;
use crate::record::{synthesize, Bits, Recorder};
use crate::setup;

/// What goes wrong is shown, never handled.
pub type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Hands the record over without copying.
pub fn assignment(record: Recorder) -> cuzk::Result<Assignment<'static>> {
    let density = |bits: Bits| {
        let len = bits.len();
        Density::new(bits.into_words(), len)
    };
    Ok(Assignment {
        a: record.a.into(),
        b: record.b.into(),
        inputs: record.inputs.into(),
        aux: record.aux.into(),
        a_aux: density(record.a_aux)?,
        b_inputs: density(record.b_inputs)?,
        b_aux: density(record.b_aux)?,
    })
}

/// The circuit's partition, from synthesis on.
pub fn partition<C: Statement>(
    circuit: C,
    blinding: (Scalar, Scalar),
) -> Result<Partition<'static>> {
    let (r, s) = blinding;
    Ok(Partition::with_blinding(
        assignment(synthesize(circuit)?)?,
        r.into(),
        s.into(),
    ))
}

/// libcuzk's proof as bellperson's type.
pub fn to_bellperson(proof: &cuzk::Proof) -> Proof<Bls12> {
    let (a, b, c) = proof.to_points();
    Proof { a, b, c }
}

/// bellperson's serialised form: A, B and C compressed.
pub fn to_bytes(proof: &Proof<Bls12>) -> Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(cuzk::Proof::BYTES);
    proof.write(&mut bytes)?;
    Ok(bytes)
}

/// A circuit with its parameters, in both provers.
pub struct Comparison<C> {
    /// The statement to prove.
    pub circuit: C,
    /// What bellperson proves and verifies with.
    pub parameters: Parameters<Bls12>,
    /// The same, written to a file and opened by libcuzk.
    pub srs: Srs,
}

/// How long something took.
#[derive(Clone, Copy)]
pub struct Times {
    /// On the clock.
    pub wall: Duration,
    /// On all processors together.
    pub cpu: Duration,
}

/// The result of some work, and how long it took.
fn timed<T>(work: impl FnOnce() -> Result<T>) -> Result<(T, Times)> {
    let (start, cpu) = (Instant::now(), cpu_time()?);
    let result = work()?;
    let times = Times {
        wall: start.elapsed(),
        cpu: cpu_time()? - cpu,
    };
    Ok((result, times))
}

/// The two proofs of one statement, and how long each took from synthesis on.
pub struct Round {
    /// bellperson's proof.
    pub bellperson: Proof<Bls12>,
    /// Its times.
    pub bellperson_times: Times,
    /// libcuzk's proof.
    pub cuzk: cuzk::Proof,
    /// Its times, with the self-check.
    pub cuzk_times: Times,
    /// How much of it was synthesis, which bellperson's times have too.
    pub synthesis_time: Duration,
}

impl<C: Statement> Comparison<C> {
    /// Makes the parameters, which takes much longer than a proof.
    pub fn new(circuit: C) -> Result<Self> {
        let parameters = setup::parameters(circuit.clone())?;
        let file = setup::parameter_file(&parameters)?;
        let srs = Srs::open(file.path())?;
        Ok(Self {
            circuit,
            parameters,
            srs,
        })
    }

    /// Proves with both, one after the other.
    pub fn round(&self, blinding: (Scalar, Scalar)) -> Result<Round> {
        let (r, s) = blinding;
        let (bellperson, bellperson_times) =
            timed(|| Ok(create_proof(self.circuit.clone(), &self.parameters, r, s)?))?;

        let mut synthesis_time = Duration::ZERO;
        let (cuzk, cuzk_times) = timed(|| {
            let start = Instant::now();
            let partition = partition(self.circuit.clone(), blinding)?;
            synthesis_time = start.elapsed();
            Ok(self.srs.prove(&partition, &ProveOptions::new())?)
        })?;
        Ok(Round {
            bellperson,
            bellperson_times,
            cuzk,
            cuzk_times,
            synthesis_time,
        })
    }

    /// Fails unless the two proofs have the same bytes and bellperson verifies
    /// libcuzk's.
    pub fn check(&self, round: &Round) -> Result<()> {
        if to_bytes(&round.bellperson)?[..] != round.cuzk.to_bytes()? {
            return Err("the two proofs differ".into());
        }
        let key = prepare_verifying_key(&self.parameters.vk);
        let proof = to_bellperson(&round.cuzk);
        if !verify_proof(&key, &proof, &self.circuit.public_inputs())? {
            return Err("bellperson does not verify libcuzk's proof".into());
        }
        Ok(())
    }
}
