use std::fmt;

use cuzk_sys as sys;

use crate::error::check;
use crate::Result;

/// A scalar: four limbs of 64 bits in Montgomery form, least significant first,
/// below the modulus. This is the memory layout of blst, blstrs and gnark-crypto.
#[repr(transparent)]
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct Fr(pub(crate) sys::cuzk_fr);

/// The order of the curve's groups. Source: the BLS12-381 specification.
const MODULUS: [u64; 4] = [
    0xffff_ffff_0000_0001,
    0x53bd_a402_fffe_5bfe,
    0x3339_d808_09a1_d805,
    0x73ed_a753_299d_7d48,
];

impl Fr {
    /// 0.
    pub const ZERO: Self = Self(sys::cuzk_fr { limb: [0; 4] });

    /// 1, which is 2^256 modulo the order in Montgomery form.
    pub const ONE: Self = Self(sys::cuzk_fr {
        limb: [
            0x0000_0001_ffff_fffe,
            0x5884_b7fa_0003_4802,
            0x998c_4fef_ecbc_4ff5,
            0x1824_b159_acc5_056f,
        ],
    });

    /// From limbs in Montgomery form. Limbs that are not below the modulus are
    /// found when the scalar is used: [`Error::Scalar`](crate::Error::Scalar).
    pub const fn from_limbs(limb: [u64; 4]) -> Self {
        Self(sys::cuzk_fr { limb })
    }

    /// The limbs, in Montgomery form.
    pub const fn limbs(&self) -> [u64; 4] {
        self.0.limb
    }

    /// A uniform scalar from the system's random source.
    pub fn random() -> Result<Self> {
        let mut out = Self::ZERO;
        // SAFETY: `out` is a scalar that lives through the call.
        check(unsafe { sys::cuzk_random_scalar(&mut out.0) })?;
        Ok(out)
    }

    /// self + other; both below the modulus.
    fn plus(self, other: Self) -> Self {
        let (mut sum, mut carry) = ([0; 4], false);
        for (i, limb) in sum.iter_mut().enumerate() {
            (*limb, carry) = carrying_add(self.0.limb[i], other.0.limb[i], carry);
        }
        debug_assert!(
            !carry,
            "the modulus has 255 bits, so the sum has no more than 256"
        );
        let (mut less, mut borrow) = ([0; 4], false);
        for (i, limb) in less.iter_mut().enumerate() {
            (*limb, borrow) = borrowing_sub(sum[i], MODULUS[i], borrow);
        }
        Self::from_limbs(if borrow { sum } else { less })
    }
}

fn carrying_add(a: u64, b: u64, carry: bool) -> (u64, bool) {
    let (sum, first) = a.overflowing_add(b);
    let (sum, second) = sum.overflowing_add(carry.into());
    (sum, first | second)
}

fn borrowing_sub(a: u64, b: u64, borrow: bool) -> (u64, bool) {
    let (difference, first) = a.overflowing_sub(b);
    let (difference, second) = difference.overflowing_sub(borrow.into());
    (difference, first | second)
}

/// A small number, by doubling and adding: for examples and tests.
impl From<u64> for Fr {
    fn from(number: u64) -> Self {
        (0..u64::BITS).rev().fold(Self::ZERO, |value, bit| {
            let double = value.plus(value);
            if number >> bit & 1 == 1 {
                double.plus(Self::ONE)
            } else {
                double
            }
        })
    }
}

/// The limbs, in Montgomery form, most significant first.
impl fmt::Debug for Fr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d] = self.limbs();
        write!(f, "Fr(0x{d:016x}_{c:016x}_{b:016x}_{a:016x})")
    }
}

/// A proof: A and C in G1, B in G2, affine.
///
/// In memory it is bellperson's `groth16::Proof<Bls12>`: see the conversions
/// from and to [`cuzk_proof`](sys::cuzk_proof).
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Proof(pub(crate) sys::cuzk_proof);

impl Proof {
    /// Bytes of a serialised proof.
    pub const BYTES: usize = sys::CUZK_PROOF_BYTES;

    /// A, B and C compressed, in the zcash encoding. The points are not checked.
    /// Fails if a coordinate is not below the modulus, which no proof that the
    /// library made has.
    pub fn to_bytes(&self) -> Result<[u8; Self::BYTES]> {
        let mut bytes = [0; Self::BYTES];
        // SAFETY: both point to as much memory as the header asks for.
        check(unsafe { sys::cuzk_proof_serialize(&self.0, bytes.as_mut_ptr()) })?;
        Ok(bytes)
    }

    /// Reads what [`Proof::to_bytes`] writes; every point must be on the curve
    /// and in the subgroup.
    pub fn from_bytes(bytes: &[u8; Self::BYTES]) -> Result<Self> {
        let mut out = sys::cuzk_proof::default();
        // SAFETY: both point to as much memory as the header asks for.
        check(unsafe { sys::cuzk_proof_deserialize(bytes.as_ptr(), &mut out) })?;
        Ok(Self(out))
    }
}

/// The points' coordinates as they are in memory.
impl From<Proof> for sys::cuzk_proof {
    fn from(proof: Proof) -> Self {
        proof.0
    }
}

/// Checks nothing; [`Srs::verify`](crate::Srs::verify) does.
impl From<sys::cuzk_proof> for Proof {
    fn from(proof: sys::cuzk_proof) -> Self {
        Self(proof)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_numbers_add_up() {
        assert_eq!(Fr::from(0), Fr::ZERO);
        assert_eq!(Fr::from(1), Fr::ONE);
        assert_eq!(Fr::from(u64::MAX).plus(Fr::from(1)), power_of_two(64));
        assert_eq!(power_of_two(256), Fr::from_limbs(R_SQUARED));
    }

    /// 2^256 modulo the order, in Montgomery form. Source: blst, `BLS12_381_rRR`.
    const R_SQUARED: [u64; 4] = [
        0xc999_e990_f3f2_9c6d,
        0x2b6c_edcb_8792_5c23,
        0x05d3_1496_7254_398f,
        0x0748_d9d9_9f59_ff11,
    ];

    fn power_of_two(exponent: u32) -> Fr {
        (0..exponent).fold(Fr::ONE, |value, _| value.plus(value))
    }
}
