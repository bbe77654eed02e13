//! libcuzk's proofs are bellperson's, byte for byte, and bellperson verifies
//! them.

use bellperson::groth16::{
    create_proof, create_proof_batch, prepare_verifying_key, verify_proofs_batch, Proof,
};
use blstrs::{Bls12, Scalar};
use cuzk::{ProveOptions, Srs};
use cuzk_bellperson::circuits::{Mimc, Sha256Chain, Sha256Rounds, Squares, Statement};
use cuzk_bellperson::compare::{partition, to_bellperson, to_bytes, Comparison};
use cuzk_bellperson::setup;
use ff::Field;
use rand_core::SeedableRng;
use rand_xorshift::XorShiftRng;

const NO_BLINDING: (Scalar, Scalar) = (Scalar::ZERO, Scalar::ZERO);

fn compare<C: Statement>(circuit: C) {
    compare_with(
        circuit,
        &[setup::blinding(0), setup::blinding(1), NO_BLINDING],
    );
}

fn compare_with<C: Statement>(circuit: C, blindings: &[(Scalar, Scalar)]) {
    let claim = circuit.claim();
    let comparison = Comparison::new(circuit).unwrap();
    for &blinding in blindings {
        let round = comparison.round(blinding).unwrap();
        comparison
            .check(&round)
            .unwrap_or_else(|error| panic!("{claim}: {error}"));
    }
}

#[test]
fn small_circuits_with_values_zero_one_and_minus_one() {
    for (x, squarings) in [(3, 1), (1, 2), (5, 3), (1, 61), (7, 62), (2, 200)] {
        compare(Squares::new(Scalar::from(x), squarings));
    }
    for squarings in [1, 30] {
        compare_with(Squares::new(Scalar::ZERO, squarings), &[setup::blinding(3)]);
    }
    compare(Squares::new(-Scalar::ONE, 6));
}

/// All zero and not blinded, C is the point at infinity: both make the same
/// proof, and both refuse to read its bytes.
#[test]
fn a_proof_with_a_point_at_infinity_is_made_and_not_read() {
    let circuit = Squares::new(Scalar::ZERO, 1);
    let comparison = Comparison::new(circuit.clone()).unwrap();
    let (r, s) = NO_BLINDING;
    let theirs = create_proof(circuit.clone(), &comparison.parameters, r, s).unwrap();
    let theirs = to_bytes(&theirs).unwrap();

    let ours = partition(circuit, NO_BLINDING).unwrap();
    let ours = comparison.srs.prove(&ours, &ProveOptions::new()).unwrap();
    let ours = ours.to_bytes().unwrap();
    assert_eq!(ours[..], theirs[..]);

    let read = Proof::<Bls12>::read(&theirs[..]);
    assert!(read.unwrap_err().to_string().contains("infinity"));
    let read = cuzk::Proof::from_bytes(&ours);
    assert!(matches!(read, Err(cuzk::Error::Point(_))), "{read:?}");
}

#[test]
fn dense_circuits_up_to_a_power_of_two_and_just_past_it() {
    let full = Mimc::rounds_for_rows(1024);
    for rounds in [1, full - 1, full, full + 1] {
        compare(Mimc::new(rounds, 5));
    }
}

#[test]
fn sha256_of_64_bytes() {
    compare(Sha256Rounds::new([0x5a; 64], 9));
    compare(Sha256Chain::new([0xc3; 64], 0));
}

#[test]
fn a_batch_of_witnesses_in_one_call() {
    const WITNESSES: u8 = 10;
    let circuits: Vec<_> = (0..WITNESSES)
        .map(|seed| Mimc::new(60, 2 * seed + 1))
        .collect();
    let parameters = setup::parameters(circuits[0].clone()).unwrap();
    let (r, s): (Vec<_>, Vec<_>) = (0..circuits.len()).map(setup::blinding).unzip();
    let theirs = create_proof_batch(circuits.clone(), &parameters, r.clone(), s.clone()).unwrap();

    let file = setup::parameter_file(&parameters).unwrap();
    let srs = Srs::open(file.path()).unwrap();
    // The file is not needed once it was read.
    drop(file);
    let partitions = circuits.iter().cloned().zip(r.into_iter().zip(s));
    let partitions = partitions
        .map(|(circuit, rs)| partition(circuit, rs).unwrap())
        .collect();
    let ours = srs
        .start(partitions, &ProveOptions::new())
        .unwrap()
        .wait()
        .unwrap();

    for (ours, theirs) in ours.iter().zip(&theirs) {
        assert_eq!(ours.to_bytes().unwrap()[..], to_bytes(theirs).unwrap());
    }
    let ours: Vec<_> = ours.iter().map(to_bellperson).collect();
    let ours: Vec<_> = ours.iter().collect();
    let inputs: Vec<_> = circuits.iter().map(Statement::public_inputs).collect();
    let key = prepare_verifying_key(&parameters.vk);
    let mut rng = XorShiftRng::from_seed([9; 16]);
    assert!(verify_proofs_batch(&key, &mut rng, &ours, &inputs).unwrap());
}

#[test]
fn points_cross_over_and_back() {
    let comparison = Comparison::new(Squares::new(Scalar::from(11), 4)).unwrap();
    let round = comparison.round(setup::blinding(2)).unwrap();

    let theirs = &round.bellperson;
    assert_eq!(
        cuzk::Proof::from_points(&theirs.a, &theirs.b, &theirs.c),
        round.cuzk
    );
    assert_eq!(&to_bellperson(&round.cuzk), theirs);
}
