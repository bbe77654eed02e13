use std::ffi::c_void;

use cuzk_supraseal::{circuits_by_column, prove, SRS};

circuits_by_column! {
    /// Proves circuits that share densities and sizes, and blocks: as the
    /// function of this name in the crate for crates.io, with two arguments
    /// more. `_gpu_mtx` is ignored; `gpu_index` is a device, or -1 for any.
    ///
    /// Panics with the library's message if the proofs cannot be made.
    pub fn generate_groth16_proof<S, D, PR>(
        columns,
        r_s,
        s_s,
        proofs: &mut [PR],
        srs: &SRS,
        _gpu_mtx: *mut c_void,
        gpu_index: i32
    ) {
        prove(&columns.assignments(), r_s, s_s, proofs, srs, gpu_index);
    }
}
