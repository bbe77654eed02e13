//! Makes Groth16 parameters for the PoRep of 2 KiB sectors, and the key by which
//! the proofs of the non-interactive one are aggregated, with fresh randomness,
//! in the folder that filecoin-proofs reads them from
//! (`FIL_PROOFS_PARAMETER_CACHE`). What is there is kept.
//!
//! filecoin-proofs has a program for that, `paramcache`, but this takes a tenth
//! of the time: tables of multiples instead of doublings.
//!
//! All versions and features of the PoRep share one circuit: the file's name is
//! a hash of the graph, the layers, the challenges and the tree.

mod circuit;
mod domain;
mod fixed_base;
mod setup;
#[cfg(test)]
mod tests;

use std::fs::{create_dir_all, rename, File};
use std::io::{BufWriter, Write};
use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result};
use bellperson::groth16::aggregate::setup_fake_srs;
use blstrs::Bls12;
use filecoin_proofs::parameters::public_params;
use filecoin_proofs::{DefaultPieceHasher, PoRepConfig, SectorShape2KiB, SECTOR_SIZE_2_KIB};
use rand::rngs::OsRng;
use storage_proofs_core::api_version::{ApiFeature, ApiVersion};
use storage_proofs_core::compound_proof::CompoundProof;
use storage_proofs_core::parameter_cache::{
    parameter_cache_params_path, parameter_cache_srs_key_path, parameter_cache_verifying_key_path,
    CacheableParameters,
};
use storage_proofs_porep::stacked::{StackedCircuit, StackedCompound, StackedDrg};

type Compound = StackedCompound<SectorShape2KiB, DefaultPieceHasher>;
type Scheme<'a> = StackedDrg<'a, SectorShape2KiB, DefaultPieceHasher>;
type Circuit = StackedCircuit<SectorShape2KiB, DefaultPieceHasher>;

fn main() -> Result<()> {
    let version = ApiVersion::V1_2_0;
    let config = PoRepConfig::new_groth16(SECTOR_SIZE_2_KIB, [0; 32], version);
    let public = public_params::<SectorShape2KiB>(&config).context("public parameters")?;
    let id = <Compound as CacheableParameters<Circuit, _>>::cache_identifier(&public);
    let params = parameter_cache_params_path(&id);
    let verifying_key = parameter_cache_verifying_key_path(&id);
    if params.exists() && verifying_key.exists() {
        println!("there already: {}", params.display());
    } else {
        let begin = Instant::now();
        let blank = || <Compound as CompoundProof<Scheme<'_>, Circuit>>::blank_circuit(&public);
        let setup = setup::Setup::new(blank).context("evaluating the circuit")?;
        let (rows, domain) = (setup.rows(), setup.domain());
        println!(
            "{rows} rows, domain {domain}: {:.1} s",
            begin.elapsed().as_secs_f64()
        );
        write(&params, |file| setup.write_parameters(file))?;
        write(&verifying_key, |file| {
            Ok(setup.verifying_key().write(file)?)
        })?;
        println!("parameters made in {:.1} s", begin.elapsed().as_secs_f64());
    }

    // The proofs of a sector's partitions, filled up to a power of two, become one.
    let non_interactive = vec![ApiFeature::NonInteractivePoRep];
    let config = PoRepConfig::new_groth16_with_features(
        SECTOR_SIZE_2_KIB,
        [0; 32],
        version,
        non_interactive,
    )?;
    let proofs = usize::from(config.partitions).next_power_of_two();
    let aggregation = parameter_cache_srs_key_path(&id, proofs);
    if !aggregation.exists() {
        let key = setup_fake_srs::<Bls12, _>(&mut OsRng, proofs);
        write(&aggregation, |file| Ok(key.write(file)?))?;
    }
    Ok(())
}

/// Gives a file its name when it is complete.
fn write(path: &Path, content: impl FnOnce(&mut BufWriter<File>) -> Result<()>) -> Result<()> {
    let partial = path.with_extension("partial");
    let in_words = || format!("writing {}", path.display());
    if let Some(folder) = path.parent() {
        create_dir_all(folder).with_context(in_words)?;
    }
    let mut file = BufWriter::new(File::create(&partial).with_context(in_words)?);
    content(&mut file).with_context(in_words)?;
    file.flush().with_context(in_words)?;
    rename(&partial, path).with_context(in_words)?;
    println!("{}: {} bytes", path.display(), path.metadata()?.len());
    Ok(())
}
