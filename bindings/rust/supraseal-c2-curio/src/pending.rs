use std::ffi::c_void;
use std::ptr::null_mut;

use crate::columns::{check_entries, check_size, Columns};
use crate::cuda;
use crate::prove::{PROOF_BYTES, SCALAR_BYTES};
use crate::srs::SRS;

extern "C" {
    fn generate_groth16_proofs_start_c(
        provers: *const c_void,
        num_circuits: usize,
        r_s: *const c_void,
        s_s: *const c_void,
        srs: *const SRS,
        gpu_mtx: *mut c_void,
        gpu_index: i32,
        pending_out: *mut *mut c_void,
    ) -> cuda::Error;
    fn finalize_groth16_proof_c(handle: *mut c_void, proofs: *mut c_void) -> cuda::Error;
    fn destroy_pending_proof(handle: *mut c_void);
}

/// Starts proofs and returns when the rows a, b and c may be freed or changed.
/// Inputs, aux and densities must stay until the handle that is returned goes to
/// [`finish_groth16_proof`] or [`drop_pending_proof`]; the parameter set may go.
///
/// Panics with the library's message if they cannot be started; nothing is left
/// behind then.
// Upstream's signature, which is not unsafe; the library follows no handle.
#[allow(clippy::not_unsafe_ptr_arg_deref, clippy::too_many_arguments)]
pub fn start_groth16_proof<S, D>(
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
    srs: &SRS,
    gpu_mtx: *mut c_void,
    gpu_index: i32,
) -> *mut c_void {
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
    check_size::<S>("a scalar", SCALAR_BYTES);
    check_entries("r_s", r_s.len(), num_circuits);
    check_entries("s_s", s_s.len(), num_circuits);
    let provers = columns.assignments();
    let mut pending = null_mut();
    // SAFETY: the arrays have `num_circuits` entries of the sizes that the
    // library reads, and are copied before the call returns. The caller vouches
    // for what the pointers lead to, which upstream's signature takes without
    // `unsafe`.
    let outcome = unsafe {
        generate_groth16_proofs_start_c(
            provers.as_ptr().cast(),
            num_circuits,
            r_s.as_ptr().cast(),
            s_s.as_ptr().cast(),
            srs,
            gpu_mtx,
            gpu_index,
            &mut pending,
        )
    };
    if let Err(error) = outcome.into_result() {
        panic!("libcuzk: {num_circuits} circuits cannot be started: {error}");
    }
    pending
}

/// Waits for the proofs of a handle and writes them: as many as were started,
/// for which `proofs` must have room. Uses the handle up. One that was used up
/// before is refused.
///
/// Panics with the library's message if the proofs could not be made.
// As for start_groth16_proof.
#[allow(clippy::not_unsafe_ptr_arg_deref)]
pub fn finish_groth16_proof<PR>(handle: *mut c_void, proofs: &mut [PR]) {
    check_size::<PR>("a proof", PROOF_BYTES);
    // SAFETY: the handle is a number and checked. The caller vouches for the
    // room, which upstream's signature asks without `unsafe`.
    let outcome = unsafe { finalize_groth16_proof_c(handle, proofs.as_mut_ptr().cast()) };
    if let Err(error) = outcome.into_result() {
        panic!(
            "libcuzk: {} proofs cannot be finished: {error}",
            proofs.len()
        );
    }
}

/// Gives proofs up that were started: cancels them, and waits until their memory
/// is read no more. Does nothing for a handle that was used up.
///
/// # Safety
/// None is needed here; upstream's function is unsafe.
pub unsafe fn drop_pending_proof(handle: *mut c_void) {
    // SAFETY: the handle is a number, and checked.
    unsafe { destroy_pending_proof(handle) };
}
