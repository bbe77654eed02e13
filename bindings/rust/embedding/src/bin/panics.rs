//! A host whose threads panic while jobs run: unwinding drops their jobs, and
//! the others go on.

use std::thread;
use std::time::Duration;

use cuzk_embedding::Work;

const THREADS: usize = 4;
const ROUNDS: usize = 10;

fn main() {
    std::panic::set_hook(Box::new(|_| {})); // nothing on stderr
    let work = Work::open();
    thread::scope(|s| {
        s.spawn(|| work.prove_for(Duration::from_secs(1)));
        for _ in 0..THREADS {
            s.spawn(|| {
                for _ in 0..ROUNDS {
                    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                        let _job = work.start(20);
                        panic!("with a job at hand");
                    }));
                    assert!(panicked.is_err());
                }
            });
        }
    });
    work.prove();
    println!("ok");
}
