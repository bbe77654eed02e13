//! What is refused, with which error and which words.

mod support;

use std::fs;

use cuzk::{devices, Data, Density, Error, Fr, Partition, ProveOptions, Srs, SrsOptions};
use support::{golden_folder, open, Golden};

fn refusal(partition: Partition<'static>) -> Error {
    open("two")
        .prove(&partition, &ProveOptions::new())
        .unwrap_err()
}

/// The case `two`, changed.
fn changed(change: impl FnOnce(&mut cuzk::Assignment<'static>)) -> Partition<'static> {
    let mut golden = Golden::read("two");
    change(&mut golden.assignment);
    golden.partition()
}

#[test]
fn assignments_that_do_not_fit_are_refused() {
    let fewer_rows = changed(|a| {
        let rows = a.b[..a.b.len() - 1].to_vec();
        a.b = rows.into();
    });
    assert!(matches!(refusal(fewer_rows), Error::Size(_)));

    let empty = changed(|a| *a = cuzk::Assignment::default());
    assert!(matches!(refusal(empty), Error::Size(_)));

    let short_density = changed(|a| a.a_aux = Density::from_iter([true]));
    assert!(matches!(refusal(short_density), Error::Density(_)));

    let other_circuit = Golden::read("one").partition();
    assert!(matches!(refusal(other_circuit), Error::SrsMismatch(_)));
}

#[test]
fn a_scalar_that_is_not_reduced_is_found() {
    let not_reduced = changed(|a| {
        let mut aux = a.aux.to_vec();
        aux[3] = Fr::from_limbs([u64::MAX; 4]);
        a.aux = aux.into();
    });

    assert!(matches!(refusal(not_reduced), Error::Scalar(_)));
}

#[test]
fn an_assignment_that_does_not_satisfy_the_circuit_gives_no_proof() {
    let wrong = changed(|a| {
        let mut aux = a.aux.to_vec();
        aux[0] = Fr::from(12345);
        a.aux = aux.into();
    });

    assert!(matches!(refusal(wrong), Error::Unsatisfied(_)));
}

#[test]
fn a_started_job_names_the_partition_that_is_refused() {
    let good = Golden::read("two").partition();
    let bad = changed(|a| a.b_aux = Density::default());
    let worse = changed(|a| a.a = Data::default());

    let by_library = open("two")
        .start(vec![good.clone(), bad], &ProveOptions::new())
        .unwrap_err();
    let by_crate = open("two")
        .start(vec![good.clone(), good, worse], &ProveOptions::new())
        .unwrap_err();

    assert!(matches!(by_library, Error::Density(_)));
    assert!(by_library.message().contains('1'), "{by_library}");
    assert!(matches!(by_crate, Error::Size(_)));
    assert!(by_crate.message().contains("partition 2"), "{by_crate}");
}

#[test]
fn another_statement_does_not_verify() {
    let golden = Golden::read("one");
    let proof = cuzk::Proof::from_bytes(&golden.proof).unwrap();
    let srs = open("one");

    srs.verify(&[Fr::ONE, Fr::from(9)], &proof).unwrap();
    assert!(matches!(
        srs.verify(&[Fr::ONE, Fr::from(10)], &proof),
        Err(Error::Proof(_))
    ));
    assert!(matches!(
        srs.verify(&[Fr::ONE], &proof),
        Err(Error::Size(_))
    ));
}

#[test]
fn bytes_that_are_no_proof_are_refused() {
    let mut bytes = Golden::read("one").proof;
    bytes[20] ^= 1;

    assert!(matches!(
        cuzk::Proof::from_bytes(&bytes),
        Err(Error::Point(_))
    ));
}

#[test]
fn files_that_are_no_parameters_are_refused() {
    let missing = Srs::open("no/such/file").unwrap_err();
    assert!(matches!(missing, Error::FileIo(_)) && missing.message().contains("no/such/file"));
    assert!(matches!(Srs::open("a\0b"), Err(Error::Value(_))));

    let params = fs::read(golden_folder().join("one.params")).unwrap();
    let short = tempfile::NamedTempFile::new().unwrap();
    fs::write(short.path(), &params[..params.len() - 1]).unwrap();
    assert!(matches!(
        Srs::open(short.path()),
        Err(Error::FileTruncated(_))
    ));

    let mut bent = params;
    bent[1000] ^= 1;
    let off_curve = tempfile::NamedTempFile::new().unwrap();
    fs::write(off_curve.path(), bent).unwrap();
    assert!(matches!(
        Srs::open(off_curve.path()),
        Err(Error::FilePoint(_))
    ));
}

#[test]
fn the_subgroup_check_accepts_what_bellperson_wrote() {
    let path = golden_folder().join("one.params");

    Srs::open_with(path, SrsOptions::new().check_subgroup()).unwrap();
}

#[test]
fn a_parameter_set_says_what_it_is_for() {
    let info = open("two").info().unwrap();

    assert_eq!(
        (info.domain_size, info.num_inputs, info.num_aux),
        (32, 4, 26)
    );
    assert_eq!((info.num_a, info.num_b), (4 + 11, 2 + 10));
    let file = golden_folder().join("two.params");
    assert_eq!(info.file_bytes, fs::metadata(file).unwrap().len());
}

#[test]
fn the_cpu_is_the_last_device_and_there_is_none_after_it() {
    let all = devices().unwrap();
    let cpu = all.last().unwrap();
    assert_eq!((cpu.backend.as_str(), &cpu.unusable), ("cpu", &None));
    assert!(cpu.memory_bytes > 0 && !cpu.name.is_empty());
    assert_eq!(
        cuzk::gpu_reason().is_none(),
        all.iter().any(|d| d.backend == "cuda")
    );

    let golden = Golden::read("one");
    let proof = open("one").prove(&golden.partition(), &ProveOptions::new().device(cpu.index));
    assert_eq!(proof.unwrap().to_bytes().unwrap(), golden.proof);
    for index in [cpu.index + 1, u32::MAX] {
        let options = ProveOptions::new().device(index);
        assert!(matches!(
            open("one").prove(&golden.partition(), &options),
            Err(Error::NoDevice(_) | Error::Value(_))
        ));
    }
}

#[test]
fn workers_have_a_limit() {
    cuzk::set_workers(2).unwrap();
    assert!(matches!(cuzk::set_workers(65), Err(Error::Value(_))));
    cuzk::set_workers(0).unwrap();
}
