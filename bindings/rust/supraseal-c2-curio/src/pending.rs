use std::ffi::c_void;
use std::ptr::null_mut;

use cuzk_supraseal::{circuits_by_column, room, Call, Error, SRS};

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
    ) -> Error;
    fn finalize_groth16_proof_c(handle: *mut c_void, proofs: *mut c_void) -> Error;
    fn destroy_pending_proof(handle: *mut c_void);
}

circuits_by_column! {
    /// Starts proofs and returns when the rows a, b and c may be freed or
    /// changed. Inputs, aux and densities must stay until the handle that is
    /// returned goes to [`finish_groth16_proof`] or [`drop_pending_proof`]; the
    /// parameter set may go.
    ///
    /// Panics with the library's message if they cannot be started; nothing is
    /// left behind then.
    // Upstream's signature, which is not unsafe; the library follows no handle.
    #[allow(clippy::not_unsafe_ptr_arg_deref)]
    pub fn start_groth16_proof<S, D>(
        columns,
        r_s,
        s_s,
        srs: &SRS,
        gpu_mtx: *mut c_void,
        gpu_index: i32
    ) -> *mut c_void {
        let provers = columns.assignments();
        let call = Call::new(&provers, r_s, s_s);
        let mut pending = null_mut();
        // SAFETY: call has the sizes that the library reads, and is copied
        // before it returns. The caller vouches for what the pointers lead to,
        // which upstream's signature takes without `unsafe`.
        let outcome = unsafe {
            generate_groth16_proofs_start_c(
                call.provers,
                call.num_circuits,
                call.r_s,
                call.s_s,
                srs,
                gpu_mtx,
                gpu_index,
                &mut pending,
            )
        };
        if let Err(error) = outcome.into_result() {
            panic!("libcuzk: {} circuits cannot be started: {error}", provers.len());
        }
        pending
    }
}

/// Waits for the proofs of a handle and writes them: as many as were started,
/// for which `proofs` must have room. Uses the handle up. One that was used up
/// before is refused.
///
/// Panics with the library's message if the proofs could not be made.
// As for start_groth16_proof.
#[allow(clippy::not_unsafe_ptr_arg_deref)]
pub fn finish_groth16_proof<PR>(handle: *mut c_void, proofs: &mut [PR]) {
    // SAFETY: the handle is a number and checked. The caller vouches for the
    // room, which upstream's signature asks without `unsafe`.
    let outcome = unsafe { finalize_groth16_proof_c(handle, room(proofs)) };
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
