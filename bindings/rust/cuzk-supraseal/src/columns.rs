use crate::assignment::Assignment;
use crate::call::{check_entries, check_size};

/// A word of a density.
const WORD_BYTES: usize = 8;

/// The circuits of a call with one set of densities and sizes, column by
/// column, as the functions with many arguments take them.
pub struct Columns<'a, S, D> {
    /// Entries in each array of pointers.
    pub num_circuits: usize,
    /// Values of the A linear combinations.
    pub a: &'a [*const S],
    /// Of the B.
    pub b: &'a [*const S],
    /// Of the C.
    pub c: &'a [*const S],
    /// Rows of each circuit, with one for each input.
    pub num_rows: usize,
    /// Public inputs.
    pub inputs: &'a [*const S],
    /// Of each circuit.
    pub num_inputs: usize,
    /// Private variables.
    pub aux: &'a [*const S],
    /// Of each circuit.
    pub num_aux: usize,
    /// Private variables that occur in A: words and set bits.
    pub a_aux: (&'a [D], usize),
    /// Public inputs that occur in B.
    pub b_inputs: (&'a [D], usize),
    /// Private variables that occur in B.
    pub b_aux: (&'a [D], usize),
}

/// Defines a function that takes circuits column by column: the seventeen
/// arguments that all such functions begin with, then those that are given.
/// Its body has the circuits as `columns: Columns<S, D>`, and r and s.
#[macro_export]
macro_rules! circuits_by_column {
    (
        $(#[$attribute:meta])*
        pub fn $name:ident<S, D $(, $generic:ident)?>(
            $columns:ident,
            $r_s:ident,
            $s_s:ident
            $(, $argument:ident: $kind:ty)*
        ) $(-> $result:ty)? $body:block
    ) => {
        $(#[$attribute])*
        #[allow(clippy::too_many_arguments)]
        pub fn $name<S, D $(, $generic)?>(
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
            $r_s: &[S],
            $s_s: &[S],
            $($argument: $kind,)*
        ) $(-> $result)? {
            let $columns = $crate::Columns {
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
            $body
        }
    };
}

impl<S, D> Columns<'_, S, D> {
    /// The same, circuit by circuit. Panics if a column is too short.
    pub fn assignments(&self) -> Vec<Assignment<S>> {
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
