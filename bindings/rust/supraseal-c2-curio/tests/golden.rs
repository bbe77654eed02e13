//! bellperson's proofs, byte for byte, through the functions that Curio's fork
//! of bellperson calls, as it calls them.

use std::ffi::c_void;
use std::panic::catch_unwind;
use std::ptr::null_mut;

use cuzk::sys::{cuzk_fr, cuzk_proof};
use supraseal_c2::{
    alloc_gpu_mutex, drop_pending_proof, finish_groth16_proof, free_gpu_mutex,
    generate_groth16_proof, start_groth16_proof, SRS,
};

// The reader of golden cases is that of cuzk's tests.
#[path = "../../cuzk/tests/support/mod.rs"]
mod support;

use support::{golden_folder, Golden};

fn open(case: &str) -> SRS {
    SRS::try_new(golden_folder().join(case).with_extension("params"), false).unwrap()
}

/// The witnesses of one case, with rows that may be overwritten.
struct Batch {
    goldens: Vec<Golden>,
    a: Vec<Vec<cuzk_fr>>,
    b: Vec<Vec<cuzk_fr>>,
    r: Vec<cuzk_fr>,
    s: Vec<cuzk_fr>,
}

fn raw(scalars: &[cuzk::Fr]) -> Vec<cuzk_fr> {
    scalars
        .iter()
        .map(|scalar| cuzk_fr {
            limb: scalar.limbs(),
        })
        .collect()
}

fn pointers(rows: &[Vec<cuzk_fr>]) -> Vec<*const cuzk_fr> {
    rows.iter().map(|row| row.as_ptr()).collect()
}

impl Batch {
    fn read(names: &[&str]) -> Self {
        let goldens: Vec<_> = names.iter().map(|name| Golden::read(name)).collect();
        Self {
            a: goldens
                .iter()
                .map(|golden| raw(&golden.assignment.a))
                .collect(),
            b: goldens
                .iter()
                .map(|golden| raw(&golden.assignment.b))
                .collect(),
            r: goldens.iter().flat_map(|golden| raw(&[golden.r])).collect(),
            s: goldens.iter().flat_map(|golden| raw(&[golden.s])).collect(),
            goldens,
        }
    }

    fn inputs(&self) -> Vec<*const cuzk_fr> {
        self.goldens
            .iter()
            .map(|golden| golden.assignment.inputs.as_ptr().cast())
            .collect()
    }

    fn aux(&self) -> Vec<*const cuzk_fr> {
        self.goldens
            .iter()
            .map(|golden| golden.assignment.aux.as_ptr().cast())
            .collect()
    }

    fn start(&self, srs: &SRS, mutex: *mut c_void, device: i32) -> *mut c_void {
        let first = &self.goldens[0].assignment;
        start_groth16_proof(
            &pointers(&self.a),
            &pointers(&self.b),
            &vec![std::ptr::null(); self.goldens.len()],
            first.a.len(),
            &self.inputs(),
            &self.aux(),
            first.inputs.len(),
            first.aux.len(),
            first.a_aux.words(),
            first.b_inputs.words(),
            first.b_aux.words(),
            first.a_aux.popcount(),
            first.b_inputs.popcount(),
            first.b_aux.popcount(),
            self.goldens.len(),
            &self.r,
            &self.s,
            srs,
            mutex,
            device,
        )
    }

    fn prove(&self, srs: &SRS, mutex: *mut c_void, device: i32) -> Vec<cuzk_proof> {
        let first = &self.goldens[0].assignment;
        let mut proofs = vec![cuzk_proof::default(); self.goldens.len()];
        generate_groth16_proof(
            &pointers(&self.a),
            &pointers(&self.b),
            &vec![std::ptr::null(); self.goldens.len()],
            first.a.len(),
            &self.inputs(),
            &self.aux(),
            first.inputs.len(),
            first.aux.len(),
            first.a_aux.words(),
            first.b_inputs.words(),
            first.b_aux.words(),
            first.a_aux.popcount(),
            first.b_inputs.popcount(),
            first.b_aux.popcount(),
            self.goldens.len(),
            &self.r,
            &self.s,
            &mut proofs,
            srs,
            mutex,
            device,
        );
        proofs
    }

    /// What the fork does after start: the buffers go to the next synthesis.
    fn overwrite_rows(&mut self) {
        for row in self.a.iter_mut().chain(&mut self.b) {
            row.fill(cuzk_fr {
                limb: [u64::MAX; 4],
            });
        }
    }

    fn check(&self, proofs: &[cuzk_proof]) {
        for (golden, proof) in self.goldens.iter().zip(proofs) {
            assert_eq!(cuzk::Proof::from(*proof).to_bytes().unwrap(), golden.proof);
        }
    }

    fn finish(&self, pending: *mut c_void) {
        let mut proofs = vec![cuzk_proof::default(); self.goldens.len()];
        finish_groth16_proof(pending, &mut proofs);
        self.check(&proofs);
    }
}

/// The index of the CPU, the last device.
fn cpu() -> i32 {
    cuzk::devices().unwrap().len() as i32 - 1
}

#[test]
fn twenty_one_arguments_with_mutex_and_device() {
    let batch = Batch::read(&["two", "two.1", "two.2"]);
    let mutex = alloc_gpu_mutex();
    for (mutex, device) in [(null_mut(), -1), (mutex, -1), (mutex, cpu())] {
        batch.check(&batch.prove(&open("two"), mutex, device));
    }
    // SAFETY: from alloc_gpu_mutex, freed once.
    unsafe { free_gpu_mutex(mutex) };
}

#[test]
fn rows_are_free_after_start() {
    let mut batch = Batch::read(&["mimc", "mimc.1", "mimc.2"]);
    let srs = open("mimc");
    let pending = batch.start(&srs, null_mut(), -1);

    batch.overwrite_rows();
    drop(srs);

    batch.finish(pending);
}

#[test]
fn several_in_flight_over_two_mutexes() {
    let mutexes = [alloc_gpu_mutex(), alloc_gpu_mutex()];
    assert_ne!(mutexes[0], mutexes[1]);
    let batches: Vec<_> = ["dup", "zero", "mimc", "pow2", "one", "dup"]
        .into_iter()
        .map(|case| (Batch::read(&[case]), open(case)))
        .collect();
    let pending: Vec<_> = batches
        .iter()
        .enumerate()
        .map(|(i, (batch, srs))| batch.start(srs, mutexes[i % 2], -1))
        .collect();

    // In another order than they were started.
    for ((batch, _), pending) in batches.iter().zip(pending).rev() {
        batch.finish(pending);
    }
    // SAFETY: from alloc_gpu_mutex, freed once.
    mutexes
        .into_iter()
        .for_each(|mutex| unsafe { free_gpu_mutex(mutex) });
}

#[test]
fn proofs_may_be_given_up() {
    let batch = Batch::read(&["dup"]);
    let pending = batch.start(&open("dup"), null_mut(), -1);

    // SAFETY: from start_groth16_proof.
    unsafe { drop_pending_proof(pending) };

    // A handle that was used up is refused, and given up without effect.
    // SAFETY: handles are numbers.
    unsafe { drop_pending_proof(pending) };
    let mut proofs = [cuzk_proof::default()];
    let pending = pending as usize;
    catch_unwind(move || finish_groth16_proof(pending as *mut c_void, &mut proofs)).unwrap_err();
}

#[test]
fn what_cannot_be_started_says_why() {
    let panicked = |case: &'static str, device: i32| {
        let start = move || Batch::read(&["one"]).start(&open(case), null_mut(), device) as usize;
        *catch_unwind(start)
            .unwrap_err()
            .downcast::<String>()
            .unwrap()
    };

    assert!(panicked("two", -1).contains("1 circuits cannot be started"));
    assert!(panicked("one", cpu() + 1).contains("1 circuits cannot be started"));
}

#[test]
fn host_memory_is_aligned_and_given_back() {
    extern "C" {
        fn cudaHostAlloc(out: *mut *mut c_void, bytes: usize, flags: u32) -> i32;
        fn cudaFreeHost(memory: *mut c_void) -> i32;
    }
    const BYTES: usize = 1 << 20;
    let mut memory = null_mut::<c_void>();

    // SAFETY: `memory` may be written.
    assert_eq!(unsafe { cudaHostAlloc(&mut memory, BYTES, 1) }, 0);
    assert!(!memory.is_null() && memory as usize % 4096 == 0);
    // SAFETY: BYTES were allocated.
    unsafe { memory.cast::<u8>().write_bytes(0xff, BYTES) };
    // SAFETY: from cudaHostAlloc, freed once.
    assert_eq!(unsafe { cudaFreeHost(memory) }, 0);
    // SAFETY: null is refused, not written.
    assert_eq!(unsafe { cudaHostAlloc(null_mut(), BYTES, 0) }, 1);
}
