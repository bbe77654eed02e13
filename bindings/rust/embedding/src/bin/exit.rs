//! A host that ends while jobs run: `exit return` leaves main, `exit call` calls
//! exit from a thread that is not the main one.

use std::process::{exit, ExitCode};
use std::thread;

use cuzk_embedding::Work;

/// To tell from the 0 of a program that ended in another way.
const CODE: u8 = 7;

fn main() -> ExitCode {
    let work = Work::open();
    let job = work.start(1000);
    assert!(!job.is_finished());
    std::mem::forget(job);
    println!("ok");
    if std::env::args().nth(1).as_deref() == Some("call") {
        let leave = || -> () { exit(CODE.into()) };
        thread::spawn(leave)
            .join()
            .expect("exit does not come back");
    }
    ExitCode::from(CODE)
}
