//! Many multiples of one point, by a table of its multiples.

use blstrs::{G1Affine, G1Projective, G2Affine, G2Projective, Scalar};
use ff::{BatchInvert, Field, PrimeField};
use group::prime::PrimeCurve;

/// Bits of a digit: tables of 16 and 31 MB, which caches hold.
const WINDOW: usize = 13;
const DIGITS: usize = (Scalar::NUM_BITS as usize).div_ceil(WINDOW);
const MULTIPLES: usize = (1 << WINDOW) - 1;

/// The two groups, with what `group` has no fast way for.
pub trait Points: PrimeCurve<Scalar = Scalar> {
    fn to_affine_all(points: &[Self]) -> Vec<Self::Affine>;
    /// Appends the point as parameter files have it.
    fn append(point: &Self::Affine, bytes: &mut Vec<u8>);
}

impl Points for G1Projective {
    fn to_affine_all(points: &[Self]) -> Vec<G1Affine> {
        let affine = |x, y| G1Affine::from_raw_unchecked(x, y, false);
        divide_by_z(
            points.iter().map(|p| (p.x(), p.y(), p.z())).collect(),
            affine,
        )
    }
    fn append(point: &G1Affine, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(&point.to_uncompressed());
    }
}

impl Points for G2Projective {
    fn to_affine_all(points: &[Self]) -> Vec<G2Affine> {
        let affine = |x, y| G2Affine::from_raw_unchecked(x, y, false);
        divide_by_z(
            points.iter().map(|p| (p.x(), p.y(), p.z())).collect(),
            affine,
        )
    }
    fn append(point: &G2Affine, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(&point.to_uncompressed());
    }
}

/// (X, Y, Z) is the point (X / Z^2, Y / Z^3); none may be at infinity.
fn divide_by_z<F: Field, A>(points: Vec<(F, F, F)>, affine: impl Fn(F, F) -> A) -> Vec<A> {
    let mut inverses: Vec<F> = points.iter().map(|(_, _, z)| *z).collect();
    inverses.iter_mut().batch_invert();
    points
        .into_iter()
        .zip(inverses)
        .map(|((x, y, _), inverse)| {
            let square = inverse.square();
            affine(x * square, y * square * inverse)
        })
        .collect()
}

pub struct FixedBase<P: Points> {
    /// d 2^(WINDOW k) of the base, at k MULTIPLES + d - 1.
    table: Vec<P::Affine>,
}

impl<P: Points> FixedBase<P> {
    pub fn new(base: P) -> Self {
        let mut table = Vec::with_capacity(DIGITS * MULTIPLES);
        let mut unit = base;
        for _ in 0..DIGITS {
            let multiples: Vec<P> = std::iter::successors(Some(unit), |point| Some(*point + unit))
                .take(MULTIPLES + 1)
                .collect();
            table.extend(P::to_affine_all(&multiples[..MULTIPLES]));
            unit = multiples[MULTIPLES];
        }
        FixedBase { table }
    }

    /// The multiples by scalars that are not zero.
    pub fn multiples(&self, scalars: &[Scalar]) -> Vec<P::Affine> {
        let points: Vec<P> = scalars.iter().map(|scalar| self.multiple(scalar)).collect();
        P::to_affine_all(&points)
    }

    fn multiple(&self, scalar: &Scalar) -> P {
        let bytes = scalar.to_repr();
        let mut sum = P::identity();
        for k in 0..DIGITS {
            let digit = digit(&bytes, k);
            if digit != 0 {
                sum += &self.table[k * MULTIPLES + digit - 1];
            }
        }
        sum
    }
}

/// Bits WINDOW k to WINDOW (k + 1) - 1 of a number, its lowest byte first.
fn digit(bytes: &[u8; 32], k: usize) -> usize {
    let (first, shift) = (WINDOW * k / 8, WINDOW * k % 8);
    // Three bytes hold any WINDOW + 7 bits.
    let three = (0..3).map(|i| (bytes.get(first + i).copied().unwrap_or(0) as usize) << (8 * i));
    three.sum::<usize>() >> shift & MULTIPLES
}
