use std::ffi::c_void;
use std::ptr::null_mut;

use cuzk_supraseal::{circuits_by_column, prove, Assignment, Call, Error, SRS};

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
    ) -> Error;
}

circuits_by_column! {
    /// Proves circuits that share densities and sizes, and blocks: as the
    /// function of this name in the crate for crates.io, with two arguments
    /// more. `gpu_mtx` is ignored; `gpu_index` is a device, or -1 for any.
    ///
    /// Panics with the library's message if the proofs cannot be made.
    pub fn generate_groth16_proof<S, D, PR>(
        columns,
        r_s,
        s_s,
        proofs: &mut [PR],
        srs: &SRS,
        gpu_mtx: *mut c_void,
        gpu_index: i32
    ) {
        prove(&columns.assignments(), r_s, s_s, proofs, on(srs, gpu_mtx, gpu_index));
    }
}

/// As [`generate_groth16_proof`], on any device, but each circuit has its own
/// densities and sizes.
pub fn generate_groth16_proofs<S, PR>(
    provers: &[Assignment<S>],
    r_s: &[S],
    s_s: &[S],
    proofs: &mut [PR],
    srs: &SRS,
) {
    prove(provers, r_s, s_s, proofs, on(srs, null_mut(), ANY));
}

/// The library's function, with a parameter set and a device.
fn on(
    srs: &SRS,
    gpu_mtx: *mut c_void,
    gpu_index: i32,
) -> impl FnOnce(&Call<'_>, *mut c_void) -> Error + '_ {
    move |call, room| {
        // SAFETY: call and room have the sizes that the library reads and
        // writes. The caller vouches for the pointers in `provers`, which
        // upstream's signatures take without `unsafe`.
        unsafe {
            cuzk_generate_groth16_proofs_c8(
                call.provers,
                call.num_circuits,
                call.r_s,
                call.s_s,
                room,
                srs,
                gpu_mtx,
                gpu_index,
            )
        }
    }
}
