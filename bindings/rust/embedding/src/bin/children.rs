//! A host that starts other programs while jobs run: fork and exec, which is
//! what the library supports.

use std::process::Command;

use cuzk_embedding::Work;

const CHILDREN: usize = 40;

fn main() {
    if std::env::args().nth(1).as_deref() == Some("child") {
        // A child is a new program, so the library works in it.
        Work::open().prove();
        return;
    }
    let work = Work::open();
    let job = work.start(40);
    let this = std::env::current_exe().unwrap();
    for i in 0..CHILDREN {
        // A program without the library, and now and then this one.
        let status = match i % 10 {
            0 => Command::new(&this).arg("child").status(),
            _ => Command::new("true").status(),
        };
        assert!(status.unwrap().success());
    }
    job.wait().unwrap();
    println!("ok");
}
