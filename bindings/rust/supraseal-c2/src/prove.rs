use std::ffi::c_void;

use cuzk_supraseal::{circuits_by_column, prove, Assignment, Error, SRS};

extern "C" {
    fn generate_groth16_proofs_c(
        provers: *const c_void,
        num_circuits: usize,
        r_s: *const c_void,
        s_s: *const c_void,
        proofs: *mut c_void,
        srs: *const SRS,
    ) -> Error;
}

circuits_by_column! {
    /// Proves circuits that share densities and sizes, and blocks.
    ///
    /// The arrays of pointers have `num_circuits` entries, each leading to as
    /// many elements as the size says. `S` must be a scalar of 32 bytes, `D` a
    /// word of 8, `PR` a proof of 384; `proofs` may be uninitialised.
    ///
    /// Panics with the library's message if the proofs cannot be made.
    pub fn generate_groth16_proof<S, D, PR>(
        columns,
        r_s,
        s_s,
        proofs: &mut [PR],
        srs: &SRS
    ) {
        generate_groth16_proofs(&columns.assignments(), r_s, s_s, proofs, srs);
    }
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
    prove(provers, r_s, s_s, proofs, |call, room| {
        // SAFETY: call and room have the sizes that the library reads and
        // writes. The caller vouches for the pointers in `provers`, which this
        // function's signature, being upstream's, takes without `unsafe`.
        unsafe {
            generate_groth16_proofs_c(
                call.provers,
                call.num_circuits,
                call.r_s,
                call.s_s,
                room,
                srs,
            )
        }
    });
}
