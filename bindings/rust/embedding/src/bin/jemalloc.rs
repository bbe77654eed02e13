//! A host whose allocator is jemalloc. What the library hands out is never
//! freed by the host, so the two allocators do not meet.

use std::time::Duration;

use cuzk_embedding::Work;

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() {
    let work = Work::open();
    work.prove_for(Duration::from_secs(1));
    work.start(5).wait().unwrap();
    // An error's text comes from the library too.
    cuzk::Srs::open("no/such/file").unwrap_err();
    println!("ok");
}
