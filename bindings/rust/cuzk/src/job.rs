use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;
use std::time::Duration;

use cuzk_sys as sys;

use crate::assignment::Partition;
use crate::data::Data;
use crate::error::{check, Error};
use crate::options::ProveOptions;
use crate::values::Proof;
use crate::Result;

/// A started job. Dropping it cancels the job if it still runs, and waits until
/// the library no longer reads the job's memory.
///
/// The methods may be called from several threads at once; all get the same
/// answer.
#[derive(Debug)]
pub struct Job<'a> {
    handle: Arc<Handle>,
    /// The library reads their memory while the job runs.
    partitions: Vec<Partition<'a>>,
}

impl<'a> Job<'a> {
    /// Starts a job with a parameter set that is open.
    ///
    /// # Safety
    /// The memory of the partitions must outlive the job's run even if the
    /// `Job` is forgotten: it is good for ever, or the caller releases the
    /// [`Handle`] before it goes.
    pub(crate) unsafe fn start(
        srs: sys::cuzk_srs,
        partitions: Vec<Partition<'a>>,
        options: &ProveOptions,
    ) -> Result<Self> {
        let assignments = partitions
            .iter()
            .enumerate()
            .map(|(index, partition)| partition.raw().map_err(|error| at(index, error)))
            .collect::<Result<Vec<_>>>()?;
        let r: Vec<_> = partitions.iter().map(|partition| partition.r.0).collect();
        let s: Vec<_> = partitions.iter().map(|partition| partition.s.0).collect();
        let mut handle = 0;
        // SAFETY: the arrays have `count` elements and live through the call.
        // `partitions` keeps what the assignments point to, and the job keeps
        // `partitions` until its handle is released. The caller vouches for a
        // job that is forgotten.
        check(unsafe {
            sys::cuzk_job_start(
                srs,
                assignments.as_ptr(),
                assignments.len(),
                r.as_ptr(),
                s.as_ptr(),
                &options.raw()?,
                &mut handle,
            )
        })?;
        Ok(Self {
            handle: Arc::new(Handle(AtomicU64::new(handle))),
            partitions,
        })
    }

    /// Waits for the proofs, in the order of the partitions. One failing
    /// partition fails the job.
    pub fn wait(&self) -> Result<Vec<Proof>> {
        self.wait_ms(sys::CUZK_WAIT_FOREVER)
    }

    /// As [`Job::wait`], but gives up after a time: `None` means that the job
    /// still runs.
    pub fn wait_timeout(&self, timeout: Duration) -> Result<Option<Vec<Proof>>> {
        match self.wait_ms(milliseconds(timeout)) {
            Err(Error::Timeout(_)) => Ok(None),
            other => other.map(Some),
        }
    }

    /// Whether the job has ended, well or not.
    pub fn is_finished(&self) -> bool {
        !matches!(self.wait_timeout(Duration::ZERO), Ok(None))
    }

    /// Waits until the library no longer reads the rows a and b, which is long
    /// before the proofs are there, and drops them: memory that has no other owner
    /// is freed.
    pub fn release_rows(&mut self) -> Result<()> {
        // SAFETY: takes no pointers.
        check(unsafe { sys::cuzk_job_wait_rows(self.handle.get(), sys::CUZK_WAIT_FOREVER) })?;
        for partition in &mut self.partitions {
            partition.assignment.a = Data::default();
            partition.assignment.b = Data::default();
        }
        Ok(())
    }

    /// Asks the job to stop, and returns at once. [`Job::wait`] then returns
    /// [`Error::Cancelled`], unless the job was done already.
    pub fn cancel(&self) -> Result<()> {
        // SAFETY: takes no pointers.
        check(unsafe { sys::cuzk_job_cancel(self.handle.get()) })
    }

    pub(crate) fn handle(&self) -> &Arc<Handle> {
        &self.handle
    }

    fn wait_ms(&self, timeout: u64) -> Result<Vec<Proof>> {
        let mut proofs = vec![Proof(sys::cuzk_proof::default()); self.partitions.len()];
        // SAFETY: Proof is cuzk_proof in memory, and there is one for each
        // partition.
        check(unsafe {
            sys::cuzk_job_wait(self.handle.get(), timeout, proofs.as_mut_ptr().cast())
        })?;
        Ok(proofs)
    }
}

impl Drop for Job<'_> {
    fn drop(&mut self) {
        // Before the partitions go.
        self.handle.release();
    }
}

/// Names the partition in an error that this crate found itself.
fn at(index: usize, error: Error) -> Error {
    let named = |message| format!("partition {index}: {message}");
    match error {
        Error::Size(message) => Error::Size(named(message)),
        other => other,
    }
}

/// The time in milliseconds, rounded up so that no wait is shorter than asked
/// for. A time that does not fit is for ever.
fn milliseconds(time: Duration) -> u64 {
    let up = time.as_nanos().div_ceil(1_000_000);
    u64::try_from(up).unwrap_or(sys::CUZK_WAIT_FOREVER)
}

/// The library's handle of a job; 0 once it is released.
#[derive(Debug)]
pub(crate) struct Handle(AtomicU64);

impl Handle {
    fn get(&self) -> sys::cuzk_job {
        self.0.load(Ordering::Acquire)
    }

    pub(crate) fn is_released(&self) -> bool {
        self.get() == 0
    }

    /// Cancels the job if it still runs, and blocks until the library no longer
    /// reads its memory. Does nothing the second time.
    pub(crate) fn release(&self) {
        let handle = self.0.swap(0, Ordering::AcqRel);
        // The handle is valid, so there is no error to report.
        // SAFETY: takes no pointers; 0 is accepted.
        unsafe { sys::cuzk_job_release(handle) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_rounded_up() {
        assert_eq!(milliseconds(Duration::ZERO), 0);
        assert_eq!(milliseconds(Duration::from_nanos(1)), 1);
        assert_eq!(milliseconds(Duration::from_millis(7)), 7);
        assert_eq!(milliseconds(Duration::MAX), sys::CUZK_WAIT_FOREVER);
    }
}
