use std::ffi::c_void;
use std::marker::PhantomData;

use crate::assignment::Assignment;
use crate::cuda::Error;

/// A scalar of BLS12-381, in Montgomery form.
const SCALAR_BYTES: usize = size_of::<cuzk_sys::cuzk_fr>();
/// bellperson's `groth16::Proof<Bls12>`.
const PROOF_BYTES: usize = size_of::<cuzk_sys::cuzk_proof>();

/// Circuits to prove, as the library's functions take them. Its arrays have
/// `num_circuits` entries of the sizes that the library reads.
pub struct Call<'a> {
    /// Array of [`Assignment`].
    pub provers: *const c_void,
    /// Entries in each array.
    pub num_circuits: usize,
    /// Array of scalars.
    pub r_s: *const c_void,
    /// Array of scalars.
    pub s_s: *const c_void,
    borrowed: PhantomData<&'a ()>,
}

impl<'a> Call<'a> {
    /// Panics if the arrays differ in length, or `S` is no scalar.
    pub fn new<S>(provers: &'a [Assignment<S>], r_s: &'a [S], s_s: &'a [S]) -> Self {
        check_size::<S>("a scalar", SCALAR_BYTES);
        check_entries("r_s", r_s.len(), provers.len());
        check_entries("s_s", s_s.len(), provers.len());
        Self {
            provers: provers.as_ptr().cast(),
            num_circuits: provers.len(),
            r_s: r_s.as_ptr().cast(),
            s_s: s_s.as_ptr().cast(),
            borrowed: PhantomData,
        }
    }
}

/// Proves circuits by a function of the library, which gets the call and the
/// room for its proofs, and blocks. Panics with the library's message if they
/// cannot be made.
pub fn prove<S, PR>(
    provers: &[Assignment<S>],
    r_s: &[S],
    s_s: &[S],
    proofs: &mut [PR],
    native: impl FnOnce(&Call<'_>, *mut c_void) -> Error,
) {
    let call = Call::new(provers, r_s, s_s);
    check_entries("proofs", proofs.len(), call.num_circuits);
    if let Err(error) = native(&call, room(proofs)).into_result() {
        panic!(
            "libcuzk: {} circuits cannot be proved: {error}",
            call.num_circuits
        );
    }
}

/// Where proofs go. Panics if `PR` is no proof.
pub fn room<PR>(proofs: &mut [PR]) -> *mut c_void {
    check_size::<PR>("a proof", PROOF_BYTES);
    proofs.as_mut_ptr().cast()
}

pub(crate) fn check_entries(name: &str, got: usize, circuits: usize) {
    assert!(
        got == circuits,
        "{name} has {got} entries for {circuits} circuits"
    );
}

/// The generic types of upstream's functions must have the library's sizes.
pub(crate) fn check_size<T>(what: &str, need: usize) {
    let got = size_of::<T>();
    assert!(
        got == need,
        "{what} must have {need} bytes, its type has {got}"
    );
}
