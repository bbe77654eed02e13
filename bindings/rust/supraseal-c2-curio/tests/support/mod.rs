//! Golden cases as Curio's fork of bellperson has its circuits: column by
//! column, with rows of their own.
#![allow(dead_code)] // no test file uses all of it

use std::ffi::c_void;

use cuzk::sys::{cuzk_fr, cuzk_proof};
use supraseal_c2::{finish_groth16_proof, generate_groth16_proof, start_groth16_proof, SRS};

#[path = "../../../cuzk-supraseal/tests/support/mod.rs"]
mod golden;

use golden::raw;
pub use golden::{golden_folder, Golden};

/// The parameter set of a case.
pub fn open(case: &str) -> SRS {
    SRS::try_new(golden_folder().join(case).with_extension("params"), false).unwrap()
}

/// Devices that can be used, by index.
pub fn usable_devices() -> Vec<i32> {
    let devices = cuzk::devices().unwrap();
    let usable = devices.iter().filter(|device| device.unusable.is_none());
    usable.map(|device| device.index as i32).collect()
}

/// The rows of one circuit: A and B.
pub struct Rows<M> {
    pub a: M,
    pub b: M,
}

/// What the fork does with rows after start: the next synthesis writes them.
pub fn overwrite(rows: &mut [cuzk_fr]) {
    rows.fill(cuzk_fr {
        limb: [u64::MAX; 4],
    });
}

/// The witnesses of one case.
pub struct Batch {
    pub goldens: Vec<Golden>,
    r: Vec<cuzk_fr>,
    s: Vec<cuzk_fr>,
}

/// The arguments that all functions begin with.
macro_rules! by_column {
    ($function:path, $batch:ident, $rows:ident, $($more:expr),*) => {{
        let first = &$batch.goldens[0].assignment;
        $function(
            &$rows.iter().map(|rows| address(&rows.a)).collect::<Vec<_>>(),
            &$rows.iter().map(|rows| address(&rows.b)).collect::<Vec<_>>(),
            &vec![std::ptr::null(); $batch.goldens.len()],
            first.a.len(),
            &$batch.each(|golden| golden.assignment.inputs.as_ptr().cast()),
            &$batch.each(|golden| golden.assignment.aux.as_ptr().cast()),
            first.inputs.len(),
            first.aux.len(),
            first.a_aux.words(),
            first.b_inputs.words(),
            first.b_aux.words(),
            first.a_aux.popcount(),
            first.b_inputs.popcount(),
            first.b_aux.popcount(),
            $batch.goldens.len(),
            &$batch.r,
            &$batch.s,
            $($more),*
        )
    }};
}

fn address(rows: &impl AsRef<[cuzk_fr]>) -> *const cuzk_fr {
    rows.as_ref().as_ptr()
}

impl Batch {
    pub fn read(names: &[&str]) -> Self {
        let goldens: Vec<_> = names.iter().map(|name| Golden::read(name)).collect();
        Self {
            r: goldens.iter().map(|golden| raw(golden.r)).collect(),
            s: goldens.iter().map(|golden| raw(golden.s)).collect(),
            goldens,
        }
    }

    fn each<T>(&self, of: fn(&Golden) -> T) -> Vec<T> {
        self.goldens.iter().map(of).collect()
    }

    /// The rows in ordinary memory.
    pub fn rows(&self) -> Vec<Rows<Vec<cuzk_fr>>> {
        self.each(|golden| {
            let [a, b] = [&golden.assignment.a, &golden.assignment.b];
            Rows {
                a: a.iter().copied().map(raw).collect(),
                b: b.iter().copied().map(raw).collect(),
            }
        })
    }

    pub fn start<M>(&self, rows: &[Rows<M>], srs: &SRS, mutex: Token, device: i32) -> *mut c_void
    where
        M: AsRef<[cuzk_fr]>,
    {
        by_column!(start_groth16_proof, self, rows, srs, mutex.0, device)
    }

    /// In one call, from rows in ordinary memory.
    pub fn prove(&self, srs: &SRS, mutex: Token, device: i32) {
        let rows = self.rows();
        let mut proofs = vec![cuzk_proof::default(); self.goldens.len()];
        by_column!(
            generate_groth16_proof,
            self,
            rows,
            &mut proofs,
            srs,
            mutex.0,
            device
        );
        self.check(&proofs);
    }

    pub fn finish(&self, pending: *mut c_void) {
        let mut proofs = vec![cuzk_proof::default(); self.goldens.len()];
        finish_groth16_proof(pending, &mut proofs);
        self.check(&proofs);
    }

    fn check(&self, proofs: &[cuzk_proof]) {
        for (golden, proof) in self.goldens.iter().zip(proofs) {
            assert_eq!(cuzk::Proof::from(*proof).to_bytes().unwrap(), golden.proof);
        }
    }
}

/// A GPU mutex, as the fork passes it from thread to thread.
#[derive(Clone, Copy)]
pub struct Token(pub *mut c_void);

// SAFETY: no one follows the pointer.
unsafe impl Send for Token {}

/// None.
pub const NO_MUTEX: Token = Token(std::ptr::null_mut());
