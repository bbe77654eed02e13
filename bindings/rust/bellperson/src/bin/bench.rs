//! libcuzk beside bellperson's own prover, in one run, as a Markdown table.
//!
//! `bench [NAME...]` runs the circuits whose name holds one of the words, all
//! without. Parameters are made first, which takes longer than the proofs.

use std::time::Duration;

use cuzk_bellperson::circuits::{Mimc, Sha256Chain, Sha256Rounds, Statement};
use cuzk_bellperson::compare::{Comparison, Result, Round};
use cuzk_bellperson::record::synthesize;
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
        "| circuit | rows | domain | bellperson | libcuzk | of it synthesis | times as fast \
         | processor time, bellperson | libcuzk | ratio |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|");
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
        let mut rounds = Vec::new();
        for index in 0..ROUNDS {
            let round = comparison.round(setup::blinding(index))?;
            comparison.check(&round)?;
            rounds.push(round);
        }
        let median = |time: fn(&Round) -> Duration| median(rounds.iter().map(time).collect());
        let bellperson = median(|round| round.bellperson_times.wall);
        let cuzk = median(|round| round.cuzk_times.wall);
        let bellperson_cpu = median(|round| round.bellperson_times.cpu);
        let cuzk_cpu = median(|round| round.cuzk_times.cpu);
        println!(
            "| {name} | {} | 2^{} | {} | {} | {} | {:.1} | {} | {} | {:.1} |",
            synthesize(comparison.circuit.clone())?.a.len(),
            comparison.srs.info()?.domain_size.ilog2(),
            milliseconds(bellperson),
            milliseconds(cuzk),
            milliseconds(median(|round| round.synthesis_time)),
            ratio(bellperson, cuzk),
            milliseconds(bellperson_cpu),
            milliseconds(cuzk_cpu),
            ratio(bellperson_cpu, cuzk_cpu),
        );
        Ok(())
    }
}

fn ratio(theirs: Duration, ours: Duration) -> f64 {
    theirs.as_secs_f64() / ours.as_secs_f64()
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
