use std::marker::PhantomData;
use std::sync::{Arc, Mutex, PoisonError};

use crate::assignment::Partition;
use crate::job::{Handle, Job};
use crate::options::ProveOptions;
use crate::srs::Srs;
use crate::Result;

/// Jobs over borrowed memory, which all have ended when [`scope`] returns.
#[derive(Debug)]
pub struct Scope<'scope, 'env: 'scope> {
    jobs: Mutex<Vec<Arc<Handle>>>,
    // Invariant in both, as in std::thread::Scope: a scope must not be taken
    // for one that ends later or starts earlier.
    scope: PhantomData<&'scope mut &'scope ()>,
    env: PhantomData<&'env mut &'env ()>,
}

/// Calls `body` with a [`Scope`] whose jobs may read memory that is borrowed
/// from outside of it.
///
/// When `body` returns or panics, every job of the scope is released before
/// this function goes on, also one that was forgotten: what still runs is
/// cancelled. So wait for the proofs inside.
///
/// ```
/// # use cuzk::{scope, Assignment, Density, Fr, Partition, ProveOptions, Srs};
/// # fn main() -> cuzk::Result<()> {
/// let srs = Srs::open("../../../tests/golden/one.params")?;
/// let (a, b) = ([3, 1, 9].map(Fr::from), [3, 0, 0].map(Fr::from));
/// let (inputs, aux) = ([1, 9].map(Fr::from), [3].map(Fr::from));
///
/// let proofs = scope(|s| {
///     let assignment = Assignment {
///         a: (&a).into(),
///         b: (&b).into(),
///         inputs: (&inputs).into(),
///         aux: (&aux).into(),
///         a_aux: Density::from_iter([true]),
///         b_inputs: Density::from_iter([false, false]),
///         b_aux: Density::from_iter([true]),
///     };
///     let job = s.start(&srs, vec![Partition::new(assignment)?], &ProveOptions::new())?;
///     job.wait()
/// })?;
/// srs.verify(&inputs, &proofs[0])?;
/// # Ok(())
/// # }
/// ```
///
/// A job cannot leave its scope:
///
/// ```compile_fail
/// # use cuzk::{scope, Job, Partition, ProveOptions, Srs};
/// fn start<'a>(srs: &Srs, partition: Partition<'a>) -> Job<'a> {
///     scope(|s| s.start(srs, vec![partition], &ProveOptions::new()).unwrap())
/// }
/// ```
///
/// Nor can it read memory that goes before the scope ends:
///
/// ```compile_fail
/// # use cuzk::{scope, Assignment, Fr, Partition, ProveOptions, Srs};
/// fn start(srs: &Srs, rest: Assignment<'static>) {
///     scope(|s| {
///         let rows = vec![Fr::ONE; 3];
///         let assignment = Assignment { a: (&rows).into(), ..rest };
///         let partition = Partition::with_blinding(assignment, Fr::ONE, Fr::ONE);
///         s.start(srs, vec![partition], &ProveOptions::new()).unwrap();
///     })
/// }
/// ```
pub fn scope<'env, F, T>(body: F) -> T
where
    F: for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> T,
{
    // Dropped after `body` has returned or panicked, and before the memory that
    // 'env stands for.
    let scope = Scope {
        jobs: Mutex::default(),
        scope: PhantomData,
        env: PhantomData,
    };
    let _end = End(&scope.jobs);
    body(&scope)
}

impl<'scope> Scope<'scope, '_> {
    /// As [`Srs::start`], for memory that outlives the scope.
    pub fn start(
        &'scope self,
        srs: &Srs,
        partitions: Vec<Partition<'scope>>,
        options: &ProveOptions,
    ) -> Result<Job<'scope>> {
        let mut jobs = self.jobs.lock().unwrap_or_else(PoisonError::into_inner);
        // Room for the handle is made before the job exists, so that nothing
        // can come between its start and its entry.
        jobs.retain(|job| !job.is_released());
        jobs.reserve(1);
        // SAFETY: borrowed memory outlives 'scope, which ends after `End` has
        // released the handle that is entered here. What the partitions own
        // stays if the job is forgotten.
        let job = unsafe { Job::start(srs.handle(), partitions, options) }?;
        jobs.push(Arc::clone(job.handle()));
        Ok(job)
    }
}

/// Releases the jobs of a scope.
struct End<'a>(&'a Mutex<Vec<Arc<Handle>>>);

impl Drop for End<'_> {
    fn drop(&mut self) {
        let jobs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        jobs.iter().for_each(|job| job.release());
    }
}
