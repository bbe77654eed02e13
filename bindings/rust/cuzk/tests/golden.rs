//! Proofs are bellperson's, byte for byte, however they are asked for.

mod support;

use std::fs;
use std::thread;

use cuzk::{scope, Partition, Proof, ProveOptions};
use support::{golden_folder, open, Golden};

/// Every case with the names of its witnesses.
fn cases() -> Vec<(String, Vec<String>)> {
    let names: Vec<String> = fs::read_dir(golden_folder())
        .unwrap()
        .filter_map(|entry| Some(entry.unwrap().file_name().to_str()?.to_owned()))
        .collect();
    let with_suffix = |suffix| {
        names
            .iter()
            .filter_map(move |name| name.strip_suffix(suffix))
    };
    let cases: Vec<_> = with_suffix(".params")
        .map(|case| {
            let numbered = format!("{case}.");
            let witnesses = with_suffix(".gv")
                .filter(|name| *name == case || name.starts_with(&numbered))
                .map(str::to_owned)
                .collect();
            (case.to_owned(), witnesses)
        })
        .collect();
    assert!(cases.len() >= 8, "cases are missing: {cases:?}");
    cases
}

fn bytes(proof: Proof) -> [u8; Proof::BYTES] {
    proof.to_bytes().unwrap()
}

#[test]
fn every_case_alone() {
    for (case, witnesses) in cases() {
        let srs = open(&case);
        for name in witnesses {
            let golden = Golden::read(&name);
            let proof = srs
                .prove(&golden.partition(), &ProveOptions::new())
                .unwrap();

            assert_eq!(bytes(proof), golden.proof, "{name}");
            assert_eq!(Proof::from_bytes(&golden.proof).unwrap(), proof, "{name}");
            srs.verify(&golden.assignment.inputs, &proof).unwrap();
        }
    }
}

#[test]
fn all_witnesses_of_a_case_as_one_job() {
    for (case, witnesses) in cases() {
        let goldens: Vec<_> = witnesses.iter().map(|name| Golden::read(name)).collect();
        let partitions = goldens.iter().map(Golden::partition).collect();

        let job = open(&case).start(partitions, &ProveOptions::new()).unwrap();

        let proofs: Vec<_> = job.wait().unwrap().into_iter().map(bytes).collect();
        let expected: Vec<_> = goldens.iter().map(|golden| golden.proof).collect();
        assert_eq!(proofs, expected, "{case}");
        assert!(job.is_finished());
    }
}

#[test]
fn borrowed_memory_in_a_scope() {
    let golden = Golden::read("mimc");
    let srs = open("mimc");
    // Copies on this stack frame, which the job borrows.
    let (a, b) = (golden.assignment.a.to_vec(), golden.assignment.b.to_vec());

    let proofs = scope(|s| {
        let mut assignment = golden.assignment.clone();
        (assignment.a, assignment.b) = (a.as_slice().into(), b.as_slice().into());
        let partition = Partition::with_blinding(assignment, golden.r, golden.s);
        s.start(&srs, vec![partition], &ProveOptions::new())
            .unwrap()
            .wait()
            .unwrap()
    });

    assert_eq!(bytes(proofs[0]), golden.proof);
}

#[test]
fn threads_that_open_prove_and_drop_at_once() {
    thread::scope(|s| {
        for (thread, case) in ["two", "mimc", "one", "zero"]
            .into_iter()
            .cycle()
            .take(8)
            .enumerate()
        {
            s.spawn(move || {
                let golden = Golden::read(case);
                for round in 0..4 {
                    let srs = open(case);
                    let shared = srs.clone();
                    drop(srs);
                    let proof = shared
                        .prove(&golden.partition(), &ProveOptions::new())
                        .unwrap();
                    assert_eq!(bytes(proof), golden.proof, "{case}, {thread}, {round}");
                }
            });
        }
    });
}

#[test]
fn a_job_without_partitions_gives_no_proofs() {
    let job = open("one").start(Vec::new(), &ProveOptions::new()).unwrap();

    assert_eq!(job.wait().unwrap(), []);
}
