use std::ffi::c_void;

use crate::assignment::Assignment;
use crate::cuda;
use crate::srs::SRS;

extern "C" {
    fn generate_groth16_proofs_c(
        provers: *const c_void,
        num_circuits: usize,
        r_s: *const c_void,
        s_s: *const c_void,
        proofs: *mut c_void,
        srs: *const SRS,
    ) -> cuda::Error;
}

/// A scalar of BLS12-381, in Montgomery form.
const SCALAR_BYTES: usize = size_of::<cuzk_sys::cuzk_fr>();
/// bellperson's `groth16::Proof<Bls12>`.
const PROOF_BYTES: usize = size_of::<cuzk_sys::cuzk_proof>();
/// A word of a density.
const WORD_BYTES: usize = 8;

/// Proves circuits that share densities and sizes, and blocks.
///
/// The arrays of pointers have `num_circuits` entries, each leading to as many
/// elements as the size says. `S` must be a scalar of 32 bytes, `D` a word of 8,
/// `PR` a proof of 384; `proofs` may be uninitialised.
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
) {
    for (name, pointers) in [
        ("ntt_a_scalars", ntt_a_scalars),
        ("ntt_b_scalars", ntt_b_scalars),
        ("ntt_c_scalars", ntt_c_scalars),
        ("input_assignments", input_assignments),
        ("aux_assignments", aux_assignments),
    ] {
        let got = pointers.len();
        assert!(
            got == num_circuits,
            "{name} has {got} entries for {num_circuits} circuits"
        );
    }
    for (name, words, bits) in [
        ("a_aux_density_bv", a_aux_density_bv, aux_assignments_size),
        (
            "b_g1_input_density_bv",
            b_g1_input_density_bv,
            input_assignments_size,
        ),
        (
            "b_g1_aux_density_bv",
            b_g1_aux_density_bv,
            aux_assignments_size,
        ),
    ] {
        check_size::<D>("a density's word", WORD_BYTES);
        let (got, need) = (words.len(), bits.div_ceil(8 * WORD_BYTES));
        assert!(
            got >= need,
            "{name} has {got} words, {bits} bits need {need}"
        );
    }
    let provers: Vec<_> = (0..num_circuits)
        .map(|circuit| Assignment {
            a_aux_density: a_aux_density_bv.as_ptr().cast(),
            a_aux_bit_len: aux_assignments_size,
            a_aux_popcount: a_aux_total_density,
            b_inp_density: b_g1_input_density_bv.as_ptr().cast(),
            b_inp_bit_len: input_assignments_size,
            b_inp_popcount: b_g1_input_total_density,
            b_aux_density: b_g1_aux_density_bv.as_ptr().cast(),
            b_aux_bit_len: aux_assignments_size,
            b_aux_popcount: b_g1_aux_total_density,
            a: ntt_a_scalars[circuit],
            b: ntt_b_scalars[circuit],
            c: ntt_c_scalars[circuit],
            abc_size: ntt_scalars_actual_size,
            inp_assignment_data: input_assignments[circuit],
            inp_assignment_size: input_assignments_size,
            aux_assignment_data: aux_assignments[circuit],
            aux_assignment_size: aux_assignments_size,
        })
        .collect();
    generate_groth16_proofs(&provers, r_s, s_s, proofs, srs);
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
    check_size::<S>("a scalar", SCALAR_BYTES);
    check_size::<PR>("a proof", PROOF_BYTES);
    let circuits = provers.len();
    for (name, got) in [
        ("r_s", r_s.len()),
        ("s_s", s_s.len()),
        ("proofs", proofs.len()),
    ] {
        assert!(
            got == circuits,
            "{name} has {got} entries for {circuits} circuits"
        );
    }
    // SAFETY: the arrays have `circuits` entries of the sizes that the library
    // reads and writes. The caller vouches for the pointers in `provers`, which
    // this function's signature, being upstream's, takes without `unsafe`.
    let outcome = unsafe {
        generate_groth16_proofs_c(
            provers.as_ptr().cast(),
            circuits,
            r_s.as_ptr().cast(),
            s_s.as_ptr().cast(),
            proofs.as_mut_ptr().cast(),
            srs,
        )
    };
    if let Err(error) = outcome.into_result() {
        panic!("libcuzk: {circuits} circuits cannot be proved: {error}");
    }
}

fn check_size<T>(what: &str, need: usize) {
    let got = size_of::<T>();
    assert!(
        got == need,
        "{what} must have {need} bytes, its type has {got}"
    );
}
