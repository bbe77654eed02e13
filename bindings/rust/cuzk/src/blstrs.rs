//! blstrs' types, which have the layout of this crate's (feature `blstrs`).
//!
//! [`Data`] is made from slices, vectors and `Arc<Vec>`s of [`Scalar`] as from
//! those of [`Fr`], without copying; [`Proof`] gives and takes blstrs' points.

use std::slice;
use std::sync::Arc;

use blstrs::{G1Affine, G2Affine, Scalar};
use cuzk_sys as sys;

use crate::{Data, Fr, Proof};

const _: () = assert!(size_of::<Scalar>() == size_of::<Fr>());
const _: () = assert!(align_of::<Scalar>() == align_of::<Fr>());

/// The same memory as scalars of this crate.
pub fn as_fr(scalars: &[Scalar]) -> &[Fr] {
    // SAFETY: both are four limbs of 64 bits in Montgomery form, least
    // significant first: Scalar is transparent over blst_fr, Fr over cuzk_fr.
    // Size and alignment are compared above.
    unsafe { slice::from_raw_parts(scalars.as_ptr().cast(), scalars.len()) }
}

impl From<Scalar> for Fr {
    fn from(scalar: Scalar) -> Self {
        as_fr(slice::from_ref(&scalar))[0]
    }
}

impl<'a> From<&'a [Scalar]> for Data<'a, Fr> {
    fn from(scalars: &'a [Scalar]) -> Self {
        as_fr(scalars).into()
    }
}

impl<'a> From<&'a Vec<Scalar>> for Data<'a, Fr> {
    fn from(scalars: &'a Vec<Scalar>) -> Self {
        as_fr(scalars).into()
    }
}

impl From<Vec<Scalar>> for Data<'_, Fr> {
    fn from(scalars: Vec<Scalar>) -> Self {
        Arc::new(scalars).into()
    }
}

impl From<Arc<Vec<Scalar>>> for Data<'_, Fr> {
    fn from(scalars: Arc<Vec<Scalar>>) -> Self {
        let (start, len) = (as_fr(&scalars).as_ptr(), scalars.len());
        // SAFETY: the vector does not change while this Arc is one of its
        // owners, so its elements stay.
        unsafe { Self::owned_by(scalars, start, len) }
    }
}

impl Proof {
    /// A, B and C, as fields of bellperson's `groth16::Proof`.
    pub fn to_points(&self) -> (G1Affine, G2Affine, G1Affine) {
        (
            g1_to_blstrs(&self.0.a),
            g2_to_blstrs(&self.0.b),
            g1_to_blstrs(&self.0.c),
        )
    }

    /// From A, B and C.
    pub fn from_points(a: &G1Affine, b: &G2Affine, c: &G1Affine) -> Self {
        Self(sys::cuzk_proof {
            a: g1_from_blstrs(a),
            b: g2_from_blstrs(b),
            c: g1_from_blstrs(c),
        })
    }
}

fn g1_to_blstrs(point: &sys::cuzk_g1) -> G1Affine {
    let mut out = G1Affine::default();
    let raw = out.as_mut();
    (raw.x.l, raw.y.l) = (point.x.limb, point.y.limb);
    out
}

fn g1_from_blstrs(point: &G1Affine) -> sys::cuzk_g1 {
    let raw = point.as_ref();
    sys::cuzk_g1 {
        x: sys::cuzk_fp { limb: raw.x.l },
        y: sys::cuzk_fp { limb: raw.y.l },
    }
}

fn g2_to_blstrs(point: &sys::cuzk_g2) -> G2Affine {
    let mut out = G2Affine::default();
    let raw = out.as_mut();
    for (raw, point) in [(&mut raw.x, &point.x), (&mut raw.y, &point.y)] {
        (raw.fp[0].l, raw.fp[1].l) = (point.c0.limb, point.c1.limb);
    }
    out
}

fn g2_from_blstrs(point: &G2Affine) -> sys::cuzk_g2 {
    let raw = point.as_ref();
    let [x, y] = [&raw.x, &raw.y].map(|raw| sys::cuzk_fp2 {
        c0: sys::cuzk_fp { limb: raw.fp[0].l },
        c1: sys::cuzk_fp { limb: raw.fp[1].l },
    });
    sys::cuzk_g2 { x, y }
}
