//! Golden cases: assignments with the proof that bellperson made for them.
//! tests/golden/README.md in the repository describes the format.
#![allow(dead_code)] // no test file uses all of it

use std::fs;
use std::path::{Path, PathBuf};

use cuzk::{Assignment, Density, Fr, Partition, Proof, Srs};

/// The folder of the golden cases, seen from that of any of the crates: the one
/// that cargo names, or in which a test runs that was carried elsewhere.
pub fn golden_folder() -> PathBuf {
    let package = std::env::var_os("CARGO_MANIFEST_DIR");
    PathBuf::from(package.unwrap_or_default()).join("../../../tests/golden")
}

/// The parameter set of a case.
pub fn open(case: &str) -> Srs {
    Srs::open(golden_folder().join(case).with_extension("params")).unwrap()
}

/// A witness of a case, with the proof to expect.
pub struct Golden {
    pub assignment: Assignment<'static>,
    pub r: Fr,
    pub s: Fr,
    pub proof: [u8; Proof::BYTES],
}

impl Golden {
    /// Reads `NAME.gv`.
    pub fn read(name: &str) -> Self {
        Self::read_file(&golden_folder().join(format!("{name}.gv")))
    }

    /// Reads a case that is elsewhere.
    pub fn read_file(path: &Path) -> Self {
        let bytes = fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let mut rest = Reader(&bytes);
        assert_eq!(rest.take(8), b"CUZKGV01");
        assert_eq!(
            [rest.word(), rest.word()],
            [1, 1],
            "version, and flags: the proof is there"
        );
        let [rows, inputs, aux] = [rest.size(), rest.size(), rest.size()];
        let densities = [(); 3].map(|()| (rest.size(), rest.size()));

        let [a, b, _c] = [(); 3].map(|()| rest.scalars(rows));
        let (inputs, aux) = (rest.scalars(inputs), rest.scalars(aux));
        let [a_aux, b_inputs, b_aux] = densities.map(|(len, popcount)| {
            let words: Vec<u64> = (0..len.div_ceil(64)).map(|_| rest.word()).collect();
            let density = Density::new(words, len).unwrap();
            assert_eq!(density.popcount(), popcount);
            density
        });
        let [r, s] = [(); 2].map(|()| rest.scalars(1)[0]);
        let proof = rest.take(Proof::BYTES).try_into().unwrap();
        assert!(rest.0.is_empty(), "{} bytes too many", rest.0.len());
        let assignment = Assignment {
            a: a.into(),
            b: b.into(),
            inputs: inputs.into(),
            aux: aux.into(),
            a_aux,
            b_inputs,
            b_aux,
        };
        Self {
            assignment,
            r,
            s,
            proof,
        }
    }

    /// What to prove. Shares the memory of the assignment.
    pub fn partition(&self) -> Partition<'static> {
        Partition::with_blinding(self.assignment.clone(), self.r, self.s)
    }
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, n: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(n);
        self.0 = rest;
        taken
    }

    fn word(&mut self) -> u64 {
        u64::from_le_bytes(self.take(8).try_into().unwrap())
    }

    fn size(&mut self) -> usize {
        self.word().try_into().unwrap()
    }

    fn scalars(&mut self, n: usize) -> Vec<Fr> {
        (0..n)
            .map(|_| Fr::from_limbs([(); 4].map(|()| self.word())))
            .collect()
    }
}
