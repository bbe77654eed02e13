use std::ffi::c_void;
use std::ptr::null_mut;

use crate::assignment::Assignment;
use crate::columns::{check_entries, check_size, Columns};
use crate::cuda;
use crate::srs::SRS;

/// Any device, for `gpu_index`.
const ANY: i32 = cuzk_sys::CUZK_DEVICE_ANY;

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
    ) -> cuda::Error;
}

/// A scalar of BLS12-381, in Montgomery form.
pub(crate) const SCALAR_BYTES: usize = size_of::<cuzk_sys::cuzk_fr>();
/// bellperson's `groth16::Proof<Bls12>`.
pub(crate) const PROOF_BYTES: usize = size_of::<cuzk_sys::cuzk_proof>();

/// Proves circuits that share densities and sizes, and blocks.
///
/// The arrays of pointers have `num_circuits` entries, each leading to as many
/// elements as the size says. `S` must be a scalar of 32 bytes, `D` a word of 8,
/// `PR` a proof of 384; `proofs` may be uninitialised.
///
/// `gpu_mtx` is ignored; `gpu_index` is a device, or -1 for any.
///
/// Panics with the library's message if the proofs cannot be made.
#[allow(clippy::too_many_arguments)]
pub fn generate_groth16_proof<S, D, PR>(
    ntt_a_scalars: &[*const S],
    ntt_b_scalars: &[*const S],
    ntt_c_scalars: &[*const S],
    ntt_scalars_actual_size: usize,
    input_assignments: &[*const S],
    aux_assignments: &[*const S],
    input_assignments_size: usize,
    aux_assignments_size: usize,
    a_aux_density_bv: &[D],
    b_g1_input_density_bv: &[D],
    b_g1_aux_density_bv: &[D],
    a_aux_total_density: usize,
    b_g1_input_total_density: usize,
    b_g1_aux_total_density: usize,
    num_circuits: usize,
    r_s: &[S],
    s_s: &[S],
    proofs: &mut [PR],
    srs: &SRS,
    gpu_mtx: *mut c_void,
    gpu_index: i32,
) {
    let columns = Columns {
        num_circuits,
        a: ntt_a_scalars,
        b: ntt_b_scalars,
        c: ntt_c_scalars,
        num_rows: ntt_scalars_actual_size,
        inputs: input_assignments,
        num_inputs: input_assignments_size,
        aux: aux_assignments,
        num_aux: aux_assignments_size,
        a_aux: (a_aux_density_bv, a_aux_total_density),
        b_inputs: (b_g1_input_density_bv, b_g1_input_total_density),
        b_aux: (b_g1_aux_density_bv, b_g1_aux_total_density),
    };
    prove(
        &columns.assignments(),
        r_s,
        s_s,
        proofs,
        srs,
        gpu_mtx,
        gpu_index,
    );
}

/// Proves circuits, each with its own densities and sizes, and blocks. `S` must
/// be a scalar of 32 bytes, `PR` a proof of 384; `proofs` may be uninitialised.
///
/// Panics with the library's message if the proofs cannot be made.
pub fn generate_groth16_proofs<S, PR>(
    provers: &[Assignment<S>],
    r_s: &[S],
    s_s: &[S],
    proofs: &mut [PR],
    srs: &SRS,
) {
    prove(provers, r_s, s_s, proofs, srs, null_mut(), ANY);
}

fn prove<S, PR>(
    provers: &[Assignment<S>],
    r_s: &[S],
    s_s: &[S],
    proofs: &mut [PR],
    srs: &SRS,
    gpu_mtx: *mut c_void,
    gpu_index: i32,
) {
    check_size::<S>("a scalar", SCALAR_BYTES);
    check_size::<PR>("a proof", PROOF_BYTES);
    let circuits = provers.len();
    check_entries("r_s", r_s.len(), circuits);
    check_entries("s_s", s_s.len(), circuits);
    check_entries("proofs", proofs.len(), circuits);
    // SAFETY: the arrays have `circuits` entries of the sizes that the library
    // reads and writes. The caller vouches for the pointers in `provers`, which
    // upstream's signatures take without `unsafe`.
    let outcome = unsafe {
        cuzk_generate_groth16_proofs_c8(
            provers.as_ptr().cast(),
            circuits,
            r_s.as_ptr().cast(),
            s_s.as_ptr().cast(),
            proofs.as_mut_ptr().cast(),
            srs,
            gpu_mtx,
            gpu_index,
        )
    };
    if let Err(error) = outcome.into_result() {
        panic!("libcuzk: {circuits} circuits cannot be proved: {error}");
    }
}
