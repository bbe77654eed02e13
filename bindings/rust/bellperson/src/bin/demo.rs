//! A SHA-256 circuit and its parameters, made by bellperson, proved by
//! bellperson's own CPU prover and by libcuzk, compared and verified.

use std::time::{Duration, Instant};

use cuzk_bellperson::circuits::{Sha256Chain, Statement};
use cuzk_bellperson::compare::{Comparison, Result};
use cuzk_bellperson::record::synthesize;
use cuzk_bellperson::setup;

/// Proofs by each prover; the best time counts.
const ROUNDS: usize = 3;

fn main() -> Result<()> {
    let mut preimage = [0; 64];
    preimage[..31].copy_from_slice(b"nobody shall ever see this text");
    let circuit = Sha256Chain::new(preimage, 0);
    println!("libcuzk beside bellperson 0.27\n");
    println!("statement    {}", circuit.claim());
    println!("digest       {}", hex(&circuit.digest()));
    let record = synthesize(circuit.clone())?;
    println!(
        "circuit      {} rows (padded to {}), {} private values, {} public inputs",
        record.a.len(),
        record.a.len().next_power_of_two(),
        record.aux.len(),
        record.inputs.len()
    );

    let start = Instant::now();
    let comparison = Comparison::new(circuit)?;
    let info = comparison.srs.info()?;
    println!(
        "parameters   {} MiB, made by bellperson in {}",
        info.file_bytes >> 20,
        seconds(start.elapsed())
    );
    println!("prover       {} on {}", cuzk::version(), device()?);
    if let Some(reason) = cuzk::gpu_reason() {
        println!("             no GPU is used: {reason}");
    }

    println!("\nProving with the same r and s, synthesis included:\n");
    println!("round   bellperson, CPU      libcuzk");
    let mut best: Option<(Duration, Duration)> = None;
    let mut proof = [0; cuzk::Proof::BYTES];
    for index in 0..ROUNDS {
        let round = comparison.round(setup::blinding(0))?;
        comparison.check(&round)?;
        let times = (round.bellperson_times.wall, round.cuzk_times.wall);
        println!(
            "{:<5} {:>17} {:>12}",
            index + 1,
            seconds(times.0),
            seconds(times.1)
        );
        best = Some(best.map_or(times, |best| (best.0.min(times.0), best.1.min(times.1))));
        proof = round.cuzk.to_bytes()?;
    }
    let (bellperson, cuzk) = best.ok_or("no round was run")?;
    println!("best  {:>17} {:>12}", seconds(bellperson), seconds(cuzk));

    println!("\nproof        {}...", hex(&proof[..32]));
    println!(
        "             {} bytes, the same from both provers",
        proof.len()
    );
    println!("             verified by bellperson");
    println!(
        "libcuzk took {} where bellperson took {}: {:.1} times as fast",
        seconds(cuzk),
        seconds(bellperson),
        bellperson.as_secs_f64() / cuzk.as_secs_f64()
    );
    Ok(())
}

/// The device that a job gets: the first that can be used.
fn device() -> Result<String> {
    let devices = cuzk::devices()?;
    let device = devices
        .iter()
        .find(|d| d.unusable.is_none())
        .ok_or("no device can be used")?;
    Ok(format!(
        "{} ({}; {})",
        device.name, device.backend, device.detail
    ))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn seconds(time: Duration) -> String {
    format!("{:.3} s", time.as_secs_f64())
}
