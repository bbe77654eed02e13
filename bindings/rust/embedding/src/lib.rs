//! What the programs of this package share: a golden case, proved over and over
//! while something else happens in the process.

// The reader of golden cases is that of cuzk's tests.
#[allow(missing_docs)]
#[path = "../../cuzk/tests/support/mod.rs"]
pub mod support;

use std::time::{Duration, Instant};

use cuzk::{Job, ProveOptions, Srs};
use support::{open, Golden};

/// Takes long enough to be interrupted, and has every kind of scalar.
const CASE: &str = "dup";

/// Parameters, a witness, and the proof to expect.
pub struct Work {
    srs: Srs,
    golden: Golden,
}

impl Work {
    /// Opens the case.
    pub fn open() -> Self {
        Self {
            srs: open(CASE),
            golden: Golden::read(CASE),
        }
    }

    /// Proves once; panics if the proof is not bellperson's.
    pub fn prove(&self) {
        let proof = self
            .srs
            .prove(&self.golden.partition(), &ProveOptions::new())
            .unwrap();
        assert_eq!(proof.to_bytes().unwrap(), self.golden.proof);
    }

    /// Proves at least once, until the time is over; how often.
    pub fn prove_for(&self, time: Duration) -> usize {
        let start = Instant::now();
        let mut proofs = 0;
        loop {
            self.prove();
            proofs += 1;
            if start.elapsed() >= time {
                return proofs;
            }
        }
    }

    /// Starts a job of many partitions.
    pub fn start(&self, partitions: usize) -> Job<'static> {
        let partitions = vec![self.golden.partition(); partitions];
        self.srs.start(partitions, &ProveOptions::new()).unwrap()
    }
}
