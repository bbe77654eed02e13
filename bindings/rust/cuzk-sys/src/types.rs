//! The structs and handles of the header.

use core::ffi::{c_char, c_void};

#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct cuzk_fr {
    pub limb: [u64; 4],
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct cuzk_fp {
    pub limb: [u64; 6],
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct cuzk_g1 {
    pub x: cuzk_fp,
    pub y: cuzk_fp,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct cuzk_fp2 {
    pub c0: cuzk_fp,
    pub c1: cuzk_fp,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct cuzk_g2 {
    pub x: cuzk_fp2,
    pub y: cuzk_fp2,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct cuzk_proof {
    pub a: cuzk_g1,
    pub b: cuzk_g2,
    pub c: cuzk_g1,
}

pub type cuzk_srs = u64;
pub type cuzk_job = u64;

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct cuzk_srs_options {
    pub struct_size: usize,
    pub flags: u32,
    pub reserved: u32,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct cuzk_srs_info {
    pub struct_size: usize,
    pub domain_size: u64,
    pub num_inputs: u64,
    pub num_aux: u64,
    pub num_a: u64,
    pub num_b: u64,
    pub file_bytes: u64,
    pub point_bytes: u64,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct cuzk_density {
    pub words: *const u64,
    pub bit_len: usize,
    pub popcount: usize,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct cuzk_assignment {
    pub struct_size: usize,
    pub a: *const cuzk_fr,
    pub b: *const cuzk_fr,
    pub c: *const cuzk_fr,
    pub num_rows: usize,
    pub inputs: *const cuzk_fr,
    pub num_inputs: usize,
    pub aux: *const cuzk_fr,
    pub num_aux: usize,
    pub a_aux: cuzk_density,
    pub b_inputs: cuzk_density,
    pub b_aux: cuzk_density,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct cuzk_prove_options {
    pub struct_size: usize,
    pub flags: u32,
    pub priority: i32,
    pub device: i32,
    pub reserved: u32,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct cuzk_device_info {
    pub struct_size: usize,
    pub backend: [c_char; 16],
    pub name: [c_char; 128],
    pub detail: [c_char; 256],
    pub unusable: [c_char; 256],
    pub memory_bytes: u64,
    pub workers: u32,
    pub reserved: u32,
}

pub type cuzk_log_fn =
    Option<unsafe extern "C" fn(level: i32, message: *const c_char, user: *mut c_void)>;
