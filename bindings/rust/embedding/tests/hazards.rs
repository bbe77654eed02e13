//! Each hazard is a program of its own, run here with a time limit.

use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus, Output, Stdio};
use std::time::{Duration, Instant};

/// Far more than any of them needs, also on a loaded machine.
const LIMIT: Duration = Duration::from_secs(300);

fn run(program: &str, arguments: &[&str]) -> Output {
    let mut child = Command::new(program)
        .args(arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let start = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if start.elapsed() > LIMIT {
            child.kill().unwrap();
            panic!(
                "{program} did not end in {LIMIT:?}: {:?}",
                child.wait_with_output()
            );
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    child.wait_with_output().unwrap()
}

/// The program said that it was in the state to test, and ended as expected.
fn expect(output: &Output, ended: impl Fn(ExitStatus) -> bool) {
    assert!(
        ended(output.status) && output.stdout.starts_with(b"ok\n"),
        "{output:?}"
    );
}

#[test]
fn jemalloc_as_the_hosts_allocator() {
    expect(&run(env!("CARGO_BIN_EXE_jemalloc"), &[]), |status| {
        status.success()
    });
}

#[test]
fn the_hosts_own_signal_handlers() {
    expect(&run(env!("CARGO_BIN_EXE_signals"), &[]), |status| {
        status.success()
    });
}

#[test]
fn panics_while_jobs_run() {
    expect(&run(env!("CARGO_BIN_EXE_panics"), &[]), |status| {
        status.success()
    });
}

#[test]
fn the_end_of_main_while_jobs_run() {
    let start = Instant::now();
    expect(&run(env!("CARGO_BIN_EXE_exit"), &["return"]), |status| {
        status.code() == Some(7)
    });
    expect(&run(env!("CARGO_BIN_EXE_exit"), &["call"]), |status| {
        status.code() == Some(7)
    });
    // A thousand partitions would take minutes.
    assert!(
        start.elapsed() < Duration::from_secs(60),
        "{:?}",
        start.elapsed()
    );
}

#[test]
fn children_by_fork_and_exec() {
    expect(&run(env!("CARGO_BIN_EXE_children"), &[]), |status| {
        status.success()
    });
}

#[test]
fn a_stack_overflow_ends_the_process() {
    expect(&run(env!("CARGO_BIN_EXE_overflow"), &[]), |status| {
        status.signal().is_some()
    });
}
