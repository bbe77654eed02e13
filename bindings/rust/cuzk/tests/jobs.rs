//! Jobs that are cancelled, dropped, forgotten or waited for in parts.

mod support;

use std::mem;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use cuzk::{scope, Error, Fr, Partition, Priority, ProveOptions, Srs};
use support::{open, Golden};

/// Enough partitions to keep two cores busy for a while.
const MANY: usize = 60;

fn many(golden: &Golden) -> Vec<Partition<'static>> {
    vec![golden.partition(); MANY]
}

/// A partition whose rows are also held by the two `Arc`s.
fn with_shared_rows(golden: &Golden) -> (Partition<'static>, [Arc<Vec<Fr>>; 2]) {
    let a = Arc::new(golden.assignment.a.to_vec());
    let b = Arc::new(golden.assignment.b.to_vec());
    let mut assignment = golden.assignment.clone();
    (assignment.a, assignment.b) = (a.clone().into(), b.clone().into());
    (
        Partition::with_blinding(assignment, golden.r, golden.s),
        [a, b],
    )
}

fn started(srs: &Srs, golden: &Golden) -> cuzk::Job<'static> {
    srs.start(many(golden), &ProveOptions::new()).unwrap()
}

#[test]
fn a_cancelled_job_says_so() {
    let job = started(&open("dup"), &Golden::read("dup"));

    job.cancel().unwrap();

    assert!(matches!(job.wait(), Err(Error::Cancelled(_))));
    assert!(
        matches!(job.wait(), Err(Error::Cancelled(_))),
        "the answer stays"
    );
    assert!(job.is_finished());
}

#[test]
fn dropping_a_job_gives_its_memory_back() {
    let golden = Golden::read("dup");
    let (partition, rows) = with_shared_rows(&golden);
    let job = open("dup")
        .start(vec![partition; MANY], &ProveOptions::new())
        .unwrap();
    assert!(Arc::strong_count(&rows[0]) > 1);

    drop(job);

    assert_eq!(rows.map(|row| Arc::strong_count(&row)), [1, 1]);
}

#[test]
fn a_forgotten_job_keeps_its_memory() {
    let golden = Golden::read("mimc");
    let (partition, rows) = with_shared_rows(&golden);

    mem::forget(
        open("mimc")
            .start(vec![partition], &ProveOptions::new())
            .unwrap(),
    );

    assert!(rows.iter().all(|row| Arc::strong_count(row) > 1));
}

#[test]
fn a_job_forgotten_in_a_scope_has_ended_after_it() {
    let golden = Golden::read("dup");
    let srs = open("dup");
    let a = golden.assignment.a.to_vec();

    scope(|s| {
        let mut assignment = golden.assignment.clone();
        assignment.a = a.as_slice().into();
        let partition = Partition::with_blinding(assignment, golden.r, golden.s);
        mem::forget(
            s.start(&srs, vec![partition; MANY], &ProveOptions::new())
                .unwrap(),
        );
    });

    // The borrow is over, and nothing reads the rows: freeing them is safe, and
    // the next job has the device for itself.
    drop(a);
    let proof = srs
        .prove(&golden.partition(), &ProveOptions::new())
        .unwrap();
    assert_eq!(proof.to_bytes().unwrap(), golden.proof);
}

#[test]
fn a_panic_in_a_scope_ends_its_jobs_and_goes_on() {
    let golden = Golden::read("dup");
    let srs = open("dup");
    let (partition, rows) = with_shared_rows(&golden);

    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        scope(|s| {
            let _job = s
                .start(&srs, vec![partition; MANY], &ProveOptions::new())
                .unwrap();
            panic!("as any code may");
        })
    }));

    assert_eq!(
        *result.unwrap_err().downcast::<&str>().unwrap(),
        "as any code may"
    );
    assert_eq!(rows.map(|row| Arc::strong_count(&row)), [1, 1]);
}

#[test]
fn a_wait_that_is_too_short_leaves_the_job_running() {
    let golden = Golden::read("dup");
    let job = started(&open("dup"), &golden);

    assert_eq!(job.wait_timeout(Duration::ZERO), Ok(None));
    assert!(!job.is_finished());
    let proofs = job.wait_timeout(Duration::from_secs(600)).unwrap().unwrap();

    assert_eq!(proofs.len(), MANY);
    assert!(proofs
        .iter()
        .all(|proof| proof.to_bytes().unwrap() == golden.proof));
}

#[test]
fn threads_that_wait_for_one_job_get_the_same_answer() {
    let golden = Golden::read("mimc");
    let job = open("mimc")
        .start(vec![golden.partition(); 3], &ProveOptions::new())
        .unwrap();

    let answers = thread::scope(|s| {
        let waits: Vec<_> = (0..4).map(|_| s.spawn(|| job.wait())).collect();
        waits
            .into_iter()
            .map(|wait| wait.join().unwrap().unwrap())
            .collect::<Vec<_>>()
    });

    assert!(answers
        .iter()
        .all(|answer| *answer == answers[0] && answer.len() == 3));
}

#[test]
fn rows_are_freed_before_the_proofs_are_taken() {
    let golden = Golden::read("mimc");
    let (partition, rows) = with_shared_rows(&golden);
    let mut job = open("mimc")
        .start(vec![partition], &ProveOptions::new())
        .unwrap();

    job.release_rows().unwrap();

    assert_eq!(rows.map(|row| Arc::strong_count(&row)), [1, 1]);
    assert_eq!(job.wait().unwrap()[0].to_bytes().unwrap(), golden.proof);
}

#[test]
fn a_job_outlives_the_parameter_set_it_was_started_with() {
    let golden = Golden::read("mimc");
    let srs = open("mimc");
    let options = ProveOptions::new().priority(Priority::Critical);
    let job = srs.start(vec![golden.partition()], &options).unwrap();

    drop(srs);

    assert_eq!(job.wait().unwrap()[0].to_bytes().unwrap(), golden.proof);
}
