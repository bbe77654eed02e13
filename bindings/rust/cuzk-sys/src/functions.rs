//! The functions of the header, in its order.

use core::ffi::{c_char, c_void};

use crate::{
    cuzk_assignment, cuzk_device_info, cuzk_fr, cuzk_job, cuzk_log_fn, cuzk_proof,
    cuzk_prove_options, cuzk_srs, cuzk_srs_info, cuzk_srs_options, cuzk_status,
};

extern "C" {
    pub fn cuzk_abi_version() -> u32;
    pub fn cuzk_version() -> *const c_char;

    pub fn cuzk_status_name(status: cuzk_status) -> *const c_char;
    pub fn cuzk_last_error() -> *const c_char;

    pub fn cuzk_proof_serialize(proof: *const cuzk_proof, out: *mut u8) -> cuzk_status;
    pub fn cuzk_proof_deserialize(bytes: *const u8, out: *mut cuzk_proof) -> cuzk_status;
    pub fn cuzk_random_scalar(out: *mut cuzk_fr) -> cuzk_status;

    pub fn cuzk_srs_open(
        path: *const c_char,
        options: *const cuzk_srs_options,
        out: *mut cuzk_srs,
    ) -> cuzk_status;
    pub fn cuzk_srs_retain(srs: cuzk_srs) -> cuzk_status;
    pub fn cuzk_srs_release(srs: cuzk_srs) -> cuzk_status;
    pub fn cuzk_srs_get_info(srs: cuzk_srs, out: *mut cuzk_srs_info) -> cuzk_status;

    pub fn cuzk_prove_partition(
        srs: cuzk_srs,
        assignment: *const cuzk_assignment,
        r: *const cuzk_fr,
        s: *const cuzk_fr,
        options: *const cuzk_prove_options,
        out: *mut cuzk_proof,
    ) -> cuzk_status;
    pub fn cuzk_job_start(
        srs: cuzk_srs,
        assignments: *const cuzk_assignment,
        count: usize,
        r: *const cuzk_fr,
        s: *const cuzk_fr,
        options: *const cuzk_prove_options,
        out: *mut cuzk_job,
    ) -> cuzk_status;
    pub fn cuzk_job_wait(job: cuzk_job, timeout_ms: u64, out: *mut cuzk_proof) -> cuzk_status;
    pub fn cuzk_job_wait_rows(job: cuzk_job, timeout_ms: u64) -> cuzk_status;
    pub fn cuzk_job_cancel(job: cuzk_job) -> cuzk_status;
    pub fn cuzk_job_release(job: cuzk_job) -> cuzk_status;

    pub fn cuzk_verify(
        srs: cuzk_srs,
        inputs: *const cuzk_fr,
        num_inputs: usize,
        proof: *const cuzk_proof,
    ) -> cuzk_status;

    pub fn cuzk_device_count(out: *mut u32) -> cuzk_status;
    pub fn cuzk_device_get_info(index: u32, out: *mut cuzk_device_info) -> cuzk_status;
    pub fn cuzk_gpu_reason() -> *const c_char;
    pub fn cuzk_set_workers(workers: u32) -> cuzk_status;

    pub fn cuzk_host_alloc(size: usize, out: *mut *mut c_void) -> cuzk_status;
    pub fn cuzk_host_free(memory: *mut c_void) -> cuzk_status;

    pub fn cuzk_set_log(fn_: cuzk_log_fn, user: *mut c_void, max_level: i32) -> cuzk_status;

    pub fn cuzk_metrics(out: *mut c_char, size: usize, needed: *mut usize) -> cuzk_status;
    pub fn cuzk_timeline_start(path: *const c_char) -> cuzk_status;
    pub fn cuzk_timeline_stop() -> cuzk_status;
}
