//! What the recorder takes from a circuit fits the parameters that bellperson
//! makes for it, and is what the golden cases hold.

use bellperson::groth16::{create_proof, prepare_verifying_key, verify_proof};
use blstrs::Scalar;
use cuzk_bellperson::circuits::{Mimc, Sha256Chain, Sha256Rounds, Squares, Statement};
use cuzk_bellperson::record::{synthesize, Recorder};
use cuzk_bellperson::setup;

/// Rows, inputs, aux, and set bits of a_aux, b_inputs, b_aux.
fn shape(r: &Recorder) -> [usize; 6] {
    let popcounts = [
        r.a_aux.popcount(),
        r.b_inputs.popcount(),
        r.b_aux.popcount(),
    ];
    [
        r.a.len(),
        r.inputs.len(),
        r.aux.len(),
        popcounts[0],
        popcounts[1],
        popcounts[2],
    ]
}

#[test]
fn shapes_are_those_of_the_golden_cases() {
    let square = synthesize(Squares::new(Scalar::from(3), 1)).unwrap();
    let mimc = synthesize(Mimc::new(322, 1)).unwrap();
    let sha512 = synthesize(Sha256Chain::new([7; 64], 0)).unwrap();

    assert_eq!(shape(&square), [3, 2, 1, 1, 0, 1]);
    assert_eq!(shape(&mimc), [646, 2, 645, 644, 1, 322]);
    assert_eq!(shape(&sha512), [45_391, 3, 45_340, 45_340, 1, 11_500]);
}

#[test]
fn every_row_is_satisfied() {
    for recorder in [
        synthesize(Squares::new(Scalar::from(5), 9)).unwrap(),
        synthesize(Mimc::new(40, 3)).unwrap(),
        synthesize(Sha256Chain::new([1; 64], 0)).unwrap(),
        synthesize(Sha256Rounds::new([2; 64], 20)).unwrap(),
    ] {
        let products = recorder.a.iter().zip(&recorder.b).map(|(a, b)| a * b);
        assert!(products.eq(recorder.c.iter().copied()));
    }
}

/// The counts of points in bellperson's parameters, its own proof over them and
/// its verifier agree with the record and with the statement.
fn check_against_bellperson<C: Statement>(circuit: C) {
    let recorder = synthesize(circuit.clone()).unwrap();
    let parameters = setup::parameters(circuit.clone()).unwrap();
    let [rows, inputs, aux, a_aux, b_inputs, b_aux] = shape(&recorder);

    assert_eq!(parameters.h.len(), rows.next_power_of_two() - 1);
    assert_eq!(parameters.l.len(), aux);
    assert_eq!(parameters.a.len(), inputs + a_aux);
    assert_eq!(parameters.b_g1.len(), b_inputs + b_aux);
    assert_eq!(parameters.b_g2.len(), b_inputs + b_aux);
    assert_eq!(recorder.inputs[1..], circuit.public_inputs());

    let (r, s) = setup::blinding(0);
    let proof = create_proof(circuit.clone(), &parameters, r, s).unwrap();
    let key = prepare_verifying_key(&parameters.vk);
    assert!(verify_proof(&key, &proof, &circuit.public_inputs()).unwrap());
}

#[test]
fn squares_fit_bellpersons_parameters() {
    check_against_bellperson(Squares::new(Scalar::from(3), 1));
    check_against_bellperson(Squares::new(Scalar::from(1), 5));
}

#[test]
fn mimc_fits_bellpersons_parameters() {
    check_against_bellperson(Mimc::new(31, 9));
}

#[test]
fn sha256_rounds_fit_bellpersons_parameters() {
    check_against_bellperson(Sha256Rounds::new([0xa5; 64], 2));
}
