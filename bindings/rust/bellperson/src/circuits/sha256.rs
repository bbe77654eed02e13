use bellperson::gadgets::{
    boolean::{AllocatedBit, Boolean},
    multieq::MultiEq,
    multipack,
    sha256::sha256,
    uint32::UInt32,
};
use bellperson::{ConstraintSystem, SynthesisError};
use blstrs::Scalar;
use sha2::{Digest, Sha256};

use super::Statement;

/// Knowledge of 64 bytes whose SHA-256, hashed again `links` times, is public.
/// The gadget is bellperson's.
#[derive(Clone)]
pub struct Sha256Chain {
    preimage: [u8; 64],
    links: usize,
}

impl Sha256Chain {
    /// `links` = 0 is the plain hash of the preimage.
    pub fn new(preimage: [u8; 64], links: usize) -> Self {
        Self { preimage, links }
    }

    /// The public digest.
    pub fn digest(&self) -> [u8; 32] {
        let first = Sha256::digest(self.preimage);
        (0..self.links)
            .fold(first, |digest, _| Sha256::digest(digest))
            .into()
    }
}

impl bellperson::Circuit<Scalar> for Sha256Chain {
    fn synthesize<CS: ConstraintSystem<Scalar>>(self, cs: &mut CS) -> Result<(), SynthesisError> {
        let bits = secret_bits(cs, &self.preimage)?;
        let mut digest = sha256(cs.namespace(|| "first"), &bits)?;
        for link in 0..self.links {
            digest = sha256(cs.namespace(|| format!("link {link}")), &digest)?;
        }
        multipack::pack_into_inputs(cs.namespace(|| "digest"), &digest)
    }
}

impl Statement for Sha256Chain {
    fn public_inputs(&self) -> Vec<Scalar> {
        pack_bytes(&self.digest())
    }

    fn claim(&self) -> String {
        match self.links {
            0 => "64 bytes whose SHA-256 digest is public".to_owned(),
            n => format!("64 bytes whose SHA-256 digest, hashed {n} times more, is public"),
        }
    }
}

/// Knowledge of a block of 64 bytes that the SHA-256 compression function, cut
/// short after some of its 64 rounds, takes to a public state: for circuits
/// smaller than a whole compression, which has more than 2^14 rows.
#[derive(Clone)]
pub struct Sha256Rounds {
    block: [u8; 64],
    rounds: usize,
}

impl Sha256Rounds {
    /// 1 to 64 rounds; 64 is the compression function itself.
    pub fn new(block: [u8; 64], rounds: usize) -> Self {
        assert!(
            (1..=64).contains(&rounds),
            "rounds must be 1 to 64, got {rounds}"
        );
        Self { block, rounds }
    }

    /// The public state, big endian words one after the other.
    pub fn state(&self) -> [u8; 32] {
        let words = compress(&self.block, self.rounds);
        let mut bytes = [0; 32];
        for (out, word) in bytes.chunks_exact_mut(4).zip(words) {
            out.copy_from_slice(&word.to_be_bytes());
        }
        bytes
    }
}

impl bellperson::Circuit<Scalar> for Sha256Rounds {
    fn synthesize<CS: ConstraintSystem<Scalar>>(self, cs: &mut CS) -> Result<(), SynthesisError> {
        let bits = secret_bits(cs, &self.block)?;
        let block: Vec<UInt32> = bits.chunks(32).map(UInt32::from_bits_be).collect();
        let state = compress_in_circuit(cs, block, self.rounds)?;
        let bits: Vec<Boolean> = state.into_iter().flat_map(UInt32::into_bits_be).collect();
        multipack::pack_into_inputs(cs.namespace(|| "state"), &bits)
    }
}

impl Statement for Sha256Rounds {
    fn public_inputs(&self) -> Vec<Scalar> {
        pack_bytes(&self.state())
    }

    fn claim(&self) -> String {
        format!(
            "64 bytes whose image under {} rounds of SHA-256 is public",
            self.rounds
        )
    }
}

/// A private bit for each bit of the bytes, most significant first.
fn secret_bits<CS: ConstraintSystem<Scalar>>(
    cs: &mut CS,
    bytes: &[u8],
) -> Result<Vec<Boolean>, SynthesisError> {
    multipack::bytes_to_bits(bytes)
        .into_iter()
        .enumerate()
        .map(|(i, bit)| {
            AllocatedBit::alloc(cs.namespace(|| format!("bit {i}")), Some(bit)).map(Boolean::from)
        })
        .collect()
}

fn pack_bytes(bytes: &[u8]) -> Vec<Scalar> {
    multipack::compute_multipacking(&multipack::bytes_to_bits(bytes))
}

/// Source: FIPS 180-4 section 5.3.3.
const INITIAL_STATE: [u32; 8] = [
    0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
];

/// Round constants: the first 32 bits of the fractional parts of the cube roots
/// of the first 64 primes, here by integer cube roots of p * 2^96.
/// Source: FIPS 180-4 section 4.2.2.
fn round_constants() -> Vec<u32> {
    let is_prime = |n: &u32| (2..*n).take_while(|d| d * d <= *n).all(|d| n % d != 0);
    (2u32..)
        .filter(is_prime)
        .take(64)
        .map(cube_root_fraction)
        .collect()
}

/// The low 32 bits of floor(cbrt(prime) * 2^32): bit by bit the largest x with
/// x^3 <= prime * 2^96. x stays below 7 * 2^32, so x^3 fits 128 bits.
fn cube_root_fraction(prime: u32) -> u32 {
    let target = u128::from(prime) << 96;
    let root = (0..35).rev().fold(0u128, |root, bit| {
        let larger = root | 1 << bit;
        if larger.pow(3) <= target {
            larger
        } else {
            root
        }
    });
    root as u32
}

/// The compression function on the initial state, with fewer rounds.
/// Source: FIPS 180-4 section 6.2.2.
fn compress(block: &[u8; 64], rounds: usize) -> [u32; 8] {
    let mut w: Vec<u32> = block
        .chunks_exact(4)
        .map(|b| u32::from_be_bytes([b[0], b[1], b[2], b[3]]))
        .collect();
    for t in 16..rounds {
        let s0 = w[t - 15].rotate_right(7) ^ w[t - 15].rotate_right(18) ^ (w[t - 15] >> 3);
        let s1 = w[t - 2].rotate_right(17) ^ w[t - 2].rotate_right(19) ^ (w[t - 2] >> 10);
        w.push(
            s1.wrapping_add(w[t - 7])
                .wrapping_add(s0)
                .wrapping_add(w[t - 16]),
        );
    }
    let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = INITIAL_STATE;
    for (k, w) in round_constants().into_iter().zip(w).take(rounds) {
        let s1 = e.rotate_right(6) ^ e.rotate_right(11) ^ e.rotate_right(25);
        let ch = (e & f) ^ (!e & g);
        let t1 = [s1, ch, k, w].into_iter().fold(h, u32::wrapping_add);
        let s0 = a.rotate_right(2) ^ a.rotate_right(13) ^ a.rotate_right(22);
        let maj = (a & b) ^ (a & c) ^ (b & c);
        (h, g, f, e) = (g, f, e, d.wrapping_add(t1));
        (d, c, b, a) = (c, b, a, t1.wrapping_add(s0).wrapping_add(maj));
    }
    let last = [a, b, c, d, e, f, g, h];
    std::array::from_fn(|i| INITIAL_STATE[i].wrapping_add(last[i]))
}

/// x rotated or shifted three ways and added bit by bit.
fn sigma<CS: ConstraintSystem<Scalar>>(
    cs: &mut CS,
    parts: [UInt32; 3],
) -> Result<UInt32, SynthesisError> {
    let [x, y, z] = parts;
    let xy = x.xor(cs.namespace(|| "first xor"), &y)?;
    xy.xor(cs.namespace(|| "second xor"), &z)
}

/// The same as [`compress`], as constraints.
fn compress_in_circuit<CS: ConstraintSystem<Scalar>>(
    cs: &mut CS,
    block: Vec<UInt32>,
    rounds: usize,
) -> Result<Vec<UInt32>, SynthesisError> {
    let mut cs = MultiEq::new(cs);
    let mut w = block;
    for t in 16..rounds {
        let mut cs = cs.namespace(|| format!("schedule {t}"));
        let (x, y) = (&w[t - 15], &w[t - 2]);
        let s0 = sigma(
            &mut cs.namespace(|| "s0"),
            [x.rotr(7), x.rotr(18), x.shr(3)],
        )?;
        let s1 = sigma(
            &mut cs.namespace(|| "s1"),
            [y.rotr(17), y.rotr(19), y.shr(10)],
        )?;
        let terms = [s1, w[t - 7].clone(), s0, w[t - 16].clone()];
        w.push(UInt32::addmany(cs.namespace(|| "w"), &terms)?);
    }
    let initial = INITIAL_STATE.map(UInt32::constant);
    let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = initial.clone();
    for (t, (k, w)) in round_constants()
        .into_iter()
        .zip(w)
        .take(rounds)
        .enumerate()
    {
        let mut cs = cs.namespace(|| format!("round {t}"));
        let s1 = sigma(
            &mut cs.namespace(|| "S1"),
            [e.rotr(6), e.rotr(11), e.rotr(25)],
        )?;
        let ch = UInt32::sha256_ch(cs.namespace(|| "ch"), &e, &f, &g)?;
        let t1 = [h, s1, ch, UInt32::constant(k), w];
        let s0 = sigma(
            &mut cs.namespace(|| "S0"),
            [a.rotr(2), a.rotr(13), a.rotr(22)],
        )?;
        let maj = UInt32::sha256_maj(cs.namespace(|| "maj"), &a, &b, &c)?;

        let e_terms: Vec<_> = t1.iter().cloned().chain([d]).collect();
        let a_terms: Vec<_> = t1.into_iter().chain([s0, maj]).collect();
        (h, g, f) = (g, f, e);
        (d, c, b) = (c, b, a);
        e = UInt32::addmany(cs.namespace(|| "e"), &e_terms)?;
        a = UInt32::addmany(cs.namespace(|| "a"), &a_terms)?;
    }
    let sums = initial
        .into_iter()
        .zip([a, b, c, d, e, f, g, h])
        .enumerate();
    sums.map(|(i, (x, y))| UInt32::addmany(cs.namespace(|| format!("sum {i}")), &[x, y]))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_rounds_are_the_compression_function() {
        // One block with SHA-256's own padding of a message of 55 bytes.
        let message: Vec<u8> = (0..55).collect();
        let mut block = [0; 64];
        block[..55].copy_from_slice(&message);
        block[55] = 0x80;
        block[62..].copy_from_slice(&(55u16 * 8).to_be_bytes());

        let state = Sha256Rounds::new(block, 64).state();

        assert_eq!(state[..], Sha256::digest(&message)[..]);
    }
}
