//! libcuzk beside bellperson's own prover, in one run, as a Markdown table.
//!
//! `bench [NAME...]` runs the circuits whose name holds one of the words, all
//! without. Parameters are made first, which takes longer than the proofs.

use std::time::Duration;

use cuzk_bellperson::circuits::{Mimc, Sha256Chain, Sha256Rounds, Statement};
use cuzk_bellperson::compare::{Comparison, Result};
use cuzk_bellperson::setup;

/// Proofs by each prover, in turn. The median counts, so that the first one,
/// which warms up, and one that was disturbed do not.
const ROUNDS: usize = 5;

const PREIMAGE: [u8; 64] = [0x39; 64];

fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    println!(
        "{} on {}, {} threads\n",
        cuzk::version(),
        device()?,
        threads()
    );
    println!(
        "| circuit | rows | domain | bellperson | libcuzk | of it synthesis | times as fast |"
    );
    println!("|---|---|---|---|---|---|---|");
    let mut bench = Bench { words };
    bench.run("SHA-256, 41 of 64 rounds", || {
        Sha256Rounds::new(PREIMAGE, 41)
    })?;
    bench.run("SHA-256, one compression", || {
        Sha256Rounds::new(PREIMAGE, 64)
    })?;
    bench.run("SHA-256 of 64 bytes", || Sha256Chain::new(PREIMAGE, 0))?;
    bench.run("SHA-256 chain of 4", || Sha256Chain::new(PREIMAGE, 3))?;
    bench.run("SHA-256 chain of 8", || Sha256Chain::new(PREIMAGE, 7))?;
    bench.run("all dense (MiMC)", || {
        Mimc::new(Mimc::rounds_for_rows(1 << 16), 1)
    })
}

struct Bench {
    words: Vec<String>,
}

impl Bench {
    /// Prints a line of the table. Every proof is compared and verified.
    fn run<C: Statement>(&mut self, name: &str, circuit: impl FnOnce() -> C) -> Result<()> {
        if !self.words.is_empty() && !self.words.iter().any(|word| name.contains(word)) {
            return Ok(());
        }
        let comparison = Comparison::new(circuit())?;
        let [mut bellperson, mut cuzk, mut synthesis] = [const { Vec::new() }; 3];
        for index in 0..ROUNDS {
            let round = comparison.round(setup::blinding(index))?;
            comparison.check(&round)?;
            bellperson.push(round.bellperson_time);
            cuzk.push(round.cuzk_time);
            synthesis.push(round.synthesis_time);
        }
        let (bellperson, cuzk) = (median(bellperson), median(cuzk));
        let domain = comparison.srs.info()?.domain_size;
        println!(
            "| {name} | {} | 2^{} | {} | {} | {} | {:.1} |",
            cuzk_bellperson::record::synthesize(comparison.circuit.clone())?
                .a
                .len(),
            domain.ilog2(),
            milliseconds(bellperson),
            milliseconds(cuzk),
            milliseconds(median(synthesis)),
            bellperson.as_secs_f64() / cuzk.as_secs_f64()
        );
        Ok(())
    }
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

fn milliseconds(time: Duration) -> String {
    format!("{} ms", time.as_millis())
}

fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

fn device() -> Result<String> {
    let devices = cuzk::devices()?;
    let device = devices
        .iter()
        .find(|d| d.unusable.is_none())
        .ok_or("no device can be used")?;
    Ok(format!("{} ({})", device.name, device.backend))
}
