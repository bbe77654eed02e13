//! Golden cases as the drop-ins take them. For tests of other crates.
#![allow(dead_code, unused_imports)] // no test file uses all of it

use cuzk::sys::cuzk_fr;
use cuzk_supraseal::Assignment;

// The reader is that of cuzk's tests.
#[path = "../../../cuzk/tests/support/mod.rs"]
mod reader;

pub use reader::{golden_folder, Golden};

/// Pointers into the case, which must outlive them. There is no c.
pub fn assignment(golden: &Golden) -> Assignment<cuzk_fr> {
    let from = &golden.assignment;
    Assignment {
        a_aux_density: from.a_aux.words().as_ptr().cast(),
        a_aux_bit_len: from.a_aux.len(),
        a_aux_popcount: from.a_aux.popcount(),
        b_inp_density: from.b_inputs.words().as_ptr().cast(),
        b_inp_bit_len: from.b_inputs.len(),
        b_inp_popcount: from.b_inputs.popcount(),
        b_aux_density: from.b_aux.words().as_ptr().cast(),
        b_aux_bit_len: from.b_aux.len(),
        b_aux_popcount: from.b_aux.popcount(),
        a: from.a.as_ptr().cast(),
        b: from.b.as_ptr().cast(),
        c: std::ptr::null(),
        abc_size: from.a.len(),
        inp_assignment_data: from.inputs.as_ptr().cast(),
        inp_assignment_size: from.inputs.len(),
        aux_assignment_data: from.aux.as_ptr().cast(),
        aux_assignment_size: from.aux.len(),
    }
}

/// The same scalar as the C interface has it.
pub fn raw(scalar: cuzk::Fr) -> cuzk_fr {
    cuzk_fr {
        limb: scalar.limbs(),
    }
}
