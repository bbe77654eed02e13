use cuzk_supraseal::{circuits_by_column, prove, ANY_DEVICE, SRS};

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
        prove(&columns.assignments(), r_s, s_s, proofs, srs, ANY_DEVICE);
    }
}
