use std::ffi::c_void;
use std::marker::PhantomData;
use std::ptr::null_mut;

use crate::assignment::Assignment;
use crate::cuda::Error;
use crate::srs::SRS;

extern "C" {
    fn cuzk_generate_groth16_proofs_c8(
        provers: *const c_void,
        num_circuits: usize,
        r_s: *const c_void,
        s_s: *const c_void,
        proofs: *mut c_void,
        srs: *const SRS,
        gpu_mtx: *mut c_void,
        gpu_index: i32,
    ) -> Error;
}

/// Any device, for `gpu_index`.
pub const ANY_DEVICE: i32 = cuzk_sys::CUZK_DEVICE_ANY;

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

/// Proves circuits on a device, or on [`ANY_DEVICE`], and blocks. Panics with the
/// library's message if the proofs cannot be made.
pub fn prove<S, PR>(
    provers: &[Assignment<S>],
    r_s: &[S],
    s_s: &[S],
    proofs: &mut [PR],
    srs: &SRS,
    gpu_index: i32,
) {
    let call = Call::new(provers, r_s, s_s);
    check_entries("proofs", proofs.len(), call.num_circuits);
    // SAFETY: call and room have the sizes that the library reads and writes.
    // The caller vouches for the pointers in `provers`, which the signatures
    // above this function, being upstream's, take without `unsafe`.
    let outcome = unsafe {
        cuzk_generate_groth16_proofs_c8(
            call.provers,
            call.num_circuits,
            call.r_s,
            call.s_s,
            room(proofs),
            srs,
            null_mut(),
            gpu_index,
        )
    };
    if let Err(error) = outcome.into_result() {
        panic!(
            "libcuzk: {} circuits cannot be proved: {error}",
            call.num_circuits
        );
    }
}

/// Proves circuits, each with its own densities and sizes, on any device, and
/// blocks. `S` must be a scalar of 32 bytes, `PR` a proof of 384; `proofs` may be
/// uninitialised.
///
/// Panics with the library's message if the proofs cannot be made.
pub fn generate_groth16_proofs<S, PR>(
    provers: &[Assignment<S>],
    r_s: &[S],
    s_s: &[S],
    proofs: &mut [PR],
    srs: &SRS,
) {
    prove(provers, r_s, s_s, proofs, srs, ANY_DEVICE);
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
