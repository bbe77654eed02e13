use crate::assignment::Assignment;

/// A word of a density.
const WORD_BYTES: usize = 8;

/// The circuits of a call with one set of densities and sizes, column by
/// column, as the functions with many arguments take them.
pub(crate) struct Columns<'a, S, D> {
    pub num_circuits: usize,
    pub a: &'a [*const S],
    pub b: &'a [*const S],
    pub c: &'a [*const S],
    pub num_rows: usize,
    pub inputs: &'a [*const S],
    pub num_inputs: usize,
    pub aux: &'a [*const S],
    pub num_aux: usize,
    /// Words and set bits.
    pub a_aux: (&'a [D], usize),
    pub b_inputs: (&'a [D], usize),
    pub b_aux: (&'a [D], usize),
}

impl<S, D> Columns<'_, S, D> {
    /// The same, circuit by circuit. Panics if a column is too short.
    pub(crate) fn assignments(&self) -> Vec<Assignment<S>> {
        self.check_entries();
        self.check_densities();
        (0..self.num_circuits)
            .map(|circuit| Assignment {
                a_aux_density: self.a_aux.0.as_ptr().cast(),
                a_aux_bit_len: self.num_aux,
                a_aux_popcount: self.a_aux.1,
                b_inp_density: self.b_inputs.0.as_ptr().cast(),
                b_inp_bit_len: self.num_inputs,
                b_inp_popcount: self.b_inputs.1,
                b_aux_density: self.b_aux.0.as_ptr().cast(),
                b_aux_bit_len: self.num_aux,
                b_aux_popcount: self.b_aux.1,
                a: self.a[circuit],
                b: self.b[circuit],
                c: self.c[circuit],
                abc_size: self.num_rows,
                inp_assignment_data: self.inputs[circuit],
                inp_assignment_size: self.num_inputs,
                aux_assignment_data: self.aux[circuit],
                aux_assignment_size: self.num_aux,
            })
            .collect()
    }

    fn check_entries(&self) {
        for (name, entries) in [
            ("ntt_a_scalars", self.a),
            ("ntt_b_scalars", self.b),
            ("ntt_c_scalars", self.c),
            ("input_assignments", self.inputs),
            ("aux_assignments", self.aux),
        ] {
            check_entries(name, entries.len(), self.num_circuits);
        }
    }

    fn check_densities(&self) {
        check_size::<D>("a density's word", WORD_BYTES);
        for (name, words, bits) in [
            ("a_aux_density_bv", self.a_aux.0, self.num_aux),
            ("b_g1_input_density_bv", self.b_inputs.0, self.num_inputs),
            ("b_g1_aux_density_bv", self.b_aux.0, self.num_aux),
        ] {
            let (got, need) = (words.len(), bits.div_ceil(8 * WORD_BYTES));
            assert!(
                got >= need,
                "{name} has {got} words, {bits} bits need {need}"
            );
        }
    }
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
