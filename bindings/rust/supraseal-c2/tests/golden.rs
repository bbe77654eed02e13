//! bellperson's proofs, byte for byte, through the functions that bellperson
//! 0.26 and 0.27 call, and what happens where upstream crashes.

use std::panic::catch_unwind;

use cuzk::sys::{cuzk_fr, cuzk_proof};
use supraseal_c2::{generate_groth16_proof, generate_groth16_proofs, Assignment, SRS};

#[path = "../../cuzk-supraseal/tests/support/mod.rs"]
mod support;

use support::{assignment, golden_folder, raw, Golden};

fn open(case: &str) -> SRS {
    SRS::try_new(golden_folder().join(case).with_extension("params"), false).unwrap()
}

fn blinding(goldens: &[Golden]) -> (Vec<cuzk_fr>, Vec<cuzk_fr>) {
    goldens
        .iter()
        .map(|golden| (raw(golden.r), raw(golden.s)))
        .unzip()
}

fn check(goldens: &[Golden], proofs: &[cuzk_proof]) {
    for (golden, proof) in goldens.iter().zip(proofs) {
        assert_eq!(cuzk::Proof::from(*proof).to_bytes().unwrap(), golden.proof);
    }
}

fn prove(goldens: &[Golden], srs: &SRS) -> Vec<cuzk_proof> {
    let provers: Vec<_> = goldens.iter().map(assignment).collect();
    let (r, s) = blinding(goldens);
    let mut proofs = vec![cuzk_proof::default(); goldens.len()];
    generate_groth16_proofs(&provers, &r, &s, &mut proofs, srs);
    proofs
}

#[test]
fn one_array_of_assignments_as_bellperson_0_27_calls() {
    for case in ["one", "oneinp", "zero", "rs0", "pow2", "dup"] {
        let goldens = [Golden::read(case)];
        check(&goldens, &prove(&goldens, &open(case)));
    }
    let batch = ["two", "two.1", "two.2"].map(Golden::read);
    check(&batch, &prove(&batch, &open("two")));
}

#[test]
fn nineteen_arguments_as_bellperson_0_26_calls() {
    let goldens = ["mimc", "mimc.1", "mimc.2"].map(Golden::read);
    let from = assignment(&goldens[0]);
    let column = |pick: fn(&Assignment<cuzk_fr>) -> *const cuzk_fr| -> Vec<_> {
        goldens
            .iter()
            .map(|golden| pick(&assignment(golden)))
            .collect()
    };
    let (r, s) = blinding(&goldens);
    let mut proofs = vec![cuzk_proof::default(); goldens.len()];

    generate_groth16_proof(
        &column(|x| x.a),
        &column(|x| x.b),
        &column(|x| x.c),
        from.abc_size,
        &column(|x| x.inp_assignment_data),
        &column(|x| x.aux_assignment_data),
        from.inp_assignment_size,
        from.aux_assignment_size,
        goldens[0].assignment.a_aux.words(),
        goldens[0].assignment.b_inputs.words(),
        goldens[0].assignment.b_aux.words(),
        from.a_aux_popcount,
        from.b_inp_popcount,
        from.b_aux_popcount,
        goldens.len(),
        &r,
        &s,
        &mut proofs,
        &open("mimc"),
    );

    check(&goldens, &proofs);
}

#[test]
fn no_circuits_give_no_proofs() {
    assert!(prove(&[], &open("one")).is_empty());
}

#[test]
fn handles_are_shared_and_an_empty_one_is_harmless() {
    let path = golden_folder().join("one.params");
    let cached = SRS::try_new(path.clone(), true).unwrap();
    let again = SRS::try_new(path, true).unwrap();
    cached.evict();
    drop(cached);
    let clone = again.clone();
    drop(again);
    let goldens = [Golden::read("one")];
    check(&goldens, &prove(&goldens, &clone));

    let empty = SRS::default();
    empty.evict();
    drop(empty.clone());
}

#[test]
fn errors_say_what_is_wrong() {
    let Err(error) = SRS::try_new("no/such/file".into(), false) else {
        panic!("it was opened")
    };
    assert_eq!(error.code, cuzk_sys::CUZK_ERR_FILE_IO);
    assert!(String::from(&error).contains("no/such/file"), "{error}");

    let panicked = |work: fn()| {
        *catch_unwind(work)
            .unwrap_err()
            .downcast::<String>()
            .unwrap()
    };
    let other_circuit = panicked(|| drop(prove(&[Golden::read("one")], &open("two"))));
    assert!(
        other_circuit.contains("1 circuits cannot be proved"),
        "{other_circuit}"
    );
    let empty = panicked(|| drop(prove(&[Golden::read("one")], &SRS::default())));
    assert!(empty.contains("cannot be proved"), "{empty}");
    let wrong_type = panicked(|| {
        generate_groth16_proofs::<u64, cuzk_proof>(&[], &[], &[], &mut [], &SRS::default());
    });
    assert_eq!(wrong_type, "a scalar must have 32 bytes, its type has 8");
    let too_few = panicked(|| {
        let none: &[cuzk_fr] = &[];
        let provers = [assignment(&Golden::read("one"))];
        generate_groth16_proofs::<_, cuzk_proof>(&provers, none, none, &mut [], &open("one"));
    });
    assert_eq!(too_few, "r_s has 0 entries for 1 circuits");
}
