use std::ffi::{c_char, CStr};

use cuzk_sys as sys;

use crate::error::check;
use crate::version::check_abi;
use crate::Result;

/// A device that can prove.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Device {
    /// Its number, for [`ProveOptions::device`](crate::ProveOptions::device).
    pub index: u32,
    /// `cpu` or `cuda`.
    pub backend: String,
    /// As the vendor calls it.
    pub name: String,
    /// Driver, compute capability, instruction sets.
    pub detail: String,
    /// Why it is not used, if it is not.
    pub unusable: Option<String>,
    /// Its own memory in bytes; for the CPU the machine's.
    pub memory_bytes: u64,
    /// Workers that run now; 0 before its first use.
    pub workers: u32,
}

/// The devices, usable or not. At least one: the CPU, which is last.
pub fn devices() -> Result<Vec<Device>> {
    check_abi()?;
    let mut count = 0;
    // SAFETY: `count` lives through the call.
    check(unsafe { sys::cuzk_device_count(&mut count) })?;
    (0..count).map(device).collect()
}

fn device(index: u32) -> Result<Device> {
    let mut raw = sys::cuzk_device_info {
        struct_size: size_of::<sys::cuzk_device_info>(),
        backend: [0; 16],
        name: [0; 128],
        detail: [0; 256],
        unusable: [0; 256],
        memory_bytes: 0,
        workers: 0,
        reserved: 0,
    };
    // SAFETY: `raw` has its size set and lives through the call.
    check(unsafe { sys::cuzk_device_get_info(index, &mut raw) })?;
    Ok(Device {
        index,
        backend: text(&raw.backend),
        name: text(&raw.name),
        detail: text(&raw.detail),
        unusable: Some(text(&raw.unusable)).filter(|reason| !reason.is_empty()),
        memory_bytes: raw.memory_bytes,
        workers: raw.workers,
    })
}

/// The text up to the first NUL.
fn text(field: &[c_char]) -> String {
    let bytes: Vec<u8> = field
        .iter()
        .map(|c| *c as u8)
        .take_while(|byte| *byte != 0)
        .collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Why there is no GPU among the devices; `None` if there is one.
pub fn gpu_reason() -> Option<&'static str> {
    // SAFETY: never null, and static.
    let reason = unsafe { CStr::from_ptr(sys::cuzk_gpu_reason()) };
    Some(reason.to_str().unwrap_or("not UTF-8")).filter(|reason| !reason.is_empty())
}

/// Sets the number of workers of each device: how many partitions it carries at
/// the same time, at most 64. 0 is the default (3 on a GPU, 1 on the CPU). May be
/// called at any time: more workers start at once, fewer first finish their
/// partitions.
pub fn set_workers(workers: u32) -> Result<()> {
    // SAFETY: takes no pointers.
    check(unsafe { sys::cuzk_set_workers(workers) })
}
