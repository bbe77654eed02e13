//! A host with signal handlers of its own, under a storm of signals:
//! - SIGALRM a thousand times a second, on whichever thread, also Go's;
//! - SIGSEGV handled by the host, which makes the page accessible and goes on,
//!   as runtimes with guard pages do.
//!
//! Handlers must have SA_ONSTACK: Go's threads have small stacks.

use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use cuzk_embedding::Work;
use libc::{c_int, c_void, siginfo_t};

static ALARMS: AtomicUsize = AtomicUsize::new(0);
static FAULTS: AtomicUsize = AtomicUsize::new(0);
static PAGE: AtomicPtr<c_void> = AtomicPtr::new(null_mut());
const PAGE_BYTES: usize = 4096;

/// A storm has at least so many of each; on a busy machine it lasts longer.
const STORM: usize = 100;

fn stormed() -> bool {
    [&ALARMS, &FAULTS]
        .iter()
        .all(|count| count.load(Ordering::Relaxed) > STORM)
}

extern "C" fn on_alarm(_: c_int, _: *mut siginfo_t, _: *mut c_void) {
    ALARMS.fetch_add(1, Ordering::Relaxed);
}

extern "C" fn on_fault(_: c_int, info: *mut siginfo_t, _: *mut c_void) {
    let page = PAGE.load(Ordering::Acquire);
    // SAFETY: the kernel gives a valid info with every SIGSEGV.
    let address = unsafe { (*info).si_addr() };
    if address != page {
        // Not this program's: it would be the library's, or a bug.
        // SAFETY: may be called in a signal handler.
        unsafe { libc::abort() };
    }
    FAULTS.fetch_add(1, Ordering::Relaxed);
    // SAFETY: the page is mapped by main and stays mapped.
    unsafe { libc::mprotect(page, PAGE_BYTES, libc::PROT_READ | libc::PROT_WRITE) };
}

fn install(signal: c_int, handler: extern "C" fn(c_int, *mut siginfo_t, *mut c_void)) {
    // SAFETY: zero is a valid sigaction; the handler lives for ever.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_RESTART;
        assert_eq!(libc::sigaction(signal, &action, null_mut()), 0);
    }
}

fn alarm_every(period: Duration) {
    let period = libc::timeval {
        tv_sec: 0,
        tv_usec: period.subsec_micros().into(),
    };
    let timer = libc::itimerval {
        it_interval: period,
        it_value: period,
    };
    // SAFETY: the timer is only read.
    let result = unsafe { libc::setitimer(libc::ITIMER_REAL, &timer, null_mut()) };
    assert_eq!(result, 0);
}

fn map_page() -> *mut c_void {
    // SAFETY: a new private mapping, which nothing else knows.
    let page = unsafe {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        libc::mmap(null_mut(), PAGE_BYTES, libc::PROT_NONE, flags, -1, 0)
    };
    assert_ne!(page, libc::MAP_FAILED);
    page
}

fn main() {
    let page = map_page();
    PAGE.store(page, Ordering::Release);
    install(libc::SIGALRM, on_alarm);
    install(libc::SIGSEGV, on_fault);
    alarm_every(Duration::from_millis(1));

    let work = Work::open();
    thread::scope(|s| {
        let proving = s.spawn(|| {
            work.prove_for(Duration::from_secs(2));
            while !stormed() {
                work.prove();
            }
        });
        while !proving.is_finished() {
            // SAFETY: on_fault makes the page accessible.
            unsafe { page.cast::<u8>().write_volatile(1) };
            // SAFETY: the page is mapped, and no one else uses it.
            unsafe { libc::mprotect(page, PAGE_BYTES, libc::PROT_NONE) };
        }
    });

    println!("ok");
}
