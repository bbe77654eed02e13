/// One circuit's assignment: pointers that must be good for the whole call they
/// are given to. Bits of a density at and past its length are ignored.
#[repr(C)]
pub struct Assignment<Scalar> {
    /// Private variables that occur in A.
    pub a_aux_density: *const usize,
    /// Must be `aux_assignment_size`.
    pub a_aux_bit_len: usize,
    /// Number of its set bits.
    pub a_aux_popcount: usize,

    /// Public inputs that occur in B.
    pub b_inp_density: *const usize,
    /// Must be `inp_assignment_size`.
    pub b_inp_bit_len: usize,
    /// Number of its set bits.
    pub b_inp_popcount: usize,

    /// Private variables that occur in B.
    pub b_aux_density: *const usize,
    /// Must be `aux_assignment_size`.
    pub b_aux_bit_len: usize,
    /// Number of its set bits.
    pub b_aux_popcount: usize,

    /// Value of the A linear combination on each row.
    pub a: *const Scalar,
    /// Value of the B linear combination on each row.
    pub b: *const Scalar,
    /// Never read: a*b in a satisfied circuit. May be null.
    pub c: *const Scalar,
    /// Number of rows, with one for each input.
    pub abc_size: usize,

    /// Public inputs; the first is one.
    pub inp_assignment_data: *const Scalar,
    /// Number of public inputs.
    pub inp_assignment_size: usize,

    /// Private variables.
    pub aux_assignment_data: *const Scalar,
    /// Number of private variables.
    pub aux_assignment_size: usize,
}

const WORD: usize = size_of::<usize>();
const _: () = assert!(WORD == 8, "the library's interface is of 64 bits");
const _: () = assert!(size_of::<Assignment<u64>>() == 17 * WORD);
