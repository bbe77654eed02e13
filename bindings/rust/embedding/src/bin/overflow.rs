//! A host thread that overflows its stack while jobs run: the process must end
//! by a signal, not hang.

use std::hint::black_box;

use cuzk_embedding::Work;

#[allow(unconditional_recursion)]
fn deeper(depth: u64) -> u64 {
    let frame = black_box([depth; 64]);
    deeper(depth + 1) + frame[0]
}

fn main() {
    let work = Work::open();
    let _job = work.start(1000);
    println!("ok");
    println!("{}", deeper(0));
}
