use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use cuzk_sys as sys;

use crate::assignment::Partition;
use crate::error::{check, Error};
use crate::job::Job;
use crate::options::{ProveOptions, SrsOptions};
use crate::values::{Fr, Proof};
use crate::version::check_abi;
use crate::Result;

/// A parameter set, from the file that bellperson's `Parameters::write` makes.
///
/// Clones share one set. It is closed when the last of them is dropped; jobs
/// that were started keep it until they end.
#[derive(Debug)]
pub struct Srs {
    handle: sys::cuzk_srs,
}

/// What a parameter set is for, and how large.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SrsInfo {
    /// m: circuits have from m/2 + 1 to m rows.
    pub domain_size: u64,
    /// Public inputs, with the leading one.
    pub num_inputs: u64,
    /// Private variables.
    pub num_aux: u64,
    /// Points for the A query.
    pub num_a: u64,
    /// Points for the B query.
    pub num_b: u64,
    /// Size of the file.
    pub file_bytes: u64,
    /// Size of the points, as the library holds them.
    pub point_bytes: u64,
}

impl Srs {
    /// Opens a parameter file, reads and checks it. Blocks while the points are
    /// read, at the disk's rate. The file may be deleted as soon as this
    /// returns; one that is open already is shared.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::open_with(path, SrsOptions::new())
    }

    /// [`Srs::open`] with options.
    pub fn open_with(path: impl AsRef<Path>, options: SrsOptions) -> Result<Self> {
        check_abi()?;
        let path = CString::new(path.as_ref().as_os_str().as_bytes())
            .map_err(|_| Error::Value(format!("{:?} holds a NUL byte", path.as_ref())))?;
        let mut handle = 0;
        // SAFETY: the path ends in NUL; path, options and handle live through
        // the call.
        check(unsafe { sys::cuzk_srs_open(path.as_ptr(), &options.raw(), &mut handle) })?;
        Ok(Self { handle })
    }

    /// What the set is for, and how large.
    pub fn info(&self) -> Result<SrsInfo> {
        let mut raw = sys::cuzk_srs_info {
            struct_size: size_of::<sys::cuzk_srs_info>(),
            domain_size: 0,
            num_inputs: 0,
            num_aux: 0,
            num_a: 0,
            num_b: 0,
            file_bytes: 0,
            point_bytes: 0,
        };
        // SAFETY: `raw` has its size set and lives through the call.
        check(unsafe { sys::cuzk_srs_get_info(self.handle, &mut raw) })?;
        Ok(SrsInfo {
            domain_size: raw.domain_size,
            num_inputs: raw.num_inputs,
            num_aux: raw.num_aux,
            num_a: raw.num_a,
            num_b: raw.num_b,
            file_bytes: raw.file_bytes,
            point_bytes: raw.point_bytes,
        })
    }

    /// Proves one partition, and blocks until it is done. For the same
    /// assignment, r and s the proof is bellperson's, byte for byte.
    pub fn prove(&self, partition: &Partition<'_>, options: &ProveOptions) -> Result<Proof> {
        let assignment = partition.raw()?;
        let mut proof = sys::cuzk_proof::default();
        // SAFETY: what the assignment points to lives as long as `partition`,
        // which is borrowed until the call returns; the library reads nothing
        // after that. The other pointers lead to local values.
        check(unsafe {
            sys::cuzk_prove_partition(
                self.handle,
                &assignment,
                &partition.r.0,
                &partition.s.0,
                &options.raw()?,
                &mut proof,
            )
        })?;
        Ok(Proof(proof))
    }

    /// Starts a job of any number of partitions, and returns at once. Their memory
    /// must be owned, so that it stays if the job is forgotten; for borrowed
    /// memory see [`scope`](crate::scope).
    ///
    /// An argument that is refused is an error here, with the partition's index
    /// in the message, and nothing is started.
    ///
    /// Borrowed rows do not compile:
    ///
    /// ```compile_fail
    /// # use cuzk::{Assignment, Fr, Job, Partition, ProveOptions, Result, Srs};
    /// fn start(srs: &Srs, rows: &[Fr], rest: Assignment<'static>) -> Result<Job<'static>> {
    ///     let assignment = Assignment { a: rows.into(), ..rest };
    ///     srs.start(vec![Partition::new(assignment)?], &ProveOptions::new())
    /// }
    /// ```
    ///
    /// Owned ones do:
    ///
    /// ```
    /// # use cuzk::{Assignment, Fr, Job, Partition, ProveOptions, Result, Srs};
    /// fn start(srs: &Srs, rows: Vec<Fr>, rest: Assignment<'static>) -> Result<Job<'static>> {
    ///     let assignment = Assignment { a: rows.into(), ..rest };
    ///     srs.start(vec![Partition::new(assignment)?], &ProveOptions::new())
    /// }
    /// ```
    pub fn start(
        &self,
        partitions: Vec<Partition<'static>>,
        options: &ProveOptions,
    ) -> Result<Job<'static>> {
        // SAFETY: 'static memory is borrowed for ever, or owned by the job, and a
        // job that is forgotten is never dropped.
        unsafe { Job::start(self.handle, partitions, options) }
    }

    /// Verifies a proof with the set's verifying key; `inputs` includes the
    /// leading one. A proof that does not verify is [`Error::Proof`].
    pub fn verify(&self, inputs: &[Fr], proof: &Proof) -> Result<()> {
        // SAFETY: Fr is cuzk_fr in memory; both arguments live through the call.
        check(unsafe {
            sys::cuzk_verify(self.handle, inputs.as_ptr().cast(), inputs.len(), &proof.0)
        })
    }

    pub(crate) fn handle(&self) -> sys::cuzk_srs {
        self.handle
    }
}

impl Clone for Srs {
    fn clone(&self) -> Self {
        // SAFETY: takes no pointers.
        let retained = check(unsafe { sys::cuzk_srs_retain(self.handle) });
        // The handle holds a reference of its own, so it is valid.
        retained.unwrap_or_else(|error| panic!("BUG: a held parameter set was refused: {error}"));
        Self {
            handle: self.handle,
        }
    }
}

impl Drop for Srs {
    fn drop(&mut self) {
        // There can be no error: the reference is this value's own.
        // SAFETY: takes no pointers.
        unsafe { sys::cuzk_srs_release(self.handle) };
    }
}
