//! The crate as Curio's proving daemon uses it through its fork of bellperson:
//! two workers a device share a GPU mutex; each takes a partition, writes its
//! rows into buffers of a pool of pinned memory, starts, gives the buffers back
//! to the pool at once, and hands the pending proof to another thread, which
//! finishes it.

mod support;

use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::mpsc;
use std::sync::Mutex;
use std::thread;

use cuzk::sys::cuzk_fr;
use support::{open, overwrite, usable_devices, Batch, Rows, Token};
use supraseal_c2::{alloc_gpu_mutex, drop_pending_proof, free_gpu_mutex, SRS};

extern "C" {
    fn cudaHostAlloc(out: *mut *mut c_void, bytes: usize, flags: u32) -> i32;
    fn cudaFreeHost(memory: *mut c_void) -> i32;
}

const CUDA_SUCCESS: i32 = 0;

const PORTABLE: u32 = 1;

/// A buffer of the daemon's pool.
struct Pinned {
    memory: *mut cuzk_fr,
    elements: usize,
}

// SAFETY: the memory is this value's alone.
unsafe impl Send for Pinned {}

impl Pinned {
    fn new(elements: usize) -> Self {
        let mut memory = null_mut();
        // SAFETY: `memory` may be written.
        let code = unsafe { cudaHostAlloc(&mut memory, elements * size_of::<cuzk_fr>(), PORTABLE) };
        assert_eq!(code, CUDA_SUCCESS);
        Self {
            memory: memory.cast(),
            elements,
        }
    }

    fn elements(&mut self) -> &mut [cuzk_fr] {
        // SAFETY: so many were allocated, zero bytes, which are scalars.
        unsafe { std::slice::from_raw_parts_mut(self.memory, self.elements) }
    }
}

impl AsRef<[cuzk_fr]> for Pinned {
    fn as_ref(&self) -> &[cuzk_fr] {
        // SAFETY: as in elements.
        unsafe { std::slice::from_raw_parts(self.memory, self.elements) }
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        // SAFETY: from cudaHostAlloc; nothing uses it any more.
        assert_eq!(unsafe { cudaFreeHost(self.memory.cast()) }, CUDA_SUCCESS);
    }
}

/// Buffers that are free.
#[derive(Default)]
struct Pool(Mutex<Vec<Pinned>>);

impl Pool {
    /// A buffer with a copy of the rows.
    fn filled(&self, rows: &[cuzk_fr]) -> Pinned {
        let mut free = self.0.lock().unwrap();
        let fitting = free.iter().position(|buffer| buffer.elements == rows.len());
        let mut buffer = match fitting {
            Some(index) => free.swap_remove(index),
            None => Pinned::new(rows.len()),
        };
        buffer.elements().copy_from_slice(rows);
        buffer
    }

    /// Whoever takes a buffer next writes it; here that is now.
    fn put(&self, mut buffer: Pinned) {
        overwrite(buffer.elements());
        self.0.lock().unwrap().push(buffer);
    }
}

/// A started proof, on its way to the thread that finishes it: the fork's type
/// of this name. Dropped, it gives the proof up.
struct PendingProofHandle {
    handle: *mut c_void,
    /// Inputs, aux and densities, which the library reads until the end.
    batch: Batch,
}

// SAFETY: the library takes handles from any thread.
unsafe impl Send for PendingProofHandle {}

impl PendingProofHandle {
    fn start(batch: Batch, pool: &Pool, srs: &SRS, mutex: Token, device: i32) -> Self {
        let rows: Vec<_> = batch
            .rows()
            .into_iter()
            .map(|rows| Rows {
                a: pool.filled(&rows.a),
                b: pool.filled(&rows.b),
            })
            .collect();
        let handle = batch.start(&rows, srs, mutex, device);
        for rows in rows {
            pool.put(rows.a);
            pool.put(rows.b);
        }
        Self { handle, batch }
    }

    fn finish(mut self) {
        self.batch.finish(self.handle);
        self.handle = null_mut();
    }
}

impl Drop for PendingProofHandle {
    fn drop(&mut self) {
        // SAFETY: from start, or null, which is accepted.
        unsafe { drop_pending_proof(self.handle) };
    }
}

/// Partitions of the cases in turn, each case with one parameter set.
const CASES: [&[&str]; 6] = [
    &["dup"],
    &["mimc"],
    &["two", "two.1", "two.2"],
    &["mimc.1"],
    &["pow2"],
    &["zero"],
];

const PARTITIONS: usize = 24;

fn parameter_set(case: &[&str]) -> SRS {
    open(case[0].split('.').next().unwrap())
}

#[test]
fn workers_share_mutexes_and_another_thread_finishes() {
    const WORKERS_A_DEVICE: usize = 2;
    let pool = Pool::default();
    let sets = CASES.map(parameter_set);
    let queue = Mutex::new(0..PARTITIONS);
    let (started, pending) = mpsc::sync_channel::<PendingProofHandle>(3);
    let devices = usable_devices();
    let mutexes: Vec<_> = devices.iter().map(|_| alloc_gpu_mutex()).collect();

    let finished = thread::scope(|scope| {
        for (device, mutex) in devices.iter().zip(&mutexes) {
            for _ in 0..WORKERS_A_DEVICE {
                let (mutex, started) = (Token(*mutex), started.clone());
                let (pool, sets, queue) = (&pool, &sets, &queue);
                scope.spawn(move || {
                    let mutex: Token = mutex;
                    while let Some(index) = { queue.lock().unwrap().next() } {
                        let case = index % CASES.len();
                        let batch = Batch::read(CASES[case]);
                        let handle =
                            PendingProofHandle::start(batch, pool, &sets[case], mutex, *device);
                        started.send(handle).unwrap();
                    }
                });
            }
        }
        drop(started);
        pending.into_iter().map(PendingProofHandle::finish).count()
    });

    assert_eq!(finished, PARTITIONS);
    for mutex in mutexes {
        // SAFETY: from alloc_gpu_mutex, freed once.
        unsafe { free_gpu_mutex(mutex) };
    }
}

#[test]
fn several_in_flight_over_two_mutexes_end_in_any_order() {
    let pool = Pool::default();
    let mutexes = [alloc_gpu_mutex(), alloc_gpu_mutex()];
    assert_ne!(mutexes[0], mutexes[1]);
    let started = CASES.iter().enumerate().map(|(index, case)| {
        let mutex = Token(mutexes[index % mutexes.len()]);
        PendingProofHandle::start(Batch::read(case), &pool, &parameter_set(case), mutex, -1)
    });

    // In another order than they were started; every other one is given up.
    for (index, pending) in started.collect::<Vec<_>>().into_iter().enumerate().rev() {
        if index % 2 == 0 {
            pending.finish();
        }
    }
    // SAFETY: from alloc_gpu_mutex, freed once.
    mutexes
        .into_iter()
        .for_each(|mutex| unsafe { free_gpu_mutex(mutex) });
}
