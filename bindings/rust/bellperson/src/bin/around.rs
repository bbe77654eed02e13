//! What a caller of the drop-in waits beside the proving: the time of
//! `supraseal_c2::generate_groth16_proofs` less that of the library's function
//! in it, which is the drop-in itself; and less that of the worker that carried
//! the partition, which adds the library's checks and two hand-overs between
//! threads, as long as the machine makes a thread wait for a processor.
//!
//! `around PREFIX [CALLS]` proves PREFIX.gv over PREFIX.params, a pair that
//! `go run ./cmd/cuzk-gen -rows 1048576 PREFIX` makes, and fails if the drop-in
//! takes more than the limit.

use std::ffi::c_void;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use cuzk::sys::cuzk_proof;
use cuzk::LogLevel;
use cuzk_bellperson::compare::Result;
use supraseal_c2::{generate_groth16_proofs, SRS};

#[path = "../../../cuzk-supraseal/tests/support/mod.rs"]
mod support;

use support::{assignment, raw, Golden};

/// Of the whole call, in percent.
const LIMIT: f64 = 1.0;

/// Of the median; the first call loads the parameters and does not count.
const CALLS: usize = 11;

/// Time in the library's function so far.
static NATIVE_NANOSECONDS: AtomicU64 = AtomicU64::new(0);

/// `supraseal_error`: 16 bytes, passed on as they are.
#[repr(C)]
struct Outcome {
    code: i32,
    message: *mut c_void,
}

extern "C" {
    fn __real_cuzk_generate_groth16_proofs_c8(
        provers: *const c_void,
        num_circuits: usize,
        r_s: *const c_void,
        s_s: *const c_void,
        proofs: *mut c_void,
        srs: *const c_void,
        gpu_mtx: *mut c_void,
        gpu_index: i32,
    ) -> Outcome;
}

/// What the drop-in calls; build.rs has the linker see to it.
///
/// # Safety
/// As the library's function.
#[no_mangle]
unsafe extern "C" fn __wrap_cuzk_generate_groth16_proofs_c8(
    provers: *const c_void,
    num_circuits: usize,
    r_s: *const c_void,
    s_s: *const c_void,
    proofs: *mut c_void,
    srs: *const c_void,
    gpu_mtx: *mut c_void,
    gpu_index: i32,
) -> Outcome {
    let start = Instant::now();
    // SAFETY: the arguments are the caller's.
    let outcome = unsafe {
        __real_cuzk_generate_groth16_proofs_c8(
            provers,
            num_circuits,
            r_s,
            s_s,
            proofs,
            srs,
            gpu_mtx,
            gpu_index,
        )
    };
    NATIVE_NANOSECONDS.fetch_add(start.elapsed().as_nanos() as u64, Ordering::Relaxed);
    outcome
}

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let prefix = arguments.next().ok_or("usage: around PREFIX [CALLS]")?;
    let calls = arguments.next().map_or(Ok(CALLS), |calls| calls.parse())?;
    let golden = Golden::read_file(&Path::new(&prefix).with_extension("gv"));
    let srs = SRS::try_new(Path::new(&prefix).with_extension("params"), false)?;

    Call::make(&golden, &srs)?;
    let mut all = (0..calls)
        .map(|_| Call::make(&golden, &srs))
        .collect::<Result<Vec<_>>>()?;
    all.sort_by_key(|call| call.whole);
    report(&golden, &all[all.len() / 2], calls)
}

fn report(golden: &Golden, call: &Call, calls: usize) -> Result<()> {
    let devices = cuzk::devices()?;
    let device = devices.iter().find(|d| d.workers > 0);
    let device = device.ok_or("no device has worked")?;
    let share = |part: Duration| 100.0 * part.as_secs_f64() / call.whole.as_secs_f64();
    let around = call.whole - call.native;
    let beside = call.whole - call.worker;
    println!(
        "{} rows on {} ({}), median of {calls} calls: {:.3} ms",
        golden.assignment.a.len(),
        device.name,
        device.backend,
        1e3 * call.whole.as_secs_f64()
    );
    for (of, time) in [("library's function", around), ("worker's part", beside)] {
        let milliseconds = 1e3 * time.as_secs_f64();
        println!(
            "  around the {of}: {milliseconds:.3} ms, {:.3} %",
            share(time)
        );
    }
    if share(around) > LIMIT {
        return Err(format!("the drop-in takes more than {LIMIT} % of the call").into());
    }
    Ok(())
}

/// The times of one call.
struct Call {
    whole: Duration,
    /// In the library's function.
    native: Duration,
    /// From the partition's leaving the queue to its verified proof.
    worker: Duration,
}

impl Call {
    fn make(golden: &Golden, srs: &SRS) -> Result<Self> {
        let seconds = Arc::new(Mutex::new(None));
        let said = Arc::clone(&seconds);
        cuzk::set_log(LogLevel::Debug, move |_, line: &str| {
            if let Some(time) = proved(line) {
                *said.lock().unwrap() = Some(time);
            }
        })?;
        let assignment = [assignment(golden)];
        let (r, s) = ([raw(golden.r)], [raw(golden.s)]);
        let mut proofs = [cuzk_proof::default()];
        let native = NATIVE_NANOSECONDS.load(Ordering::Relaxed);
        let start = Instant::now();
        generate_groth16_proofs(&assignment, &r, &s, &mut proofs, srs);
        let whole = start.elapsed();
        let native = NATIVE_NANOSECONDS.load(Ordering::Relaxed) - native;
        // Waits for the messages.
        cuzk::clear_log()?;
        let worker = seconds.lock().unwrap().take();
        if cuzk::Proof::from(proofs[0]).to_bytes()? != golden.proof {
            return Err("not the proof that was expected".into());
        }
        Ok(Self {
            whole,
            native: Duration::from_nanos(native),
            worker: worker.ok_or("the log does not say how long the worker took")?,
        })
    }
}

/// The time in a line as `proved job=1 partition=0 seconds=0.25`.
fn proved(line: &str) -> Option<Duration> {
    if !line.contains("proved") {
        return None;
    }
    let (_, rest) = line.split_once(" seconds=")?;
    let seconds = rest.split(' ').next()?.parse().ok()?;
    Duration::try_from_secs_f64(seconds).ok()
}
