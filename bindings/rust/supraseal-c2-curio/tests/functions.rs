//! bellperson's proofs, byte for byte, through each function that Curio's fork
//! of bellperson calls, and what is refused.

mod support;

use std::ffi::c_void;
use std::panic::catch_unwind;
use std::ptr::null_mut;

use cuzk::sys::{cuzk_fr, cuzk_proof};
use support::{open, overwrite, usable_devices, Batch, Token, NO_MUTEX};
use supraseal_c2::{
    alloc_gpu_mutex, drop_pending_proof, finish_groth16_proof, free_gpu_mutex,
    generate_groth16_proofs,
};

#[test]
fn twenty_one_arguments_with_mutex_and_device() {
    let batch = Batch::read(&["two", "two.1", "two.2"]);
    let srs = open("two");
    let mutex = Token(alloc_gpu_mutex());
    batch.prove(&srs, NO_MUTEX, -1);
    batch.prove(&srs, mutex, -1);
    for device in usable_devices() {
        batch.prove(&srs, mutex, device);
    }
    // SAFETY: from alloc_gpu_mutex, freed once.
    unsafe { free_gpu_mutex(mutex.0) };
}

#[test]
fn no_circuits_give_no_proofs() {
    generate_groth16_proofs::<cuzk_fr, cuzk_proof>(&[], &[], &[], &mut [], &open("one"));
}

#[test]
fn rows_are_free_after_start() {
    let batch = Batch::read(&["mimc", "mimc.1", "mimc.2"]);
    let srs = open("mimc");
    let mut rows = batch.rows();
    let pending = batch.start(&rows, &srs, NO_MUTEX, -1);

    for rows in &mut rows {
        overwrite(&mut rows.a);
        overwrite(&mut rows.b);
    }
    drop(srs);

    batch.finish(pending);
}

#[test]
fn proofs_may_be_given_up() {
    let batch = Batch::read(&["dup"]);
    let pending = batch.start(&batch.rows(), &open("dup"), NO_MUTEX, -1);

    // SAFETY: from start_groth16_proof.
    unsafe { drop_pending_proof(pending) };

    // A handle that was used up is refused, and given up without effect.
    // SAFETY: handles are numbers.
    unsafe { drop_pending_proof(pending) };
    let mut proofs = [cuzk_proof::default()];
    let pending = pending as usize;
    catch_unwind(move || finish_groth16_proof(pending as *mut c_void, &mut proofs)).unwrap_err();
}

/// The text of a panic.
fn panicked(work: impl FnOnce() + std::panic::UnwindSafe) -> String {
    *catch_unwind(work).unwrap_err().downcast().unwrap()
}

#[test]
fn what_cannot_be_started_says_why() {
    let start = |case: &'static str, device: i32| {
        panicked(move || {
            let batch = Batch::read(&["one"]);
            batch.start(&batch.rows(), &open(case), NO_MUTEX, device);
        })
    };
    let beyond = cuzk::devices().unwrap().len() as i32;

    for message in [start("two", -1), start("one", beyond), start("one", -2)] {
        assert!(
            message.contains("1 circuits cannot be started"),
            "{message}"
        );
    }
}

#[test]
fn a_witness_that_satisfies_nothing_is_an_error_of_finish() {
    let message = panicked(|| {
        let batch = Batch::read(&["mimc"]);
        let mut rows = batch.rows();
        rows[0].a[5] = rows[0].a[6];
        batch.finish(batch.start(&rows, &open("mimc"), NO_MUTEX, -1));
    });
    assert!(message.contains("1 proofs cannot be finished"), "{message}");
}

#[test]
fn a_null_handle_is_harmless() {
    // SAFETY: null is accepted.
    unsafe { drop_pending_proof(null_mut()) };
    let message = panicked(|| finish_groth16_proof(null_mut(), &mut [cuzk_proof::default()]));
    assert!(message.contains("cannot be finished"), "{message}");
}
