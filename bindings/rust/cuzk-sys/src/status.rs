//! Status values and the other numbers of the header.

pub const CUZK_ABI_VERSION: u32 = 1000;

pub type cuzk_status = i32;

pub const CUZK_OK: cuzk_status = 0;

pub const CUZK_ERR_NULL: cuzk_status = 101;
pub const CUZK_ERR_ALIGNMENT: cuzk_status = 102;
pub const CUZK_ERR_HANDLE: cuzk_status = 103;
pub const CUZK_ERR_STRUCT_SIZE: cuzk_status = 104;
pub const CUZK_ERR_SIZE: cuzk_status = 105;
pub const CUZK_ERR_DENSITY: cuzk_status = 106;
pub const CUZK_ERR_SRS_MISMATCH: cuzk_status = 107;
pub const CUZK_ERR_SCALAR: cuzk_status = 108;
pub const CUZK_ERR_POINT: cuzk_status = 109;
pub const CUZK_ERR_VALUE: cuzk_status = 110;
pub const CUZK_ERR_PROOF: cuzk_status = 111;
pub const CUZK_ERR_UNSATISFIED: cuzk_status = 112;

pub const CUZK_ERR_FILE_IO: cuzk_status = 201;
pub const CUZK_ERR_FILE_TRUNCATED: cuzk_status = 202;
pub const CUZK_ERR_FILE_COUNTS: cuzk_status = 203;
pub const CUZK_ERR_FILE_ENCODING: cuzk_status = 204;
pub const CUZK_ERR_FILE_POINT: cuzk_status = 205;
pub const CUZK_ERR_FILE_INFINITY: cuzk_status = 206;
pub const CUZK_ERR_FILE_CHANGED: cuzk_status = 207;

pub const CUZK_ERR_NO_DEVICE: cuzk_status = 301;
pub const CUZK_ERR_DEVICE: cuzk_status = 302;
pub const CUZK_ERR_DEVICE_LOST: cuzk_status = 303;

pub const CUZK_ERR_DEVICE_MEMORY: cuzk_status = 401;
pub const CUZK_ERR_HOST_MEMORY: cuzk_status = 402;

pub const CUZK_ERR_CANCELLED: cuzk_status = 501;
pub const CUZK_ERR_TIMEOUT: cuzk_status = 502;
pub const CUZK_ERR_CLOSED: cuzk_status = 503;

pub const CUZK_ERR_INTERNAL: cuzk_status = 901;

pub const CUZK_PROOF_BYTES: usize = 192;

pub const CUZK_SRS_CHECK_SUBGROUP: u32 = 1;

pub const CUZK_PRIORITY_DEFAULT: i32 = 0;
pub const CUZK_PRIORITY_LOW: i32 = 1;
pub const CUZK_PRIORITY_NORMAL: i32 = 2;
pub const CUZK_PRIORITY_HIGH: i32 = 3;
pub const CUZK_PRIORITY_CRITICAL: i32 = 4;

pub const CUZK_PROVE_NO_SELF_CHECK: u32 = 1;
pub const CUZK_DEVICE_ANY: i32 = -1;
pub const CUZK_WAIT_FOREVER: u64 = u64::MAX;

pub const CUZK_LOG_ERROR: i32 = 1;
pub const CUZK_LOG_WARN: i32 = 2;
pub const CUZK_LOG_INFO: i32 = 3;
pub const CUZK_LOG_DEBUG: i32 = 4;
